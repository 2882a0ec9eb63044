// y[r] = sum over k of x[r, k].
//
// The mapping is reduce_gpu.cuh's: teams of lanes, blocks, pieces of long rows, tiles of columns. Contiguous floating
// rows go 16 bytes a load. Bytes moved: rows * n read once; one addition an element: bound by the read bandwidth.
#include <tantu/kernels/sum.h>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

template <class A>
struct Sum : ReduceEach<Sum<A>, A> {
  __device__ __forceinline__ A identity() const { return 0; }
  __device__ __forceinline__ A operator()(A a, A b) const {
    // Integers wrap around.
    if constexpr (std::is_integral_v<A>) return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
};

template <class A>
Sum<A> sum_to(const View& y) {
  Sum<A> op;
  op.y = static_cast<char*>(y.data);
  op.y_dtype = y.dtype;
  return op;
}

}  // namespace

void sum_last(GpuContext& ctx, ConstView x, View y, int reduced) {
  const ReducePlan plan(x, y, reduced);
  if (is_integral(y.dtype)) return reduce_any(ctx, "sum", sum_to<int64_t>(y), x, plan);
  if (y.dtype == kFloat64) {
    if (plan.packed && x.dtype == kFloat64) return reduce_packed<double>(ctx, "sum", sum_to<double>(y), x, plan);
    return reduce_any(ctx, "sum", sum_to<double>(y), x, plan);
  }
  const Sum<float> op = sum_to<float>(y);
  if (plan.packed && x.dtype == kFloat32) reduce_packed<float>(ctx, "sum", op, x, plan);
  else if (plan.packed && x.dtype == kFloat16) reduce_packed<__half>(ctx, "sum", op, x, plan);
  else if (plan.packed && x.dtype == kBFloat16) reduce_packed<__nv_bfloat16>(ctx, "sum", op, x, plan);
  else reduce_any(ctx, "sum", op, x, plan);
}

}  // namespace tantu
