#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/allocator.h>

#include <chrono>

using namespace tantu;

namespace {

constexpr int kOperations = 1000000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Tensor chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kOperations; ++i) y = y + 1;
  return y;
}

}  // namespace

TEST_CASE("a chain of a million operations neither overflows the stack in backward nor when it is dropped") {
  const int64_t before = cpu_allocator().stats().allocated;
  {
    Tensor x = tensor({1.0f}, {.requires_grad = true});
    auto start = std::chrono::steady_clock::now();
    Tensor y = chain(x);
    const double forward = seconds_since(start);
    CHECK(y.item<float>() == kOperations + 1.0f);
    start = std::chrono::steady_clock::now();
    y.backward();
    const double backward = seconds_since(start);
    CHECK(x.grad().item<float>() == 1);
    start = std::chrono::steady_clock::now();
    y = Tensor();
    WARN("1,000,000 operations: forward " << forward << " s, backward " << backward << " s, drop "
                                          << seconds_since(start) << " s");
  }
  CHECK(cpu_allocator().stats().allocated == before);
}

TEST_CASE("a chain that never sees backward is dropped without recursion") {
  const int64_t before = cpu_allocator().stats().allocated;
  { (void)chain(tensor({1.0f}, {.requires_grad = true})); }
  CHECK(cpu_allocator().stats().allocated == before);
}

TEST_CASE("a chain whose links are saved tensors and views is dropped without recursion") {
  const int64_t before = cpu_allocator().stats().allocated;
  {
    Tensor x = tensor({1.0f, 2.0f}, {.requires_grad = true}), y = x;
    for (int i = 0; i < kOperations / 10; ++i) y = (y * y).view({2, 1}).view({2}) * 0.5;
  }
  CHECK(cpu_allocator().stats().allocated == before);
}

TEST_CASE("a wide graph: one tensor with a hundred thousand consumers") {
  Tensor x = tensor({2.0}, {.dtype = kFloat64, .requires_grad = true});
  TensorList parts;
  for (int i = 0; i < kOperations / 10; ++i) parts.push_back(x * 2);
  backward(parts);
  CHECK(x.grad().item<double>() == kOperations / 10 * 2);
}
