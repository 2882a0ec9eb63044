// y[r] = Σ (x[r, k] - mean)² / max(n - correction, 0) over k, or its square root.
//
// The mapping is reduce_gpu.cuh's. A thread takes up to 16 elements at a time: their mean first, as distances from the
// first of them, then their squared distances from it; Chan's rule joins that (count, mean, m2) to what it has, and
// later lanes, warps and pieces to one another. Counts are integers. Bytes moved: rows * n read once; about 5 FLOP an
// element in float64, as the contract wants: bound by the bandwidth where float64 runs at half speed (A100, H100),
// by float64 on smaller GPUs.
#include <tantu/kernels/variance.h>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

struct Moments {
  int64_t count;
  double mean, m2;  // m2 = Σ (x - mean)²
};

__device__ __forceinline__ Moments shuffle_xor(const Moments& a, int lanes) {
  return {shuffle_xor(a.count, lanes), shuffle_xor(a.mean, lanes), shuffle_xor(a.m2, lanes)};
}

template <class A>
struct Variance {
  using In = A;
  using Acc = Moments;
  char* y;
  DType y_dtype;
  double correction;
  bool root;

  __device__ __forceinline__ Acc identity() const { return {0, 0, 0}; }
  __device__ __forceinline__ Acc operator()(const Acc& a, const Acc& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const int64_t count = a.count + b.count;
    const double share = static_cast<double>(b.count) / static_cast<double>(count), delta = b.mean - a.mean;
    return {count, a.mean + delta * share, a.m2 + (b.m2 + delta * delta * share * static_cast<double>(a.count))};
  }
  __device__ __forceinline__ void add(Acc& acc, A x, int64_t) const {
    // Of one element m2 is 0, but of one that is not finite NaN.
    acc = (*this)(acc, {1, static_cast<double>(x), static_cast<double>(x) - static_cast<double>(x)});
  }
  template <int V, int N>
  __device__ __forceinline__ void add_all(Acc& acc, const A (&x)[N], int64_t, int64_t) const {
    const double first = static_cast<double>(x[0]);
    double sum = 0, m2 = 0;
#pragma unroll
    for (int i = 1; i < N; ++i) sum += static_cast<double>(x[i]) - first;
    const double mean = first + sum * (1.0 / N);  // N is a power of two
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const double d = static_cast<double>(x[i]) - mean;
      m2 = fma(d, d, m2);
    }
    acc = (*this)(acc, {N, mean, m2});
  }
  __device__ __forceinline__ void store(const Acc& acc, int64_t at) const {
    const double variance = acc.m2 / fmax(static_cast<double>(acc.count) - correction, 0.0);
    store_as<double>(y, y_dtype, at, root ? sqrt(variance) : variance);
  }
};

template <class A>
Variance<A> variance_to(const View& y, double correction, bool root) {
  return {static_cast<char*>(y.data), y.dtype, correction, root};
}

}  // namespace

void variance_last(GpuContext& ctx, ConstView x, View y, int reduced, double correction, bool root) {
  const ReducePlan plan(x, y, reduced);
  if (x.dtype == kFloat64) return reduce_any(ctx, "var", variance_to<double>(y, correction, root), x, plan);
  const Variance<float> op = variance_to<float>(y, correction, root);
  if (plan.packed && !plan.columns && x.dtype == kFloat32) reduce_packed_rows<float>(ctx, "var", op, x, plan);
  else reduce_any(ctx, "var", op, x, plan);
}

}  // namespace tantu
