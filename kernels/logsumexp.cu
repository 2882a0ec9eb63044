// y[r] = m + log Σ exp(x[r, k] - m) over k, m = max x[r, k].
//
// The mapping is reduce_gpu.cuh's; m and the sum are found in one pass (max_sum.cuh). Bytes moved: rows * n read once;
// about 10 FLOP an element: bound by the read bandwidth.
#include <tantu/kernels/softmax.h>
#include <tantu/kernels/max_sum.cuh>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

template <class C>
struct LogSumExp {
  using In = C;
  using Acc = MaxSum<C>;
  char* y;
  DType y_dtype;

  __device__ __forceinline__ Acc identity() const { return {}; }
  __device__ __forceinline__ Acc operator()(const Acc& a, const Acc& b) const { return JoinMaxSums()(a, b); }
  __device__ __forceinline__ void add(Acc& acc, C x, int64_t) const {
    const C one[1] = {x};
    acc.add(one);
  }
  template <int V, int N>
  __device__ __forceinline__ void add_all(Acc& acc, const C (&x)[N], int64_t, int64_t) const {
    acc.add(x);
  }
  __device__ __forceinline__ void store(const Acc& acc, int64_t at) const {
    const bool infinite = acc.m == kInfinity<C> || acc.m == -kInfinity<C>;
    store_as<C>(y, y_dtype, at, infinite ? acc.m : acc.m + log_of(acc.s));
  }
};

template <class C>
LogSumExp<C> logsumexp_to(const View& y) {
  return {static_cast<char*>(y.data), y.dtype};
}

}  // namespace

void logsumexp_last(GpuContext& ctx, ConstView x, View y, int reduced) {
  const ReducePlan plan(x, y, reduced);
  if (x.dtype == kFloat64) return reduce_any(ctx, "logsumexp", logsumexp_to<double>(y), x, plan);
  const LogSumExp<float> op = logsumexp_to<float>(y);
  if (plan.packed && !plan.columns && x.dtype == kFloat32) reduce_packed_rows<float>(ctx, "logsumexp", op, x, plan);
  else reduce_any(ctx, "logsumexp", op, x, plan);
}

}  // namespace tantu
