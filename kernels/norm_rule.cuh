#pragma once

#include <tantu/kernels/block.cuh>
#include <tantu/kernels/packed.cuh>
#include <tantu/kernels/strided.cuh>

#include <cmath>

// One rule for norms of rows and of whole tensors. Sums are kept in float64, so that 1e30 squared does not overflow.
namespace tantu {
namespace {

enum class NormKind { Count, Sum, Squares, Powers, Most, Least };

NormKind kind_of(double p) {
  if (p == 0) return NormKind::Count;
  if (p == 1) return NormKind::Sum;
  if (p == 2) return NormKind::Squares;
  return std::isinf(p) ? (p > 0 ? NormKind::Most : NormKind::Least) : NormKind::Powers;
}

/// How |x| of type T gathers into a norm; `powers` for any order but 0, 1, 2 and ±infinity.
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

}  // namespace
}  // namespace tantu
