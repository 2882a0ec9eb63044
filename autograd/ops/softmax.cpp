#include <tantu/autograd/ops/softmax.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/softmax.h>

namespace tantu {

namespace {

Tensor softmax_gradient(const char* op, const Tensor& g, const Tensor& y, int dim, bool log) {
  if (is_grad_enabled()) return log ? g - exp(y) * sum(g, dim, true) : y * (g - sum(g * y, dim, true));
  Tensor dx = make_tensor(op, y.sizes(), y.dtype(), y.device());
  on_device(y.device(), op, [&](auto& ctx) { softmax_backward(ctx, g.in(), y.in(), dx.out(), dim, log); });
  return dx;
}

Tensor softmax_along(const char* op, const char* grad_name, const Tensor& input, int64_t axis,
                     std::optional<DType> dtype, bool log) {
  const Tensor x = dtype ? input.to(*dtype) : input;
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "{}: not implemented for {}; give a floating dtype", op, x.dtype());
  const int dim = wrap_dim(op, axis, x.sizes().size());
  Tensor y = make_tensor(op, x.sizes(), x.dtype(), x.device());
  on_device(x.device(), op, [&](auto& ctx) { softmax_forward(ctx, x.in(), y.out(), dim, log); });
  if (tape::wants(x))
    tape::record(grad_name, {&y}, {x}, {tape::Saved::output(y)}, [op, dim, log](tape::Backward& b) {
      return TensorList{softmax_gradient(op, b.grad(), b.saved(0), dim, log)};
    });
  return y;
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype, Site at) {
  tape::Op op("softmax", at);
  return softmax_along("softmax", "SoftmaxBackward0", x, dim, dtype, false);
}

Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype, Site at) {
  tape::Op op("log_softmax", at);
  return softmax_along("log_softmax", "LogSoftmaxBackward0", x, dim, dtype, true);
}

Tensor logsumexp(const Tensor& input, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("logsumexp", at);
  const Tensor x = is_floating(input.dtype()) ? input : input.to(kFloat32);
  const ReducedDims r("logsumexp", x, dims);
  Tensor y = make_tensor("logsumexp", r.shape(keepdim), x.dtype(), x.device());
  if (y.numel() > 0)
    on_device(x.device(), "logsumexp", [&](auto& ctx) { logsumexp_last(ctx, r.x.in(), r.out(y), r.reduced); });
  if (tape::wants(x))
    tape::record("LogsumexpBackward0", {&y}, {x}, {tape::Saved(x), tape::Saved::output(y)},
                 [kept_dim = r.kept_dim](tape::Backward& b) {
                   return TensorList{b.grad().view(kept_dim) * exp(b.saved(0) - b.saved(1).view(kept_dim))};
                 });
  return y;
}

Tensor Tensor::softmax(int64_t dim, Site at) const {
  return tantu::softmax(*this, dim, {}, at);
}
Tensor Tensor::log_softmax(int64_t dim, Site at) const {
  return tantu::log_softmax(*this, dim, {}, at);
}
Tensor Tensor::logsumexp(const Axes& dims, bool keepdim, Site at) const {
  return tantu::logsumexp(*this, dims, keepdim, at);
}

}  // namespace tantu
