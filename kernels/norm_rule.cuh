#pragma once

#include <tantu/kernels/reduce_gpu.cuh>
#include <tantu/kernels/scaled_square.cuh>

#include <cmath>

// How the elements of a norm gather: one rule for rows (vector_norm.cu) and for whole tensors (multi_tensor.cu).
namespace tantu {
namespace {

enum class NormKind { Count, Sum, Squares, Powers, Most, Least };

NormKind kind_of(double p) {
  if (p == 0) return NormKind::Count;
  if (p == 1) return NormKind::Sum;
  if (p == 2) return NormKind::Squares;
  return std::isinf(p) ? (p > 0 ? NormKind::Most : NormKind::Least) : NormKind::Powers;
}

template <class A>
__device__ __forceinline__ ScaledSquare<A> shuffle_xor(const ScaledSquare<A>& a, int lanes) {
  return {shuffle_xor(a.sum, lanes), shuffle_xor(a.scale, lanes)};
}

template <class T>
struct Norm2 {
  using In = T;
  using Acc = ScaledSquare<T>;
  char* y;
  DType y_dtype;

  __device__ __forceinline__ Acc identity() const { return {0, 1}; }
  __device__ __forceinline__ Acc operator()(const Acc& a, const Acc& b) const { return joined(a, b); }
  __device__ __forceinline__ void add(Acc& acc, T x, int64_t) const { acc = joined(acc, square_of(x, T(1))); }
  template <int V, int N>
  __device__ __forceinline__ void add_all(Acc& acc, const T (&x)[N], int64_t, int64_t) const {
    T largest = 0, sums[2] = {};
#pragma unroll
    for (int i = 0; i < N; ++i) largest = fmax(largest, fabs(x[i]));
    const T scale = scale_for(largest);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i % 2] = fused(x[i] * scale, x[i] * scale, sums[i % 2]);
    acc = joined(acc, {sums[0] + sums[1], scale});
  }
  __device__ __forceinline__ void store(const Acc& acc, int64_t at) const {
    store_as<T>(y, y_dtype, at, sqrt(acc.sum) / acc.scale);
  }
};

// p = 0, 1, ±infinity.
template <class T>
struct NormEach {
  using In = T;
  using Acc = T;
  char* y;
  DType y_dtype;
  NormKind kind;

  __device__ __forceinline__ T identity() const { return kind == NormKind::Least ? kInfinity<T> : T(0); }
  __device__ __forceinline__ T operator()(T a, T b) const {
    if (kind == NormKind::Most) return NanMax()(a, b);
    if (kind == NormKind::Least) return NanMin()(a, b);
    return a + b;
  }
  __device__ __forceinline__ T value(T x) const { return kind == NormKind::Count ? T(x != 0 ? 1 : 0) : fabs(x); }
  __device__ __forceinline__ void add(T& acc, T x, int64_t) const { acc = (*this)(acc, value(x)); }
  template <int V, int N>
  __device__ __forceinline__ void add_all(T& acc, const T (&x)[N], int64_t, int64_t) const {
    T part = value(x[0]);
#pragma unroll
    for (int i = 1; i < N; ++i) part = (*this)(part, value(x[i]));
    acc = (*this)(acc, part);
  }
  __device__ __forceinline__ void store(T acc, int64_t at) const {
    store_as<T>(y, y_dtype, at, acc);
  }
};

template <class T>
struct NormPowers : ReduceEach<NormPowers<T>, double> {
  using In = T;
  double p;

  __device__ __forceinline__ double identity() const { return 0; }
  __device__ __forceinline__ double operator()(double a, double b) const { return a + b; }
  __device__ __forceinline__ void add(double& acc, T x, int64_t) const { acc += pow(fabs(static_cast<double>(x)), p); }
  template <int V, int N>
  __device__ __forceinline__ void add_all(double& acc, const T (&x)[N], int64_t, int64_t) const {
#pragma unroll
    for (int i = 0; i < N; ++i) add(acc, x[i], 0);
  }
  __device__ __forceinline__ void store(double acc, int64_t at) const {
    store_as<double>(this->y, this->y_dtype, at, pow(acc, 1 / p));
  }
};

}  // namespace
}  // namespace tantu
