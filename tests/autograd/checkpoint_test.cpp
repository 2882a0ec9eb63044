#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/checkpoint.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/allocator.h>

using namespace tantu;

namespace {

using Values = std::vector<double>;

Values of(const Tensor& t) {
  return t.to_vector<double>();
}

// A block with a parameter and a random mask, as dropout has one.
Tensor block(const Tensor& x, const Tensor& w) {
  Tensor mask = zeros(x.sizes());
  mask.uniform_();
  return exp(x * w * 0.1) * (mask < 0.5).to(kFloat32) + x * x * 0.01;
}

Tensor run(const Tensor& x, const Tensor& w, bool checkpointed) {
  manual_seed(7);
  Tensor y = x;
  for (int i = 0; i < 6; ++i) {
    const auto part = [w](const Tensor& in) { return block(block(in, w), w); };
    y = checkpointed ? checkpoint(part, y) : part(y);
  }
  return y.sum();
}

}  // namespace

TEST_CASE("a checkpointed run has bit-equal results and gradients, random masks included") {
  Values results[2], gx[2], gw[2];
  for (const int checkpointed : {0, 1}) {
    Tensor x = ones({300}, {.requires_grad = true}), w = full({300}, 0.5, {.requires_grad = true});
    const Tensor loss = run(x, w, checkpointed);
    const uint32_t next = default_generator().random();
    loss.backward();
    results[checkpointed] = {loss.item<double>(), static_cast<double>(next),
                             static_cast<double>(default_generator().random())};
    gx[checkpointed] = of(x.grad());
    gw[checkpointed] = of(w.grad());
  }
  CHECK(results[0] == results[1]);
  CHECK(gx[0] == gx[1]);
  CHECK(gw[0] == gw[1]);
}

TEST_CASE("a checkpointed run needs less memory at its peak") {
  int64_t peak[2];
  for (const int checkpointed : {0, 1}) {
    Tensor x = ones({100000}, {.requires_grad = true}), w = full({100000}, 0.5, {.requires_grad = true});
    const int64_t before = cpu_allocator().stats().allocated;
    cpu_allocator().reset_peak();
    run(x, w, checkpointed).backward();
    peak[checkpointed] = cpu_allocator().stats().max_allocated - before;
  }
  INFO("peak without " << peak[0] << " bytes, with " << peak[1]);
  CHECK(peak[1] < peak[0] * 6 / 10);
}

TEST_CASE("nothing outlives the graph of a checkpoint") {
  const int64_t before = cpu_allocator().stats().allocated;
  for (const bool run_backward : {false, true}) {
    Tensor x = ones({300}, {.requires_grad = true}), w = full({300}, 0.5, {.requires_grad = true});
    const Tensor loss = run(x, w, true);
    if (run_backward) loss.backward();
  }
  CHECK(cpu_allocator().stats().allocated == before);
}

TEST_CASE("grad(), retain_graph, create_graph and nesting work through checkpoints") {
  const auto square = [](const Tensor& x) { return x * x * exp(x); };
  const auto twice = [&](const Tensor& x) { return checkpoint(square, checkpoint(square, x) * 0.5); };
  const auto fn = [&](const TensorList& x) { return TensorList{checkpoint(twice, x[0])}; };
  Tensor x = tensor({0.3, -0.7}, {.dtype = kFloat64, .requires_grad = true});
  CHECK(gradcheck(fn, {x}));
  CHECK(gradgradcheck(fn, {x}));
  const Tensor y = fn({x})[0].sum(), plain = square(square(x) * 0.5).sum();
  const Values once = of(grad({y}, {x}, {}, true)[0]), again = of(grad({y}, {x})[0]);
  CHECK(once == of(grad({plain}, {x})[0]));
  CHECK(once == again);
  CHECK_THROWS_AS(y.backward(), AutogradError);
}

TEST_CASE("a function that does not do the same twice is found") {
  Tensor x = ones({4}, {.requires_grad = true});
  int calls = 0;
  const auto moody = [&calls](const Tensor& in) {
    return ++calls == 1 ? exp(in * 2) : (in * 2).narrow(0, 0, 2) * in.narrow(0, 0, 2);
  };
  CHECK_THROWS_WITH(checkpoint(moody, x).sum().backward(), Catch::Contains("checkpoint: "));
}

TEST_CASE("an input overwritten between the two runs is found") {
  Tensor x = ones({4}, {.requires_grad = true});
  Tensor in = x * 1;
  const Tensor y = checkpoint([](const Tensor& t) { return t * t; }, in).sum();
  in.add_(1);
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("modified by an inplace operation"));
}

TEST_CASE("without grad mode a checkpoint is a plain call") {
  NoGradGuard no_grad;
  Tensor x = ones({4}, {.requires_grad = true});
  CHECK(!checkpoint([](const Tensor& t) { return t * t; }, x).requires_grad());
}
