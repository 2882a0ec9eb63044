#include <tantu/autograd/ops.h>
#include <tantu/nn/init.h>
#include <tantu/tests/catch.h>

#include <algorithm>
#include <cmath>

// Initial values: what the recorded figures (tests/golden) do not reach.

using namespace tantu;
namespace init = nn::init;

namespace {

template <class Error, class F>
void refuses(F&& call) {
  manual_seed(7);
  const auto before = default_generator().get_state();
  CHECK_THROWS_AS(call(), Error);
  CHECK(default_generator().get_state() == before);
}

// The largest |QQt - gain^2 I| of the rows of a (rows, cols) matrix.
double unorthogonality(const Tensor& q, double gain) {
  const int64_t rows = q.size(0), cols = q.size(1);
  const std::vector<double> v = q.to_vector<double>();
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? -gain * gain : 0;
      for (int64_t k = 0; k < cols; ++k)
        sum += v[static_cast<size_t>(i * cols + k)] * v[static_cast<size_t>(j * cols + k)];
      worst = std::abs(sum) <= worst ? worst : std::abs(sum);
    }
  return worst;
}

}  // namespace

TEST_CASE("init: gains and fans") {
  CHECK(init::calculate_gain("linear") == 1);
  CHECK(init::calculate_gain("conv2d") == 1);
  CHECK(init::calculate_gain("conv_transpose3d") == 1);
  CHECK(init::calculate_gain("sigmoid") == 1);
  CHECK(init::calculate_gain("tanh") == 5.0 / 3);
  CHECK(init::calculate_gain("relu") == std::sqrt(2.0));
  CHECK(init::calculate_gain("selu") == 0.75);
  CHECK(init::calculate_gain("leaky_relu") == std::sqrt(2.0 / (1 + 0.01 * 0.01)));
  CHECK(init::calculate_gain("leaky_relu", 3) == std::sqrt(0.2));
  CHECK_THROWS_AS(init::calculate_gain("gelu"), ValueError);
  CHECK(init::calculate_fan_in_and_fan_out(empty({4, 3, 5, 2})) == std::pair<int64_t, int64_t>(30, 40));
  CHECK(init::calculate_fan_in_and_fan_out(empty({4, 3})) == std::pair<int64_t, int64_t>(3, 4));
}

TEST_CASE("init: bad input is refused before any draw") {
  refuses<ValueError>([] { init::xavier_uniform_(empty({4})); });
  refuses<ValueError>([] { init::xavier_normal_(empty({4})); });
  refuses<ValueError>([] { init::kaiming_uniform_(empty({4})); });
  refuses<ValueError>([] { init::kaiming_normal_(tensor(NestedList(1.0))); });
  refuses<ValueError>([] { init::kaiming_normal_(empty({4, 4}), 0, "fan"); });
  refuses<ValueError>([] { init::kaiming_uniform_(empty({4, 4}), 0, "fan_in", "swish"); });
  refuses<ValueError>([] { init::orthogonal_(empty({4})); });
  refuses<ValueError>([] { init::eye_(empty({4})); });
  refuses<ValueError>([] { init::eye_(empty({4, 2, 2})); });
  refuses<ValueError>([] { init::normal_(empty({4}), 0, -1); });
  refuses<ValueError>([] { init::uniform_(empty({4}), 1, -1); });
  refuses<ValueError>([] { init::trunc_normal_(empty({4}), 0, 0); });
  refuses<ValueError>([] { init::trunc_normal_(empty({4}), 0, 1, 2, -2); });
  refuses<DTypeError>([] { init::normal_(empty({4}, {.dtype = kInt64})); });
}

TEST_CASE("init: parameters stay leaves and get their values") {
  Tensor w = empty({3, 2}).requires_grad_();
  const Tensor same = init::ones_(w);
  CHECK(same.is_same(w));
  CHECK(w.is_leaf());
  CHECK(w.requires_grad());
  CHECK(w.to_vector<float>() == std::vector<float>(6, 1.0f));
  CHECK(init::zeros_(w).to_vector<float>() == std::vector<float>(6, 0.0f));
  CHECK(init::constant_(w, 0.3).to_vector<float>() == std::vector<float>(6, 0.3f));
  CHECK(init::eye_(w).to_vector<float>() == std::vector<float>{1, 0, 0, 1, 0, 0});
  CHECK(init::kaiming_uniform_(empty({0, 3})).numel() == 0);
  CHECK(init::orthogonal_(empty({3, 0})).numel() == 0);
}

TEST_CASE("init: bounds and spreads") {
  manual_seed(1);
  const auto wide = init::xavier_uniform_(empty({100, 200}), 2).to_vector<double>();
  const double bound = 2 * std::sqrt(6.0 / 300);
  const auto [low, high] = std::minmax_element(wide.begin(), wide.end());
  CHECK(*low >= -bound);
  CHECK(*high <= bound);
  CHECK(*high > 0.99 * bound);
  const auto spread = [](const Tensor& t) {
    double square = 0;
    for (const double v : t.to_vector<double>()) square += v * v;
    return std::sqrt(square / static_cast<double>(t.numel()));
  };
  CHECK(!(std::abs(spread(init::kaiming_normal_(empty({300, 200}), 0, "fan_out", "relu")) / std::sqrt(2.0 / 300) - 1) >
          0.02));
  CHECK(!(std::abs(spread(init::xavier_normal_(empty({300, 200}))) / std::sqrt(2.0 / 500) - 1) > 0.02));
}

TEST_CASE("init: truncated normal stays inside and has the cut distribution") {
  manual_seed(2);
  for (const DType t : {kFloat32, kFloat64}) {
    std::vector<double> v = init::trunc_normal_(empty({100000}, {.dtype = t}), 1, 2, 0, 4).to_vector<double>();
    std::sort(v.begin(), v.end());
    CHECK(v.front() >= 0);
    CHECK(v.back() <= 4);
    const auto phi = [](double x) { return 0.5 * std::erfc(-(x - 1) / 2 / std::sqrt(2.0)); };
    double worst = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      const double distance = std::abs((phi(v[i]) - phi(0)) / (phi(4) - phi(0)) - static_cast<double>(i) / 1e5);
      worst = distance <= worst ? worst : distance;
    }
    CHECK(!(worst * std::sqrt(1e5) > 1.95));
  }
  const auto tail = init::trunc_normal_(empty({1000}, {.dtype = kFloat64}), 0, 1, 4, 9).to_vector<double>();
  CHECK(*std::min_element(tail.begin(), tail.end()) >= 4);
  CHECK(*std::max_element(tail.begin(), tail.end()) < 8);
}

TEST_CASE("init: orthogonal rows or columns, of any shape") {
  manual_seed(3);
  for (const Shape& s : {Shape{1, 1}, Shape{1, 5}, Shape{5, 1}, Shape{7, 7}, Shape{6, 11}, Shape{11, 6}, Shape{65, 130},
                         Shape{4, 2, 3}}) {
    for (const DType t : {kFloat32, kFloat64}) {
      CAPTURE(s.to_string(), name(t));
      const Tensor q = init::orthogonal_(empty(s, {.dtype = t}), 1.5);
      const Tensor m = q.view({s[0], q.numel() / s[0]});
      CHECK(!(unorthogonality(m.size(0) <= m.size(1) ? m : m.t(), 1.5) > (t == kFloat32 ? 2e-6 : 1e-13)));
    }
  }
  Tensor strided = empty({6, 4});
  init::orthogonal_(strided.t());
  CHECK(!(unorthogonality(strided.t(), 1) > 2e-6));
}
