#include <tantu/autograd/ops/mask.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/index.h>
#include <tantu/autograd/ops/selection.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/copy.h>
#include <tantu/kernels/nonzero.h>

#include <numeric>

namespace tantu {

namespace {

// The value as a 0-dim tensor of x's dtype.
Tensor fill_value(const char* op, const Tensor& x, const Tensor& mask, const Operand& value) {
  TANTU_CHECK(mask.dtype() == kBool, DTypeError,
              "{}: masked_fill only supports boolean masks, but got mask with dtype {}", op, mask.dtype());
  tape::common_device(op, {{"self", &x}, {"mask", &mask}});
  if (!value.is_tensor())
    return full({}, value.scalar().checked(op, x.dtype()), {.dtype = x.dtype(), .device = x.device()});
  const Tensor& v = value.tensor();
  TANTU_CHECK(v.dim() == 0, ShapeError,
              "{}: masked_fill only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).", op,
              v.dim());
  return v.to(x.device(), x.dtype());
}

TensorList masked_fill_backward(tape::Backward& b) {
  const Tensor g = b.grad(), mask = b.saved(0);
  TensorList result(2);
  if (b.needs(0)) result[0] = masked_fill(g, mask, 0);
  if (b.needs(1)) result[1] = sum(where(mask, g, zeros({}, {.dtype = g.dtype(), .device = g.device()})));
  return result;
}

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value, Site at) {
  tape::Op op("masked_fill", at);
  const Tensor v = fill_value("masked_fill", x, mask, value);
  Tensor y;
  {
    NoGradGuard no_grad;
    y = where(mask, v, x);
  }
  if (tape::wants(x, v)) tape::record("MaskedFillBackward0", {&y}, {x, v}, {tape::Saved(mask)}, masked_fill_backward);
  return y;
}

Tensor& masked_fill_(Tensor& x, const Tensor& mask, const Operand& value, Site at) {
  tape::Op op("masked_fill_", at);
  tape::check_inplace("masked_fill_", x);
  const Tensor v = fill_value("masked_fill_", x, mask, value);
  const Shape shape = broadcast_shapes("masked_fill_", x.sizes(), mask.sizes());
  TANTU_CHECK(shape == x.sizes(), ShapeError, "masked_fill_: output with shape {} doesn't match the broadcast shape {}",
              x.sizes(), shape);
  {
    NoGradGuard no_grad;
    const Tensor filled = where(mask, v, x);
    if (x.numel() > 0) on_device(x.device(), "masked_fill_", [&](auto& ctx) { copy(ctx, filled.in(), x.out()); });
  }
  if (tape::wants(x, v) && is_floating(x.dtype()))
    tape::record_inplace("MaskedFillBackward0", x, {x, v}, {tape::Saved(mask)}, masked_fill_backward);
  else tape::written(x);
  return x;
}

Tensor masked_select(const Tensor& x, const Tensor& mask, Site at) {
  tape::Op op("masked_select", at);
  TANTU_CHECK(mask.dtype() == kBool, DTypeError, "masked_select: expected BoolTensor for mask, but got {}",
              mask.dtype());
  const Shape shape = broadcast_shapes("masked_select", x.sizes(), mask.sizes());
  return index(x.expand(shape), {mask.expand(shape)});
}

Tensor flat_nonzero(const Tensor& x) {
  Tensor positions;
  on_device(x.device(), "nonzero", [&](auto& ctx) {
    std::vector<int64_t> counts;
    nonzero_counts(ctx, x.in(), counts);
    positions = make_tensor("nonzero", {std::accumulate(counts.begin(), counts.end(), int64_t{0})}, kInt64, x.device());
    nonzero_positions(ctx, x.in(), counts, positions.out());
  });
  return positions;
}

Tensor nonzero(const Tensor& x, Site at) {
  tape::Op op("nonzero", at);
  const Tensor positions = flat_nonzero(x);
  if (x.dim() == 1) return positions.unsqueeze(1);
  Tensor y = make_tensor("nonzero", {positions.numel(), x.dim()}, kInt64, x.device());
  on_device(x.device(), "nonzero", [&](auto& ctx) { unravel(ctx, positions.in(), x.sizes(), y.out()); });
  return y;
}

Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value, Site at) const {
  return tantu::masked_fill(*this, mask, value, at);
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Operand& value, Site at) {
  return tantu::masked_fill_(*this, mask, value, at);
}
Tensor Tensor::nonzero(Site at) const {
  return tantu::nonzero(*this, at);
}

}  // namespace tantu
