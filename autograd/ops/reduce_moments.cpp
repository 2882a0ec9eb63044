#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/variance.h>
#include <tantu/kernels/vector_norm.h>

#include <cmath>
#include <limits>

namespace tantu {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor variance(const char* op, const ReducedDims& r, const Tensor& x, double correction, bool keepdim, bool root) {
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "{}: std and var only support floating point dtypes, but got {}", op,
              x.dtype());
  Tensor y = make_tensor(op, r.shape(keepdim), x.dtype(), x.device());
  if (y.numel() > 0)
    on_device(x.device(), op,
              [&](auto& ctx) { variance_last(ctx, std::as_const(r.x).in(), r.out(y), r.reduced, correction, root); });
  return y;
}

// 2 g (x - mean) / (n - correction), g with the reduced dimensions.
Tensor var_backward(const Tensor& g, const Tensor& x, const Dims& dims, double degrees) {
  const Tensor centred = x - mean(x, dims, true);
  if (degrees <= 0) return g * where(centred == 0, std::nan(""), kInf);
  return g * (2 / degrees) * centred;
}

Tensor norm_backward(const Tensor& g, const Tensor& x, const Tensor& y, const Dims& dims, double p) {
  if (p == 1) return g * sign(x);
  if (std::isinf(p)) {
    const Tensor reached = abs(x) == y;
    return where(reached, sign(x) * (g / sum(reached.to(g.dtype()), dims, true)), 0);
  }
  // Where the norm is 0, dividing by infinity makes the gradient 0.
  if (p == 2) return x * (g / where(y == 0, kInf, y));
  const Tensor is_zero = x == 0, power = pow(where(is_zero, 1, abs(x)), p - 1);
  return where(is_zero, 0, sign(x) * power * (g / where(y == 0, kInf, pow(y, p - 1))));
}

}  // namespace

Tensor var(const Tensor& x, const Axes& dims, double correction, bool keepdim, Site at) {
  tape::Op op("var", at);
  const ReducedDims r("var", x, dims);
  Tensor y = variance("var", r, x, correction, keepdim, false);
  if (tape::wants(x))
    tape::record(
        "VarBackward0", {&y}, {x}, {tape::Saved(x)},
        [dims = r.dims, kept_dim = r.kept_dim, degrees = static_cast<double>(r.count) - correction](tape::Backward& b) {
          return TensorList{var_backward(b.grad().view(kept_dim), b.saved(0), dims, degrees)};
        });
  return y;
}

Tensor std(const Tensor& x, const Axes& dims, double correction, bool keepdim, Site at) {
  tape::Op op("std", at);
  const ReducedDims r("std", x, dims);
  Tensor y = variance("std", r, x, correction, keepdim, true);
  if (tape::wants(x))
    tape::record(
        "StdBackward0", {&y}, {x}, {tape::Saved(x), tape::Saved::output(y)},
        [dims = r.dims, kept_dim = r.kept_dim, degrees = static_cast<double>(r.count) - correction](tape::Backward& b) {
          const Tensor y = b.saved(1), g = b.grad() / (2 * where(y == 0, kInf, y));
          return TensorList{var_backward(g.view(kept_dim), b.saved(0), dims, degrees)};
        });
  return y;
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& dims, double correction, bool keepdim, Site at) {
  tape::Op op("var_mean", at);
  return {var(x, dims, correction, keepdim), mean(x, dims, keepdim)};
}

std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& dims, double correction, bool keepdim, Site at) {
  tape::Op op("std_mean", at);
  return {std(x, dims, correction, keepdim), mean(x, dims, keepdim)};
}

Tensor norm(const Tensor& x, double p, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("norm", at);
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "norm: Expected a floating point tensor as input. Got {}", x.dtype());
  const ReducedDims r("norm", x, dims);
  TANTU_CHECK(r.count > 0 || (p >= 0 && p != kInf), ShapeError,
              "norm: cannot compute the {} norm on an empty tensor because the operation does not have an identity", p);
  Tensor y = make_tensor("norm", r.shape(keepdim), x.dtype(), x.device());
  if (y.numel() > 0)
    on_device(x.device(), "norm",
              [&](auto& ctx) { vector_norm_last(ctx, std::as_const(r.x).in(), r.out(y), r.reduced, p); });
  if (tape::wants(x))
    tape::record(
        "LinalgVectorNormBackward0", {&y}, {x}, {tape::Saved(x), tape::Saved::output(y)},
        [dims = r.dims, kept_dim = r.kept_dim, p](tape::Backward& b) {
          if (p == 0) return TensorList{Tensor()};
          return TensorList{norm_backward(b.grad().view(kept_dim), b.saved(0), b.saved(1).view(kept_dim), dims, p)};
        });
  return y;
}

Tensor Tensor::var(const Axes& dims, double correction, bool keepdim, Site at) const {
  return tantu::var(*this, dims, correction, keepdim, at);
}
Tensor Tensor::std(const Axes& dims, double correction, bool keepdim, Site at) const {
  return tantu::std(*this, dims, correction, keepdim, at);
}
Tensor Tensor::norm(double p, const Axes& dims, bool keepdim, Site at) const {
  return tantu::norm(*this, p, dims, keepdim, at);
}

}  // namespace tantu
