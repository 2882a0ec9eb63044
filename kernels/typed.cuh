#pragma once

#include <tantu/core/dtype.h>
#include <tantu/kernels/arch.cuh>

#include <cstdint>
#include <type_traits>

// Elements of a type that is known at compile time, as kernels compute with them.
namespace tantu {
namespace {

/// What a stored type computes in.
template <class T>
using compute_t = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// An element as C (float, double or int64_t), and back; floats round to nearest even.
template <class C, class T>
__device__ __forceinline__ C value_as(T v) {
  return static_cast<C>(v);
}
template <class C>
__device__ __forceinline__ C value_as(__half v) {
  return static_cast<C>(__half2float(v));
}
template <class C>
__device__ __forceinline__ C value_as(__nv_bfloat16 v) {
  return static_cast<C>(__bfloat162float(v));
}
template <class T, class C>
__device__ __forceinline__ T value_from(C v) {
  if constexpr (std::is_same_v<T, bool>) return v != C(0);
  else if constexpr (std::is_same_v<T, __half>) return __float2half(static_cast<float>(v));
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(static_cast<float>(v));
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<int64_t>(v));
  else return static_cast<T>(v);
}

/// An element in the type it computes in, and a result of that type stored; bytes compute in int64.
__device__ __forceinline__ int64_t widened(uint8_t v) {
  return v;
}
template <class T>
__device__ __forceinline__ compute_t<T> widened(T v) {
  return value_as<compute_t<T>>(v);
}
template <class T>
__device__ __forceinline__ T narrowed(compute_t<T> v) {
  return value_from<T>(v);
}

/// a * b + c, rounded once.
__device__ __forceinline__ float fused(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ double fused(double a, double b, double c) {
  return fma(a, b, c);
}

__device__ __forceinline__ float exp_of(float v) {
  return expf(v);
}
__device__ __forceinline__ double exp_of(double v) {
  return exp(v);
}
__device__ __forceinline__ float log_of(float v) {
  return logf(v);
}
__device__ __forceinline__ double log_of(double v) {
  return log(v);
}

/// What a floating dtype is stored as.
template <DType D>
using Stored = std::conditional_t<
    D == kFloat64, double,
    std::conditional_t<D == kFloat32, float, std::conditional_t<D == kFloat16, __half, __nv_bfloat16>>>;

/// Host: calls f.template operator()<D>() with the floating dtype t as a constant.
template <class F>
void visit_typed(DType t, F&& f) {
  switch (t) {
    case DType::Float16: return f.template operator()<DType::Float16>();
    case DType::BFloat16: return f.template operator()<DType::BFloat16>();
    case DType::Float64: return f.template operator()<DType::Float64>();
    default: return f.template operator()<DType::Float32>();
  }
}
/// Host: the same with the type it is stored as.
template <class F>
void visit_stored(DType dtype, F&& f) {
  visit_typed(dtype, [&]<DType D>() { f.template operator()<Stored<D>>(); });
}

}  // namespace
}  // namespace tantu
