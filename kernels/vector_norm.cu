// y[r] = (Σ |x[r, k]|^p)^(1/p) over k; p = 0 counts what is not zero, p = ±infinity is the largest or smallest |x|.
//
// The mapping is reduce_gpu.cuh's. Bytes moved: rows * n read once; for p = 0, 1, 2, ±infinity two or three FLOP an
// element in float32 (float64 for float64): bound by the bandwidth. Squares are summed at the scale of the largest of
// each pack, so 1e30 does not overflow. Any other p costs a power an element, which only float64 can hold (1e30^3):
// bound by arithmetic.
#include <tantu/kernels/vector_norm.h>
#include <tantu/kernels/norm_rule.cuh>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

template <class T>
void norm_last(GpuContext& ctx, const ConstView& x, const View& y, const ReducePlan& plan, double p) {
  const NormKind kind = kind_of(p);
  const auto run = [&](const auto& op) {
    if constexpr (std::is_same_v<T, float>)
      if (kind != NormKind::Powers && plan.packed && !plan.columns && x.dtype == kFloat32)
        return reduce_packed_rows<float>(ctx, "norm", op, x, plan);
    reduce_any(ctx, "norm", op, x, plan);
  };
  char* to = static_cast<char*>(y.data);
  if (kind == NormKind::Squares) run(Norm2<T>{to, y.dtype});
  else if (kind == NormKind::Powers) reduce_any(ctx, "norm", NormPowers<T>{{to, y.dtype}, p}, x, plan);
  else run(NormEach<T>{to, y.dtype, kind});
}

}  // namespace

void vector_norm_last(GpuContext& ctx, ConstView x, View y, int reduced, double p) {
  const ReducePlan plan(x, y, reduced);
  if (x.dtype == kFloat64) norm_last<double>(ctx, x, y, plan, p);
  else norm_last<float>(ctx, x, y, plan, p);
}

}  // namespace tantu
