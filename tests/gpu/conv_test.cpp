#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>

#include <cmath>
#include <functional>
#include <random>

// Convolutions on a GPU against the CPU's float64, in the ways that the op table's sizes do not take: indices that need
// 64 bits (a stride of 3e9 does it without memory), and 1x1 filters, which are matrix products.
using namespace tantu;

namespace {

Tensor draw(const Shape& sizes, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> v(static_cast<size_t>(numel(sizes)));
  for (float& x : v) x = static_cast<float>(static_cast<int>(engine() % 17) - 8) / 8;
  return tensor(v).view(sizes);
}

using Call = std::function<Tensor(const Tensor& x, const Tensor& w, const Tensor& bias)>;

// The result and three gradients.
TensorList run(const Call& call, const TensorList& inputs, Device device, DType dtype) {
  TensorList in;
  for (const Tensor& t : inputs) in.push_back(t.to(device, dtype).clone().requires_grad_());
  const Tensor y = call(in[0], in[1], in[2]);
  y.backward(draw(y.sizes(), 9).to(device, dtype));
  return {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
}

// Eighths of small numbers: their products and sums are exact in float32, results of half types round once.
void compare(const Call& call, const TensorList& inputs) {
  for (Device device : gpu_devices())
    for (const DType dtype : {kFloat32, kFloat16, kFloat64}) {
      const TensorList want = run(call, inputs, kCPU, kFloat64), got = run(call, inputs, device, dtype);
      for (size_t k = 0; k < want.size(); ++k) {
        INFO("result " << k << " in " << name(dtype));
        REQUIRE(got[k].sizes() == want[k].sizes());
        CHECK(got[k].to_vector<double>() == want[k].to(dtype).to_vector<double>());
      }
    }
}

}  // namespace

TEST_CASE("convolutions with 64-bit indices") {
  const int64_t far = 3'000'000'000;
  compare(
      [=](const Tensor& x, const Tensor& w, const Tensor& b) {
        return conv2d(x, w, b, {1, far}, {1, 0}, {2, 1});
      },
      {draw({2, 3, 7, 6}, 1), draw({5, 3, 2, 3}, 2), draw({5}, 3)});
  compare(
      [=](const Tensor& x, const Tensor& w, const Tensor& b) {
        return conv_transpose2d(x, w, b, {2, far}, {1, 0});
      },
      {draw({2, 4, 5, 1}, 4), draw({4, 3, 3, 2}, 5), draw({3}, 6)});
}

TEST_CASE("1x1 convolutions are products, with and without a bias and in groups") {
  for (const Shape& x : {Shape{2, 3, 7, 6}, Shape{1, 8, 1, 1}, Shape{3, 1, 5, 33}}) {
    const int64_t c = x[1];
    compare([](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d(x, w, b); },
            {draw(x, 1), draw({5, c, 1, 1}, 2), draw({5}, 3)});
    compare([](const Tensor& x, const Tensor& w, const Tensor& b) { return conv_transpose2d(x, w, b); },
            {draw(x, 4), draw({c, 4, 1, 1}, 5), draw({4}, 6)});
    compare([](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d(x, w) + b.sum(); },
            {draw(x, 7), draw({2, c, 1, 1}, 8), draw({1}, 9)});
  }
  compare([](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d(x, w, b, 1, 0, 1, 2); },
          {draw({2, 4, 3, 5}, 1), draw({6, 2, 1, 1}, 2), draw({6}, 3)});
}
