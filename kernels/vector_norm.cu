// y[r] = (Σ |x[r, k]|^p)^(1/p) over k; p = 0 counts what is not zero, p = ±infinity is the largest or smallest |x|.
//
// The mapping is reduce_gpu.cuh's. Bytes moved: rows * n read once; for p = 0, 1, 2, ±infinity one or two FLOP an
// element in float64, as the contract wants (1e30 squared does not overflow): bound by the bandwidth where float64 runs
// at half speed. Any other p costs a power an element: bound by arithmetic.
#include <tantu/kernels/vector_norm.h>
#include <tantu/kernels/reduce_gpu.cuh>

#include <cmath>

namespace tantu {

namespace {

enum class NormKind { Count, Sum, Squares, Powers, Most, Least };

NormKind kind_of(double p) {
  if (p == 0) return NormKind::Count;
  if (p == 1) return NormKind::Sum;
  if (p == 2) return NormKind::Squares;
  return std::isinf(p) ? (p > 0 ? NormKind::Most : NormKind::Least) : NormKind::Powers;
}

template <class T, bool powers>
struct Norm {
  using In = T;
  using Acc = double;
  char* y;
  DType y_dtype;
  NormKind kind;
  double p;

  __device__ __forceinline__ double identity() const { return kind == NormKind::Least ? kInfinity<double> : 0.0; }
  __device__ __forceinline__ double operator()(double a, double b) const {
    if (!powers && kind == NormKind::Most) return NanMax()(a, b);
    if (!powers && kind == NormKind::Least) return NanMin()(a, b);
    return a + b;
  }
  __device__ __forceinline__ void add(double& acc, T x, int64_t) const {
    const double v = fabs(static_cast<double>(x));
    if constexpr (powers) acc += pow(v, p);
    else if (kind == NormKind::Squares) acc = fma(v, v, acc);
    else acc = (*this)(acc, kind == NormKind::Count ? (v != 0 ? 1.0 : 0.0) : v);
  }
  template <int V, int N>
  __device__ __forceinline__ void add_all(double& acc, const T (&x)[N], int64_t, int64_t) const {
#pragma unroll
    for (int i = 0; i < N; ++i) add(acc, x[i], 0);
  }
  __device__ __forceinline__ void store(double acc, int64_t at) const {
    if constexpr (powers) acc = pow(acc, 1 / p);
    else if (kind == NormKind::Squares) acc = sqrt(acc);
    store_as<double>(y, y_dtype, at, acc);
  }
};

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
