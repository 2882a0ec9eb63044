#include <tantu/tests/catch.h>

#include <tantu/kernels/math.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

// The float functions of kernels/math.h against the C library's double ones, over random bit patterns: every exponent,
// subnormals, infinities and NaN come up.
using namespace tantu;
using math::Real;

namespace {

using F = Real<float>;

constexpr int kSamples = 3'000'000;
constexpr float kInf = INFINITY, kNaN = NAN;
const std::vector<float> kSpecial{0.0f,
                                  -0.0f,
                                  1.0f,
                                  -1.0f,
                                  0.5f,
                                  -0.5f,
                                  2.0f,
                                  -2.0f,
                                  3.0f,
                                  -3.0f,
                                  kInf,
                                  -kInf,
                                  kNaN,
                                  1e-45f,
                                  -1e-45f,
                                  1e-38f,
                                  1.17549435e-38f,
                                  3.4028235e38f,
                                  -3.4028235e38f,
                                  88.72284f,
                                  -87.33655f,
                                  -103.97208f,
                                  -104.5f,
                                  89.5f,
                                  0.625f,
                                  0.9f,
                                  3.93f,
                                  0.78539816f,
                                  1.5707964f,
                                  3.1415927f,
                                  1.6777216e7f,
                                  16777217.0f,
                                  8388609.0f,
                                  -16777215.0f,
                                  0.99999994f,
                                  1.0000001f};

// The error in units in the last place of the float nearest to `want`; enormous where the kind of number differs.
double ulps(float got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  const float nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isinf(got)) {
    if (got == nearest) return 0;
    if (std::isinf(want) || std::signbit(got) != std::signbit(nearest)) return 1e30;
    return std::fabs(std::fabs(want) - 0x1.fffffep127) / 0x1p104 + 1;  // one overflowed, the other is just below
  }
  if (nearest == 0 && got == 0) return std::signbit(nearest) == std::signbit(got) ? 0 : 1e30;
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(static_cast<double>(got) - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

float random_bits(std::mt19937_64& random) {
  return std::bit_cast<float>(static_cast<uint32_t>(random()));
}

template <class Ours, class Exact>
void check(const char* name, Ours ours, Exact exact, double allowed) {
  std::mt19937_64 random(std::hash<std::string>{}(name));
  std::uniform_real_distribution<float> usual(-20.0f, 20.0f);
  double worst = -1;
  float where = 0;
  const auto one = [&](float x) {
    const double error = ulps(ours(F(x)).v, exact(static_cast<double>(x)));
    if (!(error <= worst)) worst = error, where = x;
  };
  for (float x : kSpecial) one(x);
  for (int i = 0; i < kSamples; ++i) one(i % 2 ? random_bits(random) : usual(random));
  INFO(fmt::format("{}: {} ulp at {:a} = {:.9g}: {:.9g} instead of {:.17g}", name, worst, where, where,
                   ours(F(where)).v, exact(static_cast<double>(where))));
  CHECK(worst <= allowed);
  CHECK(worst > 0.25);  // the reference is no copy of the function
}

template <class Ours, class Exact>
void check_two(const char* name, Ours ours, Exact exact, double allowed) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> usual(-9.0f, 9.0f);
  double worst = -1;
  float at_x = 0, at_y = 0;
  const auto one = [&](float x, float y) {
    const double error = ulps(ours(F(x), F(y)).v, exact(static_cast<double>(x), static_cast<double>(y)));
    if (!(error <= worst)) worst = error, at_x = x, at_y = y;
  };
  for (float x : kSpecial)
    for (float y : kSpecial) one(x, y);
  for (int i = 0; i < kSamples / 2; ++i) {
    const float x = i % 3 == 0 ? random_bits(random) : i % 3 == 1 ? usual(random) : std::fabs(random_bits(random));
    const float y = i % 2 ? usual(random) : i % 5 == 0 ? std::rint(usual(random)) : random_bits(random);
    one(x, y);
  }
  INFO(fmt::format("{}: {} ulp at ({:a}, {:a}): {:.9g} instead of {:.17g}", name, worst, at_x, at_y,
                   ours(F(at_x), F(at_y)).v, exact(static_cast<double>(at_x), static_cast<double>(at_y))));
  CHECK(worst <= allowed);
}

double stable_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

}  // namespace

#define TANTU_CHECK_FUNCTION(name, allowed) \
  check(                                    \
      #name, [](F x) { return name(x); }, [](double x) { return std::name(x); }, allowed)

TEST_CASE("float functions are within 2 ulp everywhere") {
  TANTU_CHECK_FUNCTION(exp, 1.0);
  TANTU_CHECK_FUNCTION(expm1, 1.7);
  TANTU_CHECK_FUNCTION(log, 1.7);
  TANTU_CHECK_FUNCTION(log2, 1.7);
  TANTU_CHECK_FUNCTION(log1p, 1.9);
  TANTU_CHECK_FUNCTION(tanh, 1.6);
  TANTU_CHECK_FUNCTION(erf, 1.5);
  TANTU_CHECK_FUNCTION(atan, 1.6);
  TANTU_CHECK_FUNCTION(sin, 1.7);
  TANTU_CHECK_FUNCTION(cos, 1.7);
  TANTU_CHECK_FUNCTION(tan, 0.51);
  check(
      "sigmoid", [](F x) { return sigmoid(x); }, stable_sigmoid, 2.0);
}

TEST_CASE("pow and atan2 of floats are within 0.52 ulp, special cases as in C") {
  check_two(
      "pow", [](F x, F y) { return pow(x, y); }, [](double x, double y) { return std::pow(x, y); }, 0.52);
  check_two(
      "atan2", [](F y, F x) { return atan2(y, x); }, [](double y, double x) { return std::atan2(y, x); }, 0.52);
}

TEST_CASE("the worst cases of reducing an angle are right") {
  // Floats nearest to a multiple of pi/2, and the largest ones.
  for (float x :
       {16367173.0f * 0x1p72f, 12354824.0f * 0x1p-24f, 3.4028235e38f, 1.5707964f, 1e22f, 710.0f, 0x1.9p100f}) {
    INFO(fmt::format("{:a}", x));
    CHECK(ulps(sin(F(x)).v, std::sin(static_cast<double>(x))) <= 1.5);
    CHECK(ulps(cos(F(x)).v, std::cos(static_cast<double>(x))) <= 1.5);
  }
}

TEST_CASE("logsigmoid neither overflows nor loses its tail") {
  for (double x : {-1e4, -100.0, -20.0, -1.0, 0.0, 1.0, 20.0, 80.0}) {
    const double want = x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x));
    INFO(x);
    CHECK(ulps(logsigmoid(F(x)).v, want) <= 3);
    CHECK(std::fabs(logsigmoid(Real<double>(x)).v - want) <= 1e-15 * std::fabs(want));
  }
}

TEST_CASE("the words of two numbers: NaN, ties, signs") {
  CHECK(std::isnan(maximum(F(kNaN), F(1)).v));
  CHECK(std::isnan(maximum(F(1), F(kNaN)).v));
  CHECK(std::isnan(minimum(F(kNaN), F(1)).v));
  CHECK(std::isnan(minimum(F(1), F(kNaN)).v));
  CHECK(maximum(F(2), F(1)).v == 2);
  CHECK(minimum(F(2), F(1)).v == 1);
  CHECK(sign(F(kNaN)).v == 0);
  CHECK(round(F(0.5)).v == 0);
  CHECK(round(F(1.5)).v == 2);
  CHECK(std::signbit(round(F(-0.5)).v));
  CHECK(isinf(F(-kInf)));
  CHECK(!isinf(F(kNaN)));
  CHECK(!isfinite(F(kNaN)));
  CHECK(isfinite(F(3.4028235e38f)));
}

TEST_CASE("floor_divide and remainder follow Python's signs") {
  struct Case {
    double a, b, quotient, rest;
  };
  for (const Case& c : {Case{5.5, 2, 2, 1.5},
                        {-5.5, 2, -3, 0.5},
                        {5.5, -2, -3, -0.5},
                        {-5.5, -2, 2, -1.5},
                        {-1, INFINITY, -1, INFINITY},
                        {6, 3, 2, 0}}) {
    INFO(c.a << " by " << c.b);
    CHECK(floor_divide(F(c.a), F(c.b)).v == static_cast<float>(c.quotient));
    CHECK(remainder(F(c.a), F(c.b)).v == static_cast<float>(c.rest));
    CHECK(floor_divide(Real<double>(c.a), Real<double>(c.b)).v == c.quotient);
    if (std::trunc(c.a) == c.a && std::isfinite(c.b))
      CHECK(floor_divide(Real<int64_t>(c.a), Real<int64_t>(c.b)).v == static_cast<int64_t>(c.quotient));
  }
  CHECK(floor_divide(F(1), F(0)).v == kInf);
  CHECK(std::isnan(floor_divide(F(0), F(0)).v));
  CHECK(std::isnan(floor_divide(F(kInf), F(2)).v));
}

TEST_CASE("integers wrap round and never trap") {
  using I = Real<int64_t>;
  const I low = I::of(INT64_MIN), high = I::of(INT64_MAX);
  CHECK((high + 1).v == INT64_MIN);
  CHECK((low - 1).v == INT64_MAX);
  CHECK((-low).v == INT64_MIN);
  CHECK((low / I(-1)).v == INT64_MIN);
  CHECK((high * 2).v == -2);
  CHECK(floor_divide(low, I(-1)).v == INT64_MIN);
  CHECK(fmod(low, I(-1)).v == 0);
  CHECK(remainder(I(-7), I(3)).v == 2);
  CHECK(remainder(I(7), I(-3)).v == -2);
  CHECK(floor_divide(I(-7), I(2)).v == -4);
  CHECK((I(-7) / I(2)).v == -3);
  CHECK((I(7) / I(0)).v == 0);
  CHECK(pow(I(3), I(5)).v == 243);
  CHECK(pow(I(2), I(64)).v == 0);
  CHECK(pow(I(-1), I(-3)).v == -1);
  CHECK(pow(I(2), I(-1)).v == 0);
  CHECK(pow(I(1), I(-1)).v == 1);
  CHECK(I(INFINITY).v == INT64_MAX);
  CHECK(I(-INFINITY).v == INT64_MIN);
  CHECK(I(static_cast<double>(NAN)).v == 0);
  CHECK(I(1e30).v == INT64_MAX);
  CHECK(I(-2.9).v == -2);
}
