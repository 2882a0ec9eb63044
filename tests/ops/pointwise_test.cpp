#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/thread_pool.h>
#include <tantu/tests/ops/compare.h>

#include <cmath>
#include <random>

// What the op table cannot say of the pointwise operations: dtypes, refusals, kinks, overlap, the functions that choose
// a row.
using namespace tantu;
using optest::difference;

namespace {

using Values = std::vector<double>;
constexpr double kNaN = NAN, kInf = INFINITY;

Tensor make(const Values& v, DType t = kFloat32) {
  return tensor(v, {.dtype = t});
}
Tensor leaf(const Values& v, DType t = kFloat64) {
  return make(v, t).requires_grad_();
}
Tensor mask(const std::vector<bool>& v) {
  Values d(v.begin(), v.end());
  return make(d, kBool);
}

// "" where the tensor holds these values; NaN equals NaN, and zeros their sign too.
std::string differs(const Tensor& got, const Values& want, double tolerance = 0) {
  const Values values = got.to_vector<double>();
  if (values.size() != want.size()) return fmt::format("{} values instead of {}", values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const bool same =
        std::isnan(want[i])              ? std::isnan(values[i])
        : want[i] == 0 && tolerance == 0 ? values[i] == 0 && std::signbit(values[i]) == std::signbit(want[i])
        : std::isinf(want[i])            ? values[i] == want[i]
                              : std::fabs(values[i] - want[i]) <= tolerance * std::max(1.0, std::fabs(want[i]));
    if (!same) return fmt::format("[{}]: {} instead of {}", i, values[i], want[i]);
  }
  return "";
}

struct Gradients {
  Values values;
  std::vector<Values> of;
  std::string name;
};

template <class F>
Gradients gradients(const F& f, const std::vector<Values>& inputs) {
  TensorList x;
  for (const Values& v : inputs) x.push_back(leaf(v));
  const Tensor y = f(x);
  Gradients g{y.to_vector<double>(), {}, y.grad_fn_name()};
  y.backward(ones_like(y));
  for (const Tensor& t : x) g.of.push_back(t.grad().to_vector<double>());
  return g;
}

std::string compare(const Values& got, const Values& want, double tolerance = 1e-12) {
  return differs(make(got, kFloat64), want, tolerance);
}

}  // namespace

#define CHECK_SAME(...) CHECK(differs(__VA_ARGS__) == "")

TEST_CASE("numbers and 0-dim tensors widen nothing of their kind") {
  const Tensor h = make({1, 2}, kFloat16), i = make({1, 2}, kInt32), u = make({1, 200}, kUInt8),
               b = mask({true, false});
  CHECK((h + 1).dtype() == kFloat16);
  CHECK((h * 2.5).dtype() == kFloat16);
  CHECK((1.5 - h).dtype() == kFloat16);
  CHECK((i + 2.5).dtype() == kFloat32);
  CHECK((i + 2).dtype() == kInt32);
  CHECK((i + tensor(5)).dtype() == kInt32);
  CHECK((i + tensor(5.5)).dtype() == kFloat32);
  CHECK((h + tensor(5.0, {.dtype = kFloat64})).dtype() == kFloat16);
  CHECK((h + make({1, 2}, kBFloat16)).dtype() == kFloat32);
  CHECK((u + i).dtype() == kInt32);
  CHECK((b + 1).dtype() == kInt64);
  CHECK((b + 1.5).dtype() == kFloat32);
  CHECK((b * 2).dtype() == kInt64);
  CHECK((i / i).dtype() == kFloat32);
  CHECK((b / b).dtype() == kFloat32);
  CHECK((i < 2).dtype() == kBool);
  CHECK(sqrt(i).dtype() == kFloat32);
  CHECK(square(b).dtype() == kInt64);
  CHECK(pow(b, 2).dtype() == kInt64);
  CHECK(pow(i, 0.5).dtype() == kFloat32);
  CHECK(where(b, 1.0, 0).dtype() == kFloat32);
  CHECK(where(b, 1, 0).dtype() == kInt64);
  CHECK(where(b, i, tensor(1.0, {.dtype = kFloat64})).dtype() == kFloat64);
  CHECK_SAME(u + 300, {45, 244});
  CHECK_SAME(-u, {255, 56});
  CHECK_SAME(i + (int64_t{1} << 40), {1, 2});
  CHECK_SAME(make({16777217}, kInt64) == make({16777216.0}), {1});
}

TEST_CASE("bool: sums are or, products and; minus and most functions refuse") {
  const Tensor b = mask({true, false}), c = mask({true, true}), i = make({1, -2}, kInt64);
  CHECK((b + c).dtype() == kBool);
  CHECK_SAME(b + c, {1, 1});
  CHECK_SAME(b * c, {1, 0});
  CHECK_SAME(maximum(b, c), {1, 1});
  CHECK_SAME(sign(b), {1, 0});
  CHECK_SAME(b & c, {1, 0});
  CHECK_SAME(b | c, {1, 1});
  CHECK_SAME(b ^ c, {0, 1});
  CHECK_SAME(~b, {0, 1});
  CHECK_SAME(logical_not(i), {0, 0});
  CHECK_SAME(~i, {-2, 1});
  CHECK_SAME(~make({1, 200}, kUInt8), {254, 55});
  CHECK((~b).dtype() == kBool);
  CHECK_SAME(i & 3, {1, 2});
  CHECK_THROWS_WITH(b - c, contains("Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                                    "`^` or `logical_xor()` operator instead."));
  CHECK_THROWS_WITH(b - i, contains("Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                                    "trying to invert a mask, use the `~` or `logical_not()` operator instead."));
  CHECK_THROWS_WITH(1 - b, contains("with a bool tensor is not supported"));
  CHECK_THROWS_WITH(b - 1.5, contains("with a bool tensor is not supported"));
  CHECK_THROWS_WITH(-b, contains("Negation, the `-` operator, on a bool tensor is not supported."));
  CHECK_THROWS_AS(abs(b), DTypeError);
  CHECK_THROWS_AS(floor(b), DTypeError);
  CHECK_THROWS_AS(relu(b), DTypeError);
  CHECK_THROWS_AS(remainder(b, c), DTypeError);
  CHECK_THROWS_AS(pow(b, c), DTypeError);
  CHECK_THROWS_AS(addcmul(b, b, b), DTypeError);
}

TEST_CASE("functions of floating tensors refuse integers, bitwise ones refuse floats") {
  const Tensor i = make({1, -2}, kInt64), x = make({1, 2});
  for (auto f : {+[](const Tensor& t) { return gelu(t); }, +[](const Tensor& t) { return silu(t); },
                 +[](const Tensor& t) { return elu(t); }, +[](const Tensor& t) { return leaky_relu(t); },
                 +[](const Tensor& t) { return softplus(t); }, +[](const Tensor& t) { return hardswish(t); },
                 +[](const Tensor& t) { return mish(t); }, +[](const Tensor& t) { return logsigmoid(t); },
                 +[](const Tensor& t) { return selu(t); }, +[](const Tensor& t) { return lerp(t, t, 0); },
                 +[](const Tensor& t) { return addcdiv(t, t, t); }})
    CHECK_THROWS_WITH(f(i), contains("not implemented for int64"));
  CHECK_THROWS_WITH(x & x, contains("bitwise_and: not implemented for float32"));
  CHECK_THROWS_WITH(~x, contains("bitwise_not: not implemented for float32"));
  CHECK_SAME(relu(i), {1, 0});
  CHECK_SAME(relu6(make({9, -2}, kInt64)), {6, 0});
  CHECK_SAME(hardtanh(make({9, -2}, kInt64)), {1, -1});
}

TEST_CASE("results that do not fit are refused, in place too") {
  Tensor i = make({1, 2}, kInt64), b = mask({true, false}), x = make({1, 2, 3});
  CHECK_THROWS_WITH(i.add_(1.5), contains("result type float32 can't be cast to the desired output type int64"));
  CHECK_THROWS_WITH(i.div_(2), contains("result type float32 can't be cast to the desired output type int64"));
  CHECK_THROWS_WITH(sqrt_(i), contains("can't be cast"));
  CHECK_THROWS_WITH(b.add_(i), contains("result type int64 can't be cast to the desired output type bool"));
  CHECK_THROWS_WITH(b.mul_(2), contains("can't be cast"));
  CHECK_THROWS_WITH(pow_(i, 0.5), contains("can't be cast"));
  CHECK_THROWS_WITH(i.clamp_(0.5, {}), contains("can't be cast"));
  CHECK_THROWS_WITH(x.add_(zeros({2, 3})), contains("output with shape [3] doesn't match the broadcast shape [2, 3]"));
  CHECK_THROWS_WITH(
      x + zeros({4}),
      contains("The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"));
  CHECK_THROWS_WITH(add(i, i, 1.5),
                    contains("For integral input tensors, argument alpha must not be a floating point number"));
  CHECK_THROWS_WITH(leaf({1, 2}).add_(1),
                    contains("a leaf Variable that requires grad is being used in an in-place operation"));
  CHECK_SAME(eq_(x, 2), {0, 1, 0});
  CHECK(x.dtype() == kFloat32);
  CHECK_SAME(i, {1, 2});
  CHECK_SAME(i.add_(2), {3, 4});
}

TEST_CASE("integer division by zero is an error, by a number and by one element") {
  const Tensor i = make({1, -2}, kInt64), z = make({0, 1}, kInt64);
  CHECK_THROWS_WITH(floor_divide(i, 0), contains("ZeroDivisionError"));
  CHECK_THROWS_WITH(remainder(i, z), contains("ZeroDivisionError"));
  CHECK_THROWS_WITH(fmod(i, 0), contains("ZeroDivisionError"));
  CHECK_THROWS_WITH(div(i, z, "trunc"), contains("ZeroDivisionError"));
  CHECK_THROWS_WITH(div(i, 2, "x"),
                    contains("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'x'"));
  CHECK(floor_divide(zeros({0}, {.dtype = kInt64}), 0).numel() == 0);
  CHECK_SAME(floor_divide(make({-9223372036854775808.0}, kInt64), -1), {-9223372036854775808.0});
  CHECK_SAME(make({7, -7, 7, -7}, kInt32) / 2, {3.5, -3.5, 3.5, -3.5});
  CHECK_SAME(div(make({7, -7}, kInt32), 2, "floor"), {3, -4});
  CHECK_SAME(div(make({7, -7}, kInt32), 2, "trunc"), {3, -3});
  CHECK_SAME(remainder(make({7, -7}, kInt32), 3), {1, 2});
  CHECK_SAME(fmod(make({7, -7}, kInt32), 3), {1, -1});
  CHECK_SAME(floor_divide(make({5.5, -5.5, 1, 0, kInf, -1}), make({2, 2, 0, 0, 2, kInf})),
             {2, -3, kInf, kNaN, kNaN, -1});
  Tensor x = make({7, -7});
  CHECK_SAME(div_(x, 2, "floor"), {3, -4});
}

TEST_CASE("pow: integers, numbers on either side, special exponents") {
  const Tensor i = make({3, -2, 0}, kInt64);
  CHECK_SAME(pow(i, 3), {27, -8, 0});
  CHECK_SAME(pow(i, 0), {1, 1, 1});
  CHECK_SAME(pow(2, make({0, 5}, kInt64)), {1, 32});
  CHECK_SAME(pow(make({1, 2, -1, 0}, kInt64), make({-1, -1, -3, -2}, kInt64)), {1, 0, -1, 0});
  CHECK_THROWS_WITH(pow(i, -1), contains("Integers to negative integer powers are not allowed"));
  CHECK_SAME(pow(make({4, 9}), 0.5), {2, 3});
  CHECK_SAME(pow(make({2, -3}), -1), {0.5, -1.0 / 3}, 1e-7);
  CHECK_SAME(pow(make({-3, 2}), 2), {9, 4});
  CHECK_SAME(make({-3, 2}).pow(3), {-27, 8});
  CHECK(leaf({1}).pow(2).grad_fn_name() == "PowBackward0");
  CHECK(leaf({1}).pow(2.5).grad_fn_name() == "PowBackward0");
  Tensor x = make({-3, 2});
  CHECK_SAME(pow_(x, 3), {-27, 8});
  CHECK_SAME(square_(x), {729, 64});
}

TEST_CASE("clamp: one bound, both, none, whole and broken ones") {
  const Tensor x = make({kNaN, kInf, -kInf, -0.0, 2.5, -3.5}), i = make({5, -5}, kInt64);
  CHECK_SAME(clamp(x, 0, {}), {kNaN, kInf, 0, -0.0, 2.5, 0});
  CHECK_SAME(clamp(x, {}, 1), {kNaN, 1, -kInf, -0.0, 1, -3.5});
  CHECK_SAME(clamp(x, 3, 1), {kNaN, 1, 1, 1, 1, 1});
  CHECK_SAME(clamp(x, kNaN, {}), Values(6, kNaN));
  CHECK_SAME(clamp(i, -1, 1), {1, -1});
  CHECK(clamp(i, -1, 1).dtype() == kInt64);
  CHECK(clamp(i, 0.5, {}).dtype() == kFloat32);
  CHECK_SAME(clamp(i, 0.5, {}), {5, 0.5});
  CHECK(clamp(mask({true}), 0, 1).dtype() == kInt64);
  CHECK_THROWS_WITH(clamp(x, {}, std::optional<double>()), contains("At least one of 'min' or 'max' must not be None"));
  CHECK_SAME(clamp(make({-1, 0.5, 2}), tensor(0.0), make({1, 1, 1})), {0, 0.5, 1});
  CHECK_SAME(clamp(make({-1, 2}), Tensor(), make({1, 1})), {-1, 1});
  Tensor y = make({-1, 2});
  CHECK_SAME(y.clamp_(0, 1), {0, 1});
}

TEST_CASE("where and gelu check what they are told") {
  const Tensor x = make({1, 2});
  CHECK_THROWS_WITH(where(x, x, x),
                    contains("where expected condition to be a boolean tensor, but got a tensor with dtype float32"));
  CHECK_SAME(where(make({1, 0}, kUInt8), x, -x), {1, -2});
  CHECK_SAME(where(mask({true, false}), kNaN, x), {kNaN, 2});
  CHECK_THROWS_WITH(gelu(x, "foo"), contains("approximate argument must be either none or tanh"));
  CHECK(gelu(leaf({1}), "tanh").grad_fn_name() == "GeluBackward0");
  CHECK(where(mask({true}), leaf({1}), 0).grad_fn_name() == "WhereBackward0");
  CHECK(leaky_relu(leaf({1})).grad_fn_name() == "LeakyReluBackward0");
}

TEST_CASE("gradients at kinks, ties and NaN are PyTorch's") {
  const Values k{-3, -1, 0, 1, 3, 6, 20, kNaN, 0.5};
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor&);
    Values want;
  };
  const Values none(9, 0);
  for (const Case& c : {
           Case{"relu", [](const Tensor& x) { return relu(x); }, {0, 0, 0, 1, 1, 1, 1, 1, 1}},
           {"abs", [](const Tensor& x) { return abs(x); }, {-1, -1, 0, 1, 1, 1, 1, 0, 1}},
           {"relu6", [](const Tensor& x) { return relu6(x); }, {0, 0, 0, 1, 1, 0, 0, 1, 1}},
           {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, {0, 0, 1, 0, 0, 0, 0, 1, 1}},
           {"clamp", [](const Tensor& x) { return clamp(x, 0, 1); }, {0, 0, 0, 0, 0, 0, 0, 0, 1}},
           {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, {0.01, 0.01, 0.01, 1, 1, 1, 1, 0.01, 1}},
           {"elu", [](const Tensor& x) { return elu(x); }, {std::exp(-3.0), std::exp(-1.0), 1, 1, 1, 1, 1, 1, 1}},
           {"hardswish",
            [](const Tensor& x) { return hardswish(x); },
            {0, 0.5 - 1.0 / 3, 0.5, 0.5 + 1.0 / 3, 1, 1, 1, 1, 2.0 / 3}},
           {"sign", [](const Tensor& x) { return sign(x); }, none},
           {"floor", [](const Tensor& x) { return floor(x); }, none},
           {"ceil", [](const Tensor& x) { return ceil(x); }, none},
           {"round", [](const Tensor& x) { return round(x); }, none},
           {"trunc", [](const Tensor& x) { return trunc(x); }, none},
       }) {
    INFO(c.name);
    CHECK(compare(gradients([&](const TensorList& x) { return c.f(x[0]); }, {k}).of[0], c.want) == "");
  }
  CHECK(compare(gradients([](const TensorList& x) { return clamp(x[0], 0, {}); }, {{-1, 0, 2, kInf}}).of[0],
                {0, 0, 1, 1}) == "");
  const std::vector<Values> ties{{1, 2, kNaN, 0}, {1, 1, 0, kNaN}};
  auto g = gradients([](const TensorList& x) { return maximum(x[0], x[1]); }, ties);
  CHECK(compare(g.of[0], {0.5, 1, 1, 1}) + compare(g.of[1], {0.5, 0, 1, 1}) == "");
  g = gradients([](const TensorList& x) { return minimum(x[0], x[1]); }, ties);
  CHECK(compare(g.of[0], {0.5, 0, 1, 1}) + compare(g.of[1], {0.5, 1, 1, 1}) == "");
  g = gradients([](const TensorList& x) { return clamp(x[0], x[1], x[2]); },
                {{0, 1, 0.5, -1, 2, kNaN, 0.5, 1, 0}, {0, 0, 0, 0, 0, 0, 2, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}});
  CHECK(compare(g.of[0], {0.5, 0.5, 1, 0, 0, 1, 0, 1, 0}) == "");
  CHECK(compare(g.of[1], {0.5, 0, 0, 1, 0, 0, 0, 0, 1}) == "");
  CHECK(compare(g.of[2], {0, 0.5, 0, 0, 1, 0, 1, 0, 0}) == "");
}

TEST_CASE("gradients of pow, fmod, remainder, atan2 at their corners") {
  auto g =
      gradients([](const TensorList& x) { return pow(x[0], x[1]); }, {{0, 0, 0, -2, 2, -1}, {0, 2, 1, 2, -1, 0.5}});
  CHECK(compare(g.of[0], {0, 0, 1, -4, -0.25, kNaN}) == "");
  CHECK(compare(g.of[1], {0, 0, 0, kNaN, 0.5 * std::log(2.0), kNaN}) == "");
  CHECK(compare(gradients([](const TensorList& x) { return pow(x[0], 0); }, {{0, 1}}).of[0], {0, 0}) == "");
  CHECK(compare(gradients([](const TensorList& x) { return pow(x[0], 2); }, {{0, 3}}).of[0], {0, 6}) == "");
  CHECK(compare(gradients([](const TensorList& x) { return pow(x[0], 0.5); }, {{0, 4}}).of[0], {kInf, 0.25}) == "");
  CHECK(compare(gradients([](const TensorList& x) { return pow(0.0, x[0]); }, {{0, 1, -1}}).of[0], {0, 0, -kInf}) ==
        "");
  g = gradients([](const TensorList& x) { return fmod(x[0], x[1]); }, {{5.5, -5.5, 5}, {2, 2, 0}});
  CHECK(compare(g.of[1], {-2, 2, -kInf}) == "");
  g = gradients([](const TensorList& x) { return remainder(x[0], x[1]); },
                {{5.5, -5.5, 5.5, -1, 5}, {2, 2, -2, kInf, 0}});
  CHECK(compare(g.of[1], {-2, 3, 3, 1, -kInf}) == "");
  g = gradients([](const TensorList& x) { return atan2(x[0], x[1]); }, {{0, 0, 1}, {0, -1, 0}});
  CHECK(compare(g.of[0], {0, -1, 0}) + compare(g.of[1], {0, 0, -1}) == "");
  g = gradients([](const TensorList& x) { return div(x[0], x[1], "floor"); }, {{5.5}, {2}});
  CHECK(compare(g.of[0], {0}) + compare(g.of[1], {0}) == "");
}

TEST_CASE("second gradients have no NaN where the value is finite") {
  const auto second = [](const auto& f, const Values& at) {
    const Tensor x = leaf(at);
    const Tensor y = f(x);
    const Tensor first = grad({y}, {x}, {ones_like(y)}, true, true)[0];
    return first.requires_grad() ? grad({first}, {x}, {ones_like(first)})[0].to_vector<double>() : Values(at.size(), 0);
  };
  CHECK(compare(second([](const Tensor& x) { return pow(x, 2); }, {0, 3}), {2, 2}) == "");
  CHECK(compare(second([](const Tensor& x) { return pow(x, 3); }, {0, 2}), {0, 12}) == "");
  CHECK(compare(second([](const Tensor& x) { return pow(x, 1); }, {0, 2}), {0, 0}) == "");
  CHECK(compare(second([](const Tensor& x) { return pow(x, tensor(2.0)); }, {0, 3}), {2, 2}) == "");
  CHECK(compare(second([](const Tensor& x) { return elu(x); }, {800, -1}), {0, std::exp(-1.0)}) == "");
  CHECK(compare(second([](const Tensor& x) { return selu(x); }, {800}), {0}) == "");
  CHECK(compare(second([](const Tensor& x) { return softplus(x); }, {800, -800, 0}), {0, 0, 0.25}) == "");
  CHECK(compare(second([](const Tensor& x) { return mish(x); }, {800, 0}), {0, 0.64}) == "");
  CHECK(compare(second([](const Tensor& x) { return logsigmoid(x); }, {800, -800, 0}), {0, 0, -0.25}) == "");
  CHECK(compare(second([](const Tensor& x) { return sigmoid(x); }, {800, -800, 0}), {0, 0, 0}) == "");
  CHECK(compare(second([](const Tensor& x) { return atan2(x, tensor(0.0)); }, {0, 1}), {0, 0}) == "");
  CHECK(compare(second([](const Tensor& x) { return where(x > 0, sqrt(where(x > 0, x, 1)), 0); }, {0, 4}),
                {0, -1.0 / 32}) == "");
}

TEST_CASE("numbers are saved for the gradient without losing digits") {
  const Tensor x = make({1, 2}, kFloat16).requires_grad_();
  (x * 0.1).sum().backward();
  CHECK_SAME(x.grad(), {static_cast<float>(float16(0.1f)), static_cast<float>(float16(0.1f))});
  const Tensor y = leaf({1, 2});
  (3.0 / y).sum().backward();
  CHECK_SAME(y.grad(), {-3, -0.75}, 1e-15);
  const Tensor i = make({2, 3}, kInt64), z = make({1, 2}).requires_grad_();
  (z * i).sum().backward();
  CHECK_SAME(z.grad(), {2, 3});
  CHECK(z.grad().dtype() == kFloat32);
}

TEST_CASE("a gradient has the dtype of its tensor, whatever it was computed with") {
  const Tensor a = make({1, 2}).requires_grad_(), b = make({3, 4}, kFloat64).requires_grad_();
  const Tensor y = a * b;
  CHECK(y.dtype() == kFloat64);
  y.sum().backward();
  CHECK(a.grad().dtype() == kFloat32);
  CHECK(b.grad().dtype() == kFloat64);
  CHECK_SAME(a.grad(), {3, 4});
}

TEST_CASE("in place over shared memory: whole, disjoint, interleaved, overlapping") {
  Tensor x = arange(6, {.dtype = kFloat32}).view({2, 3});
  CHECK_SAME(x.add_(x), {0, 2, 4, 6, 8, 10});
  x[0].add_(x[1]);
  CHECK_SAME(x, {6, 10, 14, 6, 8, 10});
  Tensor line = arange(6, {.dtype = kFloat32});
  line.slice(0, 0, 6, 2).add_(line.slice(0, 1, 6, 2));
  CHECK_SAME(line, {1, 1, 5, 3, 9, 5});
  Tensor wide = arange(12, {.dtype = kFloat32}).view({4, 3});
  wide.slice(0, 0, 4, 2).select(1, 0).copy_(make({1, 2}));
  Tensor odd = arange(8, {.dtype = kFloat32});
  odd.slice(0, 0, 6, 2).add_(odd.slice(0, 2, 8, 2));  // strided and overlapping: as if the operand were a copy
  CHECK_SAME(odd, {2, 1, 6, 3, 10, 5, 6, 7});
  Tensor square = arange(4, {.dtype = kFloat32}).view({2, 2});
  CHECK_THROWS_WITH(
      square.add_(square.t()),
      contains("some elements of the input tensor and the written-to tensor refer to a single memory location"));
  CHECK_THROWS_WITH(square.add_(square[0]), contains("Please clone() the tensor"));
  CHECK_THROWS_WITH(line.slice(0, 1).mul_(line.slice(0, 0, 5)), contains("refer to a single memory location"));
  Tensor spread = zeros({1}).expand({3});
  CHECK_THROWS_WITH(spread.add_(1),
                    contains("more than one element of the written-to tensor refers to a single memory location"));
  Tensor turned = arange(6, {.dtype = kFloat32}).view({2, 3}).t();
  CHECK_SAME(turned.mul_(turned), {0, 9, 1, 16, 4, 25});
}

TEST_CASE("large tensors of every layout agree with one element at a time") {
  const int64_t rows = 301, columns = 1003;
  const Tensor a = (arange(rows * columns, {.dtype = kFloat32}) * 1e-5).view({rows, columns}),
               b = (arange(columns, {.dtype = kFloat32}) - 500);
  const Tensor want = a.to(kFloat64) * b.to(kFloat64) + 2;
  for (int threads : {1, 4}) {
    const int before = get_num_threads();
    set_num_threads(threads);
    CHECK(difference(want.to(kFloat32), addcmul(tensor(2.0), a, b), 1e-6) == "");
    CHECK(difference(want.t().to(kFloat32), addcmul(tensor(2.0), a.t(), b.unsqueeze(1)), 1e-6) == "");
    CHECK(difference(want.to(kFloat16), addcmul(tensor(2.0), a.to(kFloat16), b.to(kFloat16)), 2e-3) == "");
    CHECK(difference((a.to(kFloat64) * 3.0).to(kFloat32), a * 3.0, 1e-6) == "");
    set_num_threads(before);
  }
}

TEST_CASE("half types convert alike in whole vectors and in the rest of a row") {
  for (DType t : {kFloat16, kBFloat16})
    for (int64_t n : {1, 7, 8, 9, 31, 1000}) {
      Values v;
      for (int64_t i = 0; i < n; ++i)
        v.push_back(static_cast<double>(static_cast<float>(
            std::ldexp(1.0 + static_cast<double>(i * 37 % 101) / 128, static_cast<int>(i % 40) - 26))));
      const Tensor x = make(v), h = x.to(t);
      Values want, twice;
      for (double d : v) {
        const float once = t == kFloat16 ? static_cast<float>(float16(static_cast<float>(d)))
                                         : static_cast<float>(bfloat16(static_cast<float>(d)));
        want.push_back(once);
        twice.push_back(t == kFloat16 ? static_cast<float>(float16(2 * once)) : static_cast<float>(bfloat16(2 * once)));
      }
      CHECK_SAME(h, want);
      CHECK_SAME(h + h, twice);
    }
}

TEST_CASE("a number beside small integers wraps as PyTorch's does, a tensor of no dimension too") {
  const Tensor u = make({200, 100, 0}, kUInt8);
  for (const Tensor& y : {remainder(u, -7), remainder(u, tensor(-7)), fmod(u, -7)}) CHECK_SAME(y, {200, 100, 0});
  CHECK_SAME(floor_divide(u, -2), {0, 0, 0});
  CHECK_SAME(u < 300, {0, 0, 1});
  CHECK_SAME(u < tensor(300), {0, 0, 1});
  CHECK_SAME(u > -1, {0, 0, 0});
  CHECK_SAME(make({200, 100, 44}, kUInt8) == 300, {0, 0, 1});
  CHECK_SAME(maximum(u, tensor(300)), {200, 100, 44});
  CHECK_SAME(u + 300, {244, 144, 44});
  CHECK_SAME(u < 300.5, {1, 1, 1});
  CHECK_SAME(make({2, 3}, kInt32) < int64_t{3000000000}, {0, 0});
  CHECK_THROWS_WITH(div(u, 256, "trunc"), contains("ZeroDivisionError"));
  CHECK_THROWS_WITH(where(u > 0, u, 300), contains("where: value cannot be converted to type uint8"));
}

TEST_CASE("lerp, addcdiv and hardtanh refuse what PyTorch refuses") {
  const Tensor i = make({1, 2}, kInt64), x = make({1, 2}), d = make({3, 4}, kFloat64);
  CHECK_THROWS_WITH(lerp(i, i, 0.5), contains("lerp: not implemented for int64"));
  CHECK_THROWS_WITH(lerp(i > 0, i > 0, 0.5), contains("lerp: not implemented for bool"));
  CHECK_THROWS_WITH(lerp(x, d, 0.5), contains("lerp: expected dtype float32 for `end` but got dtype float64"));
  CHECK_THROWS_WITH(lerp(x, x, d), contains("lerp: expected dtype float32 for `weight` but got dtype float64"));
  CHECK_SAME(lerp(x, make({3, 4}), tensor(0.5, {.dtype = kFloat64})), {2, 3});
  CHECK_THROWS_WITH(addcdiv(x, i, i), contains("addcdiv: Integer division with addcdiv is not supported"));
  CHECK_SAME(addcdiv(x, x, i), {2, 3});
  CHECK_THROWS_AS(hardtanh(x, 1, -1), ValueError);
  CHECK_SAME(hardtanh(x, 1, 1), {1, 1});
  CHECK_SAME(addcmul(i, i, i, 1.5), {2, 6});
}
