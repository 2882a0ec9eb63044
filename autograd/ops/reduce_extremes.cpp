#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/arg_reduce.h>
#include <tantu/kernels/reduce.h>

namespace tantu {

namespace {

Tensor extreme(const char* op, const ReducedDims& r, const Tensor& x, bool keepdim, Reduce what) {
  Tensor y = make_tensor(op, r.shape(keepdim), x.dtype(), x.device());
  if (y.numel() > 0)
    on_device(x.device(), op, [&](auto& ctx) { reduce_last(ctx, std::as_const(r.x).in(), r.out(y), r.reduced, what); });
  return y;
}

// Over everything: a NaN result passes its gradient to the NaNs.
Tensor extreme_of_all(const char* op, const char* grad_name, const Tensor& x, Reduce what) {
  const ReducedDims r(op, x, {});
  r.check_not_empty(op, {});
  Tensor y = extreme(op, r, x, false, what);
  if (tape::wants(x))
    tape::record(grad_name, {&y}, {x}, {tape::Saved(x), tape::Saved::output(y)}, [](tape::Backward& b) {
      const Tensor x = b.saved(0), equal = logical_or(x == b.saved(1), isnan(x)).to(x.dtype());
      return TensorList{equal * (b.grad() / sum(equal))};
    });
  return y;
}

Tensor extreme_over(const char* op, const char* grad_name, const Tensor& x, const Axes& dims, bool keepdim,
                    Reduce what) {
  const ReducedDims r(op, x, dims);
  r.check_not_empty(op, dims);
  Tensor y = extreme(op, r, x, keepdim, what);
  if (tape::wants(x))
    tape::record(
        grad_name, {&y}, {x}, {tape::Saved(x), tape::Saved::output(y)},
        [dims = r.dims, kept_dim = r.kept_dim](tape::Backward& b) {
          return TensorList{shared_backward(b.grad().view(kept_dim), b.saved(0), b.saved(1).view(kept_dim), dims)};
        });
  return y;
}

std::pair<Tensor, Tensor> extreme_along(const char* op, const char* grad_name, const Tensor& x, int64_t dim,
                                        bool keepdim, bool largest) {
  const ReducedDims r(op, x, dim);
  r.check_not_empty(op, dim);
  Tensor values = make_tensor(op, r.shape(keepdim), x.dtype(), x.device());
  Tensor indices = make_tensor(op, r.shape(keepdim), kInt64, x.device());
  if (values.numel() > 0)
    on_device(x.device(), op, [&](auto& ctx) {
      arg_reduce_last(ctx, std::as_const(r.x).in(), r.out(values), r.out(indices), r.reduced, largest);
    });
  if (tape::wants(x))
    tape::record(grad_name, {&values}, {x}, {tape::Saved(indices)},
                 [d = r.dims.empty() ? 0 : static_cast<int>(r.dims[0]), sizes = x.sizes(), keepdim](tape::Backward& b) {
                   return TensorList{selected_backward(b.grad(), b.saved(0), d, sizes, keepdim)};
                 });
  return {values, indices};
}

Tensor where_extreme(const char* op, const Tensor& x, std::optional<int64_t> dim, bool keepdim, bool largest) {
  TANTU_CHECK(x.dtype() != kBool, DTypeError, "{}: does not support bool input", op);
  const Axes axes = dim ? Axes(*dim) : Axes();
  const ReducedDims r(op, x, axes);
  r.check_not_empty(op, axes);
  Tensor indices = make_tensor(op, r.shape(keepdim), kInt64, x.device());
  View none = r.out(indices);
  none.data = nullptr;
  if (indices.numel() > 0)
    on_device(x.device(), op, [&](auto& ctx) {
      arg_reduce_last(ctx, std::as_const(r.x).in(), none, r.out(indices), r.reduced, largest);
    });
  return indices;
}

}  // namespace

Tensor max(const Tensor& x, Site at) {
  tape::Op op("max", at);
  return extreme_of_all("max", "MaxBackward1", x, Reduce::Max);
}

Tensor min(const Tensor& x, Site at) {
  tape::Op op("min", at);
  return extreme_of_all("min", "MinBackward1", x, Reduce::Min);
}

std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim, Site at) {
  tape::Op op("max", at);
  return extreme_along("max", "MaxBackward0", x, dim, keepdim, true);
}

std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim, Site at) {
  tape::Op op("min", at);
  return extreme_along("min", "MinBackward0", x, dim, keepdim, false);
}

Tensor amax(const Tensor& x, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("amax", at);
  return extreme_over("amax", "AmaxBackward0", x, dims, keepdim, Reduce::Max);
}

Tensor amin(const Tensor& x, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("amin", at);
  return extreme_over("amin", "AminBackward0", x, dims, keepdim, Reduce::Min);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim, Site at) {
  tape::Op op("argmax", at);
  return where_extreme("argmax", x, dim, keepdim, true);
}

Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim, Site at) {
  tape::Op op("argmin", at);
  return where_extreme("argmin", x, dim, keepdim, false);
}

Tensor Tensor::max(Site at) const {
  return tantu::max(*this, at);
}
Tensor Tensor::min(Site at) const {
  return tantu::min(*this, at);
}
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim, Site at) const {
  return tantu::max(*this, dim, keepdim, at);
}
std::pair<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim, Site at) const {
  return tantu::min(*this, dim, keepdim, at);
}
Tensor Tensor::amax(const Axes& dims, bool keepdim, Site at) const {
  return tantu::amax(*this, dims, keepdim, at);
}
Tensor Tensor::amin(const Axes& dims, bool keepdim, Site at) const {
  return tantu::amin(*this, dims, keepdim, at);
}
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim, Site at) const {
  return tantu::argmax(*this, dim, keepdim, at);
}
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim, Site at) const {
  return tantu::argmin(*this, dim, keepdim, at);
}

}  // namespace tantu
