#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/reduce.h>
#include <tantu/kernels/scan.h>

#include <algorithm>

namespace tantu {

namespace {

// Sums from the front, or with `reverse` from the back: each is the other's gradient.
Tensor running_sum(const Tensor& x, int dim, bool reverse) {
  Tensor y = make_tensor("cumsum", x.sizes(), is_integral(x.dtype()) ? kInt64 : x.dtype(), x.device());
  if (y.numel() > 0) on_device(x.device(), "cumsum", [&](auto& ctx) { cumsum(ctx, x.in(), y.out(), dim, reverse); });
  if (tape::wants(x))
    tape::record("CumsumBackward0", {&y}, {x}, {},
                 [dim, reverse](tape::Backward& b) { return TensorList{running_sum(b.grad(), dim, !reverse)}; });
  return y;
}

// Of each element, the product of all others along dim: exclusive scans from both ends in log n steps (Hillis, Steele
// 1986). Without a division, so zeros do no harm.
Tensor others_product(const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  if (n == 0) return ones_like(x);
  const Tensor one = ones_like(narrow(x, dim, 0, 1));
  Tensor before = cat({one, narrow(x, dim, 0, n - 1)}, dim), after = cat({narrow(x, dim, 1, n - 1), one}, dim);
  for (int64_t s = 1; s < n; s *= 2) {
    const int64_t rest = n - s;
    before = cat({narrow(before, dim, 0, s), narrow(before, dim, s, rest) * narrow(before, dim, 0, rest)}, dim);
    after = cat({narrow(after, dim, 0, rest) * narrow(after, dim, s, rest), narrow(after, dim, rest, s)}, dim);
  }
  return before * after;
}

Tensor prod_backward(const Tensor& g, const Tensor& x, const ReducedDims& r, const Axes& dims) {
  if (is_grad_enabled()) {
    const Tensor wide = is_half(x.dtype()) ? x.to(kFloat32) : x, line = dims.all() ? reshape(wide, {-1}) : wide;
    const Tensor others = reshape(others_product(line, dims.all() ? 0 : r.dims[0]), x.sizes());
    return (g.view(r.kept_dim).to(wide.dtype()) * others).to(x.dtype());
  }
  Tensor dx = make_tensor("prod", x.sizes(), x.dtype(), x.device());
  Tensor target = ReducedDims("prod", dx, dims).x;
  if (dx.numel() > 0)
    on_device(x.device(), "prod",
              [&](auto& ctx) { prod_backward_last(ctx, g.view(r.kept).in(), r.x.in(), target.out(), r.reduced); });
  return dx;
}

Tensor product(const Tensor& x, const Axes& dims, bool keepdim) {
  const ReducedDims r("prod", x, dims);
  Tensor y = make_tensor("prod", r.shape(keepdim), is_integral(x.dtype()) ? kInt64 : x.dtype(), x.device());
  if (y.numel() > 0)
    on_device(x.device(), "prod", [&](auto& ctx) { reduce_last(ctx, r.x.in(), r.out(y), r.reduced, Reduce::Prod); });
  if (tape::wants(x))
    tape::record(dims.all() ? "ProdBackward0" : "ProdBackward1", {&y}, {x}, {tape::Saved(x)},
                 [dims](tape::Backward& b) {
                   const Tensor x = b.saved(0);
                   if (x.dim() == 0) return TensorList{b.grad()};
                   return TensorList{prod_backward(b.grad(), x, ReducedDims("prod", x, dims), dims)};
                 });
  return y;
}

}  // namespace

Tensor prod(const Tensor& x, Site at) {
  tape::Op op("prod", at);
  return product(x, {}, false);
}

Tensor prod(const Tensor& x, int64_t dim, bool keepdim, Site at) {
  tape::Op op("prod", at);
  return product(x, dim, keepdim);
}

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype, Site at) {
  tape::Op op("cumsum", at);
  const int d = wrap_dim("cumsum", dim, x.sizes().size());
  return running_sum(dtype ? x.to(*dtype) : x, d, false);
}

Tensor Tensor::prod(Site at) const {
  return tantu::prod(*this, at);
}
Tensor Tensor::prod(int64_t dim, bool keepdim, Site at) const {
  return tantu::prod(*this, dim, keepdim, at);
}
Tensor Tensor::cumsum(int64_t dim, Site at) const {
  return tantu::cumsum(*this, dim, {}, at);
}

}  // namespace tantu
