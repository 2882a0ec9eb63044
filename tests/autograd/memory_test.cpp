#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/allocator.h>

#include <thread>

using namespace tantu;

namespace {

int64_t allocated() {
  return cpu_allocator().stats().allocated;
}

struct Net {
  Tensor w1 = ones({16, 32}, {.requires_grad = true}), w2 = ones({32, 1}, {.requires_grad = true});

  Tensor loss(const Tensor& x) const { return sum(matmul(relu(matmul(x, w1)), w2)); }
  void step() {
    NoGradGuard no_grad;
    for (Tensor* w : {&w1, &w2}) {
      w->sub_(w->grad(), 0.001);
      w->set_grad({});
    }
  }
};

}  // namespace

TEST_CASE("memory is flat over training steps") {
  Net net;
  const Tensor x = ones({8, 16});
  int64_t after_first = 0;
  for (int step = 0; step < 50; ++step) {
    net.loss(x).backward();
    net.step();
    if (step == 0) after_first = allocated();
    CHECK(allocated() == after_first);
  }
}

TEST_CASE("backward frees what was saved, as it goes and at its end, though the loss lives on") {
  Tensor x = ones({1000}, {.requires_grad = true});
  const int64_t empty = allocated();
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = exp(y * 0.01);
  Tensor loss = y.sum();
  y = Tensor();
  const int64_t held = allocated() - empty;
  CHECK(held > 100 * 4000);
  cpu_allocator().reset_peak();
  loss.backward();
  CHECK(cpu_allocator().stats().max_allocated < empty + held + 10 * 4096);
  CHECK(allocated() <= empty + 2 * 4096);  // the gradient and the loss
}

TEST_CASE("in-place writes and views leave no cycle behind") {
  const int64_t before = allocated();
  for (const bool run_backward : {false, true}) {
    Tensor x = ones({4, 4}, {.requires_grad = true}), w = ones({4}, {.requires_grad = true});
    Tensor y = x * 1;
    y[0].mul_(w);
    Tensor v = y.view({16});
    v.mul_(v.sum());
    y.t()[1].copy_(w);
    y.div_(w);
    Tensor z = y;
    z.mul_(z.sum());
    if (run_backward) z.sum().backward();
  }
  CHECK(allocated() == before);
}

TEST_CASE("a tensor written after it was saved does not keep its own history alive") {
  const int64_t before = allocated();
  {
    Tensor x = ones({100}, {.requires_grad = true});
    Tensor y = x * 2;
    y.add_(y * y);  // saved y before it got this history
    Tensor constant = ones({100});
    constant.add_(x * constant);  // saved before it required a gradient at all
    const Tensor plain = exp(x);
    Tensor v = plain.view({10, 10});
    v.mul_(v * plain.view({10, 10}));
  }
  CHECK(allocated() == before);
}

TEST_CASE("a failed backward leaves nothing behind") {
  const int64_t before = allocated();
  {
    Tensor x = ones({100}, {.requires_grad = true});
    Tensor y = exp(x);
    const Tensor z = (y * y).sum();
    y.add_(1);
    CHECK_THROWS_AS(z.backward(), AutogradError);
    CHECK(!x.grad().defined());
  }
  CHECK(allocated() == before);
}

TEST_CASE("threads run graphs of their own, and may share leaves") {
  const int64_t before = allocated();
  {
    Tensor shared = ones({64}, {.requires_grad = true});
    std::vector<std::thread> threads;
    std::vector<int> right(4);
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          Tensor own = ones({64}, {.requires_grad = true});
          sum(own * own * (t + 1) + shared).backward();
          right[static_cast<size_t>(t)] += own.grad()[0].item<float>() == 2.0f * static_cast<float>(t + 1);
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(right == std::vector<int>{200, 200, 200, 200});
    CHECK(shared.grad()[5].item<float>() == 800);
  }
  CHECK(allocated() == before);
}

TEST_CASE("grad mode belongs to its thread") {
  NoGradGuard no_grad;
  bool other = false;
  std::thread([&] { other = is_grad_enabled(); }).join();
  CHECK(other);
}
