#include <tantu/autograd/ops/dropout.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/random_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/core/generator.h>
#include <tantu/kernels/dropout.h>
#include <tantu/kernels/philox.h>

namespace tantu {

namespace {

// On a GPU no mask is kept: (seed, offset) draws it again. The derivative is the operation itself, on the gradient.
Tensor drop_from(const Tensor& x, double keep, uint64_t seed, uint64_t offset) {
  Tensor y = make_tensor("dropout", x.sizes(), x.dtype(), x.device());
  on_device(x.device(), "dropout", [&](auto& ctx) { dropout_from(ctx, x.in(), y.out(), keep, seed, offset); });
  if (tape::wants(x))
    tape::record("NativeDropoutBackward0", {&y}, {x}, {},
                 [=](tape::Backward& b) { return TensorList{drop_from(b.grad(), keep, seed, offset)}; });
  return y;
}

Tensor drop(const char* op, const Tensor& x, const Shape& mask_shape, double p, bool training) {
  TANTU_CHECK(p >= 0 && p <= 1, ValueError, "{}: dropout probability has to be between 0 and 1, but got {}", op, p);
  if (!training || p == 0 || x.numel() == 0) return x;
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "{}: expected a floating point input, but got {}", op, x.dtype());
  if (p == 1) {
    Tensor zero = zeros(x.sizes(), {.dtype = x.dtype(), .device = x.device()});
    if (tape::wants(x))
      tape::record("DropoutBackward0", {&zero}, {x}, {},
                   [](tape::Backward& b) { return TensorList{zeros_like(b.grad())}; });
    return zero;
  }
  if (!x.device().is_cpu() && mask_shape == x.sizes()) {
    Generator& generator = default_generator(x.device());
    const GeneratorLock lock(generator);
    return drop_from(x, 1 - p, generator.initial_seed(), generator.next_offset(kPhiloxStep));
  }
  return x * dropout_mask(op, mask_shape, x.options(), 1 - p);
}

// The mask of whole channels: (N, C, 1, …).
Tensor drop_channels(const char* op, const Tensor& x, double p, bool training) {
  Shape mask = x.sizes();
  for (int d = 2; d < mask.size(); ++d) mask[d] = 1;
  return drop(op, x, mask, p, training);
}

Tensor drop_features(const char* op, const Tensor& x, int batched_rank, double p, bool training) {
  TANTU_CHECK(x.dim() == batched_rank || x.dim() == batched_rank - 1, ShapeError,
              "{}: Expected {}D or {}D input, but received a {}D input", op, batched_rank - 1, batched_rank, x.dim());
  if (x.dim() == batched_rank) return drop_channels(op, x, p, training);
  return drop_channels(op, x.unsqueeze(0), p, training).squeeze(0);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training, Site at) {
  tape::Op op("dropout", at);
  return drop("dropout", x, x.sizes(), p, training);
}

Tensor dropout1d(const Tensor& x, double p, bool training, Site at) {
  tape::Op op("dropout1d", at);
  return drop_features("dropout1d", x, 3, p, training);
}

Tensor dropout2d(const Tensor& x, double p, bool training, Site at) {
  tape::Op op("dropout2d", at);
  TANTU_CHECK(x.dim() == 3 || x.dim() == 4, ShapeError, "dropout2d: Expected 3D or 4D input, but received a {}D input",
              x.dim());
  return drop_channels("dropout2d", x, p, training);
}

Tensor dropout3d(const Tensor& x, double p, bool training, Site at) {
  tape::Op op("dropout3d", at);
  return drop_features("dropout3d", x, 5, p, training);
}

}  // namespace tantu
