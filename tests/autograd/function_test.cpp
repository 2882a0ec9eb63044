#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/function.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>

using namespace tantu;
using autograd::AutogradContext;

namespace {

using Values = std::vector<double>;

Tensor leaf(const NestedList& values) {
  return tensor(values, {.dtype = kFloat64, .requires_grad = true});
}
Values of(const Tensor& t) {
  return t.to_vector<double>();
}

struct Cube : autograd::Function<Cube> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double scale) {
    CHECK(!is_grad_enabled());
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return x * x * x * scale;
  }
  static TensorList backward(AutogradContext* ctx, const TensorList& grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x * std::any_cast<double>(ctx->saved_data["scale"]), Tensor()};
  }
};

// Saves its result, has two outputs of which one is not differentiable, takes a list.
struct ExpAndSum : autograd::Function<ExpAndSum> {
  static TensorList forward(AutogradContext* ctx, const TensorList& x, int64_t times) {
    const Tensor y = exp(x[0] + x[1]), index = tensor({times});
    ctx->save_for_backward({y});
    ctx->mark_non_differentiable({index});
    return {y, index};
  }
  static TensorList backward(AutogradContext* ctx, const TensorList& grads) {
    const Tensor g = grads[0] * ctx->get_saved_variables()[0];
    return {ctx->needs_input_grad(0) ? g : Tensor(), ctx->needs_input_grad(1) ? g : Tensor(), Tensor()};
  }
};

struct Double_ : autograd::Function<Double_> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static TensorList backward(AutogradContext*, const TensorList& grads) { return {grads[0] * 2}; }
};

struct Wrong : autograd::Function<Wrong> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double, int how) {
    ctx->saved_data["how"] = how;
    return x * 1;
  }
  static TensorList backward(AutogradContext* ctx, const TensorList& grads) {
    if (std::any_cast<int>(ctx->saved_data["how"]) == 0) return {grads[0]};
    return {grads[0], grads[0], Tensor()};
  }
};

struct Through : autograd::Function<Through> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static TensorList backward(AutogradContext*, const TensorList& grads) { return {-grads[0]}; }
};

struct Undefined : autograd::Function<Undefined> {
  static TensorList forward(AutogradContext* ctx, const Tensor& x) {
    ctx->set_materialize_grads(false);
    return {x * 1, x * 2};
  }
  static TensorList backward(AutogradContext*, const TensorList& grads) {
    CHECK(grads[0].defined());
    CHECK(!grads[1].defined());
    return {grads[0]};
  }
};

}  // namespace

TEST_CASE("a custom function gives its own gradient, of every order") {
  Tensor x = leaf({1, 2, -1.5});
  const Tensor y = Cube::apply(x, 2.0);
  CHECK(y.grad_fn_name() == "Cube");
  y.sum().backward();
  CHECK(of(x.grad()) == Values{6, 24, 13.5});
  const auto fn = [](const TensorList& in) { return TensorList{Cube::apply(in[0], 0.5)}; };
  CHECK(gradcheck(fn, {x}));
  CHECK(gradgradcheck(fn, {x}));
}

TEST_CASE("nothing is recorded where nothing requires grad") {
  CHECK(!Cube::apply(ones({2}), 1.0).requires_grad());
  Tensor x = leaf({1});
  NoGradGuard no_grad;
  CHECK(!Cube::apply(x, 1.0).requires_grad());
}

TEST_CASE("lists, saved results, non-differentiable outputs and unasked inputs") {
  Tensor a = leaf({0.5, 1});
  const Tensor b = tensor({1, 1}, {.dtype = kFloat64});
  const TensorList y = ExpAndSum::apply(TensorList{a, b}, int64_t{3});
  CHECK(y[0].requires_grad());
  CHECK(!y[1].requires_grad());
  y[0].sum().backward();
  CHECK(of(a.grad()) == of(y[0]));
}

TEST_CASE("a saved tensor that is overwritten, and a second backward, are found") {
  Tensor x = leaf({1});
  Tensor middle = x * 1;
  const Tensor y = Cube::apply(middle, 1.0);
  middle.add_(1);
  CHECK_THROWS_WITH(y.backward(),
                    Catch::Contains("Cube: one of the variables needed for gradient computation has been modified"));
  const Tensor z = Cube::apply(x, 1.0);
  z.backward();
  CHECK_THROWS_WITH(z.backward(), Catch::Contains("Cube: Trying to backward through the graph a second time"));
}

TEST_CASE("an input changed in place becomes the result") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  const Tensor z = Double_::apply(y);
  CHECK(z.is_same(y));
  CHECK(of(y) == Values{6, 12});
  y.sum().backward();
  CHECK(of(x.grad()) == Values{6, 6});

  x.set_grad({});
  Tensor base = x * 1;
  Double_::apply(base[0]);
  base.sum().backward();
  CHECK(of(x.grad()) == Values{2, 1});

  CHECK_THROWS_WITH(Double_::apply(x),
                    Catch::Contains("a leaf Variable that requires grad is being used in an in-place operation"));
}

TEST_CASE("an input handed through is a tensor of its own on the tape") {
  Tensor x = leaf({1, 2});
  const Tensor y = Through::apply(x);
  CHECK(!y.is_same(x));
  y.sum().backward();
  CHECK(of(x.grad()) == Values{-1, -1});
}

TEST_CASE("wrong results of backward are named") {
  Tensor x = leaf({1});
  CHECK_THROWS_WITH(Wrong::apply(x, 1.0, 0).backward(),
                    Catch::Contains("Wrong: returned an incorrect number of gradients (expected 3, got 1)"));
  CHECK_THROWS_WITH(
      Wrong::apply(x, 1.0, 1).backward(),
      Catch::Contains(
          "Wrong: returned a gradient at position 1, but the corresponding forward input was not a Tensor"));
}

TEST_CASE("gradients nobody has may stay undefined") {
  Tensor x = leaf({1});
  Undefined::apply(x)[0].backward();
  CHECK(of(x.grad()) == Values{1});
}

TEST_CASE("save_for_backward may be called once") {
  struct Twice : autograd::Function<Twice> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({});
      ctx->save_for_backward({x});
      return x * 2;
    }
    static TensorList backward(AutogradContext*, const TensorList& grads) { return {grads[0] * 2}; }
  };
  CHECK_THROWS_WITH(Twice::apply(leaf({1})), Catch::Contains("save_for_backward: was called before"));
}
