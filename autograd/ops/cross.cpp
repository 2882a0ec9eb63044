#include <tantu/kernels/cross.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

namespace tantu {

Tensor cross(const Tensor& a, const Tensor& b, int64_t dim, Site at) {
  tape::Op op("cross", at);
  tape::common_device("cross", {{"a", &a}, {"b", &b}});
  TANTU_CHECK(a.dtype() == b.dtype(), DTypeError,
              "cross: expected all operands to have the same dtype, but got {} and {}", a.dtype(), b.dtype());
  TANTU_CHECK(a.dtype() != kBool, DTypeError, "cross: not implemented for bool");
  TANTU_CHECK(a.dim() == b.dim(), ShapeError,
              "cross: inputs must have the same number of dimensions, but their shapes are {} and {}", a.sizes(),
              b.sizes());
  const int d = wrap_dim("cross", dim, a.sizes().size());
  TANTU_CHECK(a.size(d) == 3 && b.size(d) == 3, ShapeError,
              "cross: inputs dimension {} must have length 3. Got {} and {}", dim, a.size(d), b.size(d));
  const Shape sizes = broadcast_shapes("cross", a.sizes(), b.sizes());
  Tensor y = make_tensor("cross", sizes, a.dtype(), a.device());
  if (y.numel() > 0)
    on_device(y.device(), "cross",
              [&](auto& ctx) { cross(ctx, a.in().broadcast_to(sizes), b.in().broadcast_to(sizes), y.out(), d); });
  // g · (da × b) = da · (b × g) and g · (a × db) = db · (g × a).
  if (tape::wants(a, b))
    tape::record("LinalgCrossBackward0", {&y}, {a, b}, {tape::Saved(a), tape::Saved(b)}, [d](tape::Backward& back) {
      const Tensor g = back.grad(), a = back.saved(0), b = back.saved(1);
      TensorList result(2);
      if (back.needs(0)) result[0] = sum_to_size(cross(b, g, d), a.sizes());
      if (back.needs(1)) result[1] = sum_to_size(cross(g, a, d), b.sizes());
      return result;
    });
  return y;
}

}  // namespace tantu
