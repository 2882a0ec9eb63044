#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

using namespace tantu;

namespace {

Tensor leaf(const NestedList& values) {
  return tensor(values, {.dtype = kFloat64, .requires_grad = true});
}

// x², whose derivative is written as `factor` * x.
TensorList square(const Tensor& x, double factor) {
  Tensor y = x.detach() * x.detach();
  tape::record("SquareBackward0", {&y}, {x}, {tape::Saved(x)},
               [factor](tape::Backward& b) { return TensorList{b.grad() * b.saved(0) * factor}; });
  return {y};
}

}  // namespace

TEST_CASE("gradcheck passes right gradients of several inputs and outputs, in any layout") {
  const auto fn = [](const TensorList& x) { return TensorList{x[0] * x[1], exp(x[0]).sum(), x[2] + 1}; };
  Tensor a = leaf({{1, 2, 3}, {0.5, -1, 2}});
  Tensor b = leaf({{1, 2}, {3, 4}, {5, 6}}).detach().t().requires_grad_();
  CHECK(gradcheck(fn, {a, b, ones({2})}));
  CHECK(gradgradcheck(fn, {a, b, ones({2})}));
  CHECK(a.to_vector<double>() == std::vector<double>{1, 2, 3, 0.5, -1, 2});
  CHECK(!a.grad().defined());
}

TEST_CASE("gradcheck names position and both values of a wrong gradient") {
  const auto wrong = [](const TensorList& x) { return square(x[0], 3); };
  CHECK_THROWS_AS(gradcheck(wrong, {leaf({1, 2})}), AutogradError);
  CHECK_THROWS_WITH(
      gradcheck(wrong, {leaf({0, 2})}),
      Catch::Contains(
          "Jacobian mismatch for output 0 with respect to input 0: d output[1] / d input[1]: numerical 4") &&
          Catch::Contains("analytical 6"));
  CHECK(gradcheck([](const TensorList& x) { return square(x[0], 2); }, {leaf({1, 2})}));
}

TEST_CASE("gradcheck fails on a NaN gradient and on one that is missing") {
  const auto nan = [](const TensorList& x) { return square(x[0], std::numeric_limits<double>::quiet_NaN()); };
  CHECK_THROWS_WITH(gradcheck(nan, {leaf({1})}), Catch::Contains("Jacobian mismatch"));
  CHECK_THROWS_WITH(
      gradcheck([](const TensorList& x) { return TensorList{x[0] * 2 + x[0].detach() * 3}; }, {leaf({1})}),
      Catch::Contains("numerical 5"));
}

TEST_CASE("gradgradcheck sees a first derivative without its own") {
  const auto half = [](const TensorList& x) {
    Tensor y = x[0].detach() * x[0].detach();
    tape::record("HalfBackward0", {&y}, {x[0]}, {tape::Saved(x[0])},
                 [](tape::Backward& b) { return TensorList{b.grad() * b.saved(0).detach() * 2}; });
    return TensorList{y};
  };
  CHECK(gradcheck(half, {leaf({1, 2})}));
  CHECK_THROWS_WITH(gradgradcheck(half, {leaf({1, 2})}), Catch::Contains("gradgradcheck: Jacobian mismatch"));
}

TEST_CASE("gradcheck refuses inputs that ask for nothing, and a backward that differs from call to call") {
  CHECK_THROWS_WITH(
      gradcheck([](const TensorList& x) { return TensorList{x[0] * 2}; }, {ones({2}, {.dtype = kFloat64})}),
      Catch::Contains("at least one input tensor to require gradient"));
  int calls = 0;
  const auto moody = [&](const TensorList& x) {
    Tensor y = x[0].detach() * 1;
    tape::record("MoodyBackward0", {&y}, {x[0]}, {},
                 [&calls](tape::Backward& b) { return TensorList{b.grad() * (1 + 1e-9 * ++calls)}; });
    return TensorList{y};
  };
  CHECK_THROWS_WITH(gradcheck(moody, {leaf({1})}), Catch::Contains("Backward is not reentrant"));
}
