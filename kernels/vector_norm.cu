// y[r] = (Σ |x[r, k]|^p)^(1/p) over k; p = 0 counts what is not zero, p = ±infinity is the largest or smallest |x|.
//
// The mapping is reduce_gpu.cuh's. Bytes moved: rows * n read once; for p = 0, 1, 2, ±infinity one or two FLOP an
// element in float64, as the contract wants (1e30 squared does not overflow): bound by the bandwidth where float64 runs
// at half speed. Any other p costs a power an element: bound by arithmetic.
#include <tantu/kernels/vector_norm.h>
#include <tantu/kernels/norm_rule.cuh>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

template <class T, bool powers>
Norm<T, powers> norm_to(const View& y, double p) {
  return {static_cast<char*>(y.data), y.dtype, kind_of(p), p};
}

}  // namespace

void vector_norm_last(GpuContext& ctx, ConstView x, View y, int reduced, double p) {
  const ReducePlan plan(x, y, reduced);
  if (kind_of(p) == NormKind::Powers) {
    if (x.dtype == kFloat64) reduce_any(ctx, "norm", norm_to<double, true>(y, p), x, plan);
    else reduce_any(ctx, "norm", norm_to<float, true>(y, p), x, plan);
  } else if (x.dtype == kFloat64) {
    reduce_any(ctx, "norm", norm_to<double, false>(y, p), x, plan);
  } else if (plan.packed && !plan.columns && x.dtype == kFloat32) {
    reduce_packed_rows<float>(ctx, "norm", norm_to<float, false>(y, p), x, plan);
  } else {
    reduce_any(ctx, "norm", norm_to<float, false>(y, p), x, plan);
  }
}

}  // namespace tantu
