#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

using namespace tantu;

namespace {

using Values = std::vector<double>;

Tensor leaf(const NestedList& values) {
  return tensor(values, {.dtype = kFloat64, .requires_grad = true});
}
Values of(const Tensor& t) {
  return t.to_vector<double>();
}

}  // namespace

TEST_CASE("gradients of leaves add up over consumers and over backwards") {
  Tensor x = leaf({1, 2, 3});
  (x * x + x * 2).sum().backward();
  CHECK(of(x.grad()) == Values{4, 6, 8});
  (x * 10).sum().backward();
  CHECK(of(x.grad()) == Values{14, 16, 18});
  x.set_grad({});
  CHECK(!x.grad().defined());
}

TEST_CASE("a root may be a leaf, appear twice, or be one of several") {
  Tensor x = leaf({2});
  x.backward();
  CHECK(of(x.grad()) == Values{1});
  const Tensor y = x * 3;
  backward({y, y, x}, {}, true);
  CHECK(of(x.grad()) == Values{1 + 3 + 3 + 1});
  backward({y, x}, {tensor({10}, {.dtype = kFloat64}), Tensor()});
  CHECK(of(x.grad()) == Values{8 + 30 + 1});
}

TEST_CASE("an explicit gradient weighs the elements") {
  Tensor x = leaf({1, 2});
  (x * x).backward(tensor({10, 100}, {.dtype = kFloat64}));
  CHECK(of(x.grad()) == Values{20, 400});
  CHECK_THROWS_WITH(
      (x * x).backward(ones({3}, {.dtype = kFloat64})),
      Catch::Contains("Mismatch in shape: grad_output[0] has a shape of [3] and output[0] has a shape of [2]"));
  // Another dtype is converted, as the root's own.
  x.set_grad({});
  (x * x).backward(tensor({1, 1}, {.dtype = kFloat32}));
  CHECK(of(x.grad()) == Values{2, 4});
}

TEST_CASE("intermediate tensors keep no gradient unless asked") {
  Tensor x = leaf({3});
  const Tensor y = x * 2, z = y * y;
  y.retain_grad();
  y.retain_grad();
  z.backward();
  CHECK(of(y.grad()) == Values{12});
  CHECK(!z.grad().defined());
  CHECK(x.is_leaf());
  CHECK(!y.is_leaf());
  CHECK(y.grad_fn_name() == "MulBackward0");
  CHECK(x.grad_fn_name().empty());
}

TEST_CASE("a retained gradient adds up and follows its tensor through an in-place write") {
  Tensor x = leaf({3});
  Tensor y = x * 2;
  y.retain_grad();
  y.mul_(5);
  const Tensor z = y * 7;
  z.backward({}, true);
  CHECK(of(y.grad()) == Values{7});  // of y as it is now, not of y before the write
  z.backward();
  CHECK(of(y.grad()) == Values{14});
  CHECK(of(x.grad()) == Values{140});
  y.set_grad({});
  CHECK(!y.grad().defined());
}

TEST_CASE("misuse of the tape is an error that names the operation") {
  Tensor x = leaf({1, 2});
  SECTION("backward twice") {
    const Tensor y = (x * x).sum();
    y.backward();
    CHECK_THROWS_AS(y.backward(), AutogradError);
    CHECK_THROWS_WITH(y.backward(),
                      Catch::Contains("MulBackward0: Trying to backward through the graph a second time") &&
                          Catch::Contains("engine_test.cpp:"));
  }
  SECTION("backward twice where nothing was saved is no misuse") {
    const Tensor y = (x + x).sum();
    y.backward();
    y.backward();
    CHECK(of(x.grad()) == Values{4, 4});
  }
  SECTION("a root of several elements") {
    CHECK_THROWS_WITH((x * 2).backward(), Catch::Contains("grad can be implicitly created only for scalar outputs"));
  }
  SECTION("a root without history") {
    CHECK_THROWS_WITH(zeros({}).backward(),
                      Catch::Contains("element 0 of tensors does not require grad and does not have a grad_fn"));
    CHECK_THROWS_WITH(backward({x.sum(), zeros({})}), Catch::Contains("element 1 of tensors"));
  }
  SECTION("a saved tensor is overwritten") {
    Tensor y = x * 1;
    const Tensor z = (y * y).sum();
    y.add_(1);
    CHECK_THROWS_AS(z.backward(), AutogradError);
    CHECK_THROWS_WITH(
        z.backward(),
        Catch::Contains("MulBackward0: one of the variables needed for gradient computation has been modified by "
                        "an inplace operation: float64 [2] is at version 1; expected version 0 instead"));
  }
  SECTION("a saved tensor is overwritten through a detached view") {
    Tensor y = x * 1;
    const Tensor z = (y * y).sum();
    Tensor d = y.detach()[0];
    d.fill_(0);
    CHECK_THROWS_WITH(z.backward(), Catch::Contains("modified by an inplace operation"));
  }
  SECTION("a saved result is overwritten") {
    Tensor y = exp(x);
    const Tensor z = y.sum();
    y.add_(1);
    CHECK_THROWS_WITH(z.backward(), Catch::Contains("ExpBackward0"));
  }
  SECTION("in place on a leaf, or on a view of one") {
    CHECK_THROWS_WITH(x.add_(1),
                      Catch::Contains("a leaf Variable that requires grad is being used in an in-place operation"));
    CHECK_THROWS_WITH(
        x[0].add_(1),
        Catch::Contains("a view of a leaf Variable that requires grad is being used in an in-place operation"));
    CHECK(of(x) == Values{1, 2});
    NoGradGuard no_grad;
    x.add_(1);
    x[0].add_(1);
    CHECK(of(x) == Values{3, 3});
  }
  SECTION("in place on a view that was made without grad") {
    Tensor v;
    {
      NoGradGuard no_grad;
      v = x[0];
    }
    CHECK_THROWS_WITH(
        v.add_(1),
        Catch::Contains("A view was created in no_grad mode and is being modified inplace with grad mode enabled"));
  }
  SECTION("in place on an expanded tensor") {
    Tensor e = zeros({1, 3}).expand({2, 3});
    CHECK_THROWS_WITH(
        e.add_(1),
        Catch::Contains("more than one element of the written-to tensor refers to a single memory location"));
  }
  SECTION("requires_grad of what cannot have one, or not any more") {
    CHECK_THROWS_WITH(zeros({2}, {.dtype = kInt64}).requires_grad_(),
                      Catch::Contains("only Tensors of floating point dtype can require gradients"));
    CHECK_THROWS_WITH((x * 2).requires_grad_(false),
                      Catch::Contains("you can only change requires_grad flags of leaf variables"));
    CHECK_THROWS_WITH(zeros({2}).retain_grad(),
                      Catch::Contains("can't retain_grad on Tensor that has requires_grad=False"));
    CHECK_THROWS_WITH(x.view({2, 1}).detach_(), Catch::Contains("Can't detach views in-place"));
  }
  SECTION("a gradient that does not look like its tensor") {
    CHECK_THROWS_AS(x.set_grad(zeros({3}, {.dtype = kFloat64})), ShapeError);
    CHECK_THROWS_AS(x.set_grad(zeros({2})), ShapeError);
  }
}

TEST_CASE("a backward function that returns nonsense is named") {
  Tensor x = leaf({1, 2});
  const auto node = [&](auto backward) {
    Tensor y = zeros({2}, {.dtype = kFloat64});
    tape::record("OddBackward0", {&y}, {x}, {}, backward);
    return y.sum();
  };
  CHECK_THROWS_WITH(
      node([](tape::Backward&) { return TensorList{zeros({3}, {.dtype = kFloat64})}; }).backward(),
      Catch::Contains(
          "OddBackward0: returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]"));
  CHECK_THROWS_WITH(node([](tape::Backward&) { return TensorList{zeros({1}, {.dtype = kFloat64})}; }).backward(),
                    Catch::Contains("returned an invalid gradient"));
  CHECK_THROWS_WITH(node([](tape::Backward&) { return TensorList(2); }).backward(),
                    Catch::Contains("OddBackward0: returned an incorrect number of gradients (expected 1, got 2)"));
  // A gradient that was broadcast is summed back, one of another dtype is converted.
  node([](tape::Backward&) { return TensorList{ones({4, 2})}; }).backward();
  CHECK(of(x.grad()) == Values{4, 4});
  CHECK(x.grad().dtype() == kFloat64);
}

TEST_CASE("grad() returns gradients and leaves grad() of the leaves alone") {
  Tensor x = leaf({2}), w = leaf({3}), unused = leaf({1});
  const Tensor y = x * w, z = y * y;
  const TensorList g = grad({z}, {x, y, w}, {}, true);
  CHECK(of(g[0]) == Values{36});
  CHECK(of(g[1]) == Values{12});
  CHECK(of(g[2]) == Values{24});
  CHECK(!x.grad().defined());
  CHECK(of(grad({z}, {z}, {}, true)[0]) == Values{1});
  CHECK(of(grad({z, y}, {x}, {}, true)[0]) == Values{39});
  CHECK_THROWS_WITH(grad({z}, {unused}, {}, true), Catch::Contains("appears to not have been used in the graph"));
  CHECK(!grad({z}, {unused}, {}, true, false, true)[0].defined());
  CHECK_THROWS_WITH(grad({z}, {zeros({1})}), Catch::Contains("does not require grad"));
  CHECK_THROWS_WITH(grad({z}, {x}, {z, z}), Catch::Contains("got 1 tensors and 2 gradients"));
}

TEST_CASE("grad() runs nothing that its inputs do not need") {
  Tensor x = leaf({2}), w = leaf({3});
  int runs = 0;
  bool asked_w = true;
  Tensor y = zeros({1}, {.dtype = kFloat64});
  tape::record("CountedBackward0", {&y}, {x, w}, {}, [&](tape::Backward& b) {
    ++runs;
    asked_w = b.needs(1);
    return TensorList{b.grad(), Tensor()};
  });
  const Tensor middle = y * 2, z = middle * 5;
  CHECK(of(grad({z}, {middle}, {}, true)[0]) == Values{5});
  CHECK(runs == 0);
  CHECK(of(grad({z}, {x}, {}, true)[0]) == Values{10});
  CHECK(runs == 1);
  CHECK(!asked_w);
  // What was not run can still be run: its saved tensors were not freed.
  const Tensor a = x * x, b = a * w;
  (void)grad({b.sum()}, {a});
  CHECK(of(grad({a.sum()}, {x})[0]) == Values{4});
}

TEST_CASE("hooks see the whole gradient once, in order, and may replace it") {
  Tensor x = leaf({1, 2});
  std::vector<std::string> calls;
  HookHandle first = register_hook(x, [&](const Tensor& g) {
    calls.push_back("first");
    CHECK(of(g) == Values{5, 5});
    return g * 2;
  });
  register_hook(x, [&](const Tensor& g) {
    calls.push_back("second");
    CHECK(of(g) == Values{10, 10});
    return Tensor();
  });
  register_post_accumulate_grad_hook(x, [&](const Tensor& t) {
    calls.push_back("after");
    CHECK(t.is_same(x));
    CHECK(of(t.grad()) == Values{10, 10});
  });
  (x * 2 + x * 3).sum().backward();
  CHECK(calls == std::vector<std::string>{"first", "second", "after"});
  first.remove();
  first.remove();
  calls.clear();
  x.set_grad({});
  CHECK_THROWS_AS(register_hook(zeros({1}), [](const Tensor&) { return Tensor(); }), AutogradError);
  CHECK_THROWS_AS(register_post_accumulate_grad_hook(x * 2, [](const Tensor&) {}), AutogradError);
}

TEST_CASE("a removed hook is not run, and a hook may remove itself") {
  Tensor x = leaf({1});
  int runs = 0;
  HookHandle handle;
  handle = register_hook(x, [&](const Tensor&) {
    ++runs;
    handle.remove();
    return Tensor();
  });
  x.sum().backward();
  x.sum().backward();
  CHECK(runs == 1);
}

TEST_CASE("a hook of an intermediate tensor changes what goes on from there") {
  Tensor x = leaf({3});
  const Tensor y = x * 2;
  y.retain_grad();
  register_hook(y, [](const Tensor& g) { return g * 100; });
  (y * 5).backward();
  CHECK(of(y.grad()) == Values{500});
  CHECK(of(x.grad()) == Values{1000});
  const Tensor z = x * 2;
  register_hook(z, [](const Tensor&) { return zeros({2}, {.dtype = kFloat64}); });
  CHECK_THROWS_WITH(z.backward(),
                    Catch::Contains("the hook has changed the gradient from float64 [1] on cpu to float64 [2] on cpu"));
}

TEST_CASE("a hook registered before an in-place write belongs to the tensor as it was") {
  Tensor x = leaf({3});
  Tensor y = x * 1;
  Values before, after;
  register_hook(y, [&](const Tensor& g) {
    before = of(g);
    return Tensor();
  });
  y.mul_(4);
  register_hook(y, [&](const Tensor& g) {
    after = of(g);
    return Tensor();
  });
  (y * 10).backward();
  CHECK(after == Values{10});
  CHECK(before == Values{40});
}

TEST_CASE("hooks run in reverse order of the forward pass") {
  Tensor a = leaf({1}), b = leaf({1}), c = leaf({1});
  std::string order;
  for (auto& [t, name] : {std::pair(&a, "a"), std::pair(&b, "b"), std::pair(&c, "c")})
    register_post_accumulate_grad_hook(*t, [&order, name = name](const Tensor&) { order += name; });
  const Tensor y = a * 2;
  const Tensor z = y * b;
  const Tensor v = z * c;
  v.backward();
  CHECK(order == "cba");
}

TEST_CASE("backward may run inside a hook") {
  Tensor x = leaf({3}), other = leaf({5});
  register_hook(x, [&](const Tensor&) {
    EnableGradGuard grad_mode;  // hooks run as backward does: without it, unless it creates a graph
    (other * other).backward();
    return Tensor();
  });
  (x * x).backward();
  CHECK(of(x.grad()) == Values{6});
  CHECK(of(other.grad()) == Values{10});
}

TEST_CASE("create_graph gives gradients of every order") {
  Tensor x = leaf({2});
  Tensor d = x * x * x * x;
  for (const double wanted : {32.0, 48.0, 48.0, 24.0}) {
    d = grad({d}, {x}, {}, false, true)[0];
    CHECK(of(d) == Values{wanted});
  }
  Tensor y = leaf({2});
  (y * y * y).backward({}, false, true);
  CHECK(y.grad().requires_grad());
  const Tensor g = y.grad();
  y.set_grad({});
  g.backward();
  CHECK(of(y.grad()) == Values{12});
}

TEST_CASE("without create_graph a gradient has no history, and backward records nothing") {
  Tensor x = leaf({2});
  (x * x).backward();
  CHECK(!x.grad().requires_grad());
  CHECK(is_grad_enabled());
}

TEST_CASE("nothing is recorded under NoGradGuard and InferenceMode") {
  Tensor x = leaf({2});
  {
    NoGradGuard no_grad;
    CHECK(!is_grad_enabled());
    CHECK(!(x * x).requires_grad());
    {
      EnableGradGuard grad_again;
      CHECK((x * x).requires_grad());
    }
    CHECK(!is_grad_enabled());
  }
  {
    InferenceMode inference;
    CHECK(is_inference_mode());
    CHECK(!(x * x).requires_grad());
    CHECK(!x.view({1}).requires_grad());
  }
  CHECK(!is_inference_mode());
  CHECK((x * x).requires_grad());
}

TEST_CASE("detach cuts the history and shares elements and version") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2, d = y.detach();
  CHECK(!d.requires_grad());
  CHECK(d.is_leaf());
  CHECK(d.data_ptr() == y.data_ptr());
  d.add_(1);
  CHECK(y.version() == 1);
  CHECK(of(y) == Values{3, 5});
  y.detach_();
  CHECK(!y.requires_grad());
}

TEST_CASE("a leaf that stops requiring grad after the forward pass gets none") {
  Tensor x = leaf({2});
  const Tensor y = x * x;
  x.requires_grad_(false);
  y.backward();
  CHECK(!x.grad().defined());
}

TEST_CASE("the first gradient of a leaf lies in memory as PyTorch's does") {
  const auto strides_of_gradient = [](Tensor x, const Tensor& g) {
    x.requires_grad_();
    x.backward(g);
    return x.grad().strides();
  };
  const TensorOptions f64{.dtype = kFloat64};
  const Tensor g = ones({2, 3}, f64), transposed = ones({3, 2}, f64).t();
  CHECK(strides_of_gradient(zeros({2, 3}, f64), g) == Strides{3, 1});
  CHECK(strides_of_gradient(zeros({2, 3}, f64), transposed) == Strides{3, 1});
  CHECK(strides_of_gradient(zeros({3, 2}, f64).t(), g) == Strides{1, 2});
  CHECK(strides_of_gradient(zeros({3, 2}, f64).t(), transposed) == Strides{1, 2});
  CHECK(strides_of_gradient(zeros({2, 6}, f64).slice(1, 0, 6, 2), g) == Strides{3, 1});
  CHECK(strides_of_gradient(zeros({1, 3}, f64).expand({2, 3}), transposed) == Strides{3, 1});
}

TEST_CASE("a gradient never shares memory with another tensor the user can write to") {
  Tensor a = leaf({1, 2}), b = leaf({3, 4});
  Tensor v = ones({2}, {.dtype = kFloat64});
  (a + b).backward(v);
  CHECK(a.grad().data_ptr() != b.grad().data_ptr());
  CHECK(a.grad().data_ptr() != v.data_ptr());
  CHECK(b.grad().data_ptr() != v.data_ptr());
  a.grad().zero_();
  CHECK(of(b.grad()) == Values{1, 1});
  CHECK(of(v) == Values{1, 1});
  Tensor c = leaf({1, 2});
  c.view({2, 1}).view({2}).backward(v);
  CHECK(c.grad().data_ptr() != v.data_ptr());
}

TEST_CASE("gradients of expanded and broadcast tensors are summed") {
  Tensor x = leaf({{1}, {2}}), s = leaf(3);
  (x.expand({2, 3}) * s).sum().backward();
  CHECK(of(x.grad()) == Values{9, 9});
  CHECK(of(s.grad()) == Values{9});
}

TEST_CASE("an unused output of an operation counts as zero") {
  Tensor x = leaf({1, 2});
  Tensor first = zeros({2}, {.dtype = kFloat64}), second = zeros({3}, {.dtype = kFloat64});
  bool arrived = true;
  tape::record("TwoBackward0", {&first, &second}, {x}, {}, [&](tape::Backward& b) {
    arrived = b.has_grad(1);
    CHECK(of(b.grad(1)) == Values{0, 0, 0});
    return TensorList{b.grad(0)};
  });
  first.sum().backward();
  CHECK(!arrived);
  CHECK(of(x.grad()) == Values{1, 1});
}

TEST_CASE("empty hooks and a tensor as its own gradient are refused where they are given") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_WITH(register_hook(x, std::function<Tensor(const Tensor&)>()),
                    Catch::Contains("register_hook: the function is empty"));
  CHECK_THROWS_AS(register_post_accumulate_grad_hook(x, std::function<void(const Tensor&)>()), ValueError);
  x.sum().backward();
  CHECK(of(x.grad()) == Values{1, 1});
  CHECK_THROWS_WITH(x.set_grad(x), Catch::Contains("can't assign Variable as its own grad"));
  CHECK(of(x.grad()) == Values{1, 1});
}

TEST_CASE("an in-place misuse is told under the in-place name") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_WITH(x.add_(1), Catch::StartsWith("add_: a leaf Variable"));
}
