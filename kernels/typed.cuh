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

__device__ __forceinline__ float widened(float v) {
  return v;
}
__device__ __forceinline__ double widened(double v) {
  return v;
}
__device__ __forceinline__ float widened(__half v) {
  return __half2float(v);
}
__device__ __forceinline__ float widened(__nv_bfloat16 v) {
  return __bfloat162float(v);
}
__device__ __forceinline__ int64_t widened(uint8_t v) {
  return v;
}

/// The number rounded to nearest even.
template <class T>
__device__ __forceinline__ T narrowed(compute_t<T> v) {
  if constexpr (std::is_same_v<T, __half>) return __float2half(v);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(v);
  else return v;
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

/// Host: calls f(a null pointer to the element type) for a floating dtype.
template <class F>
void with_floating_type(DType dtype, F f) {
  switch (dtype) {
    case DType::Float64: return f(static_cast<double*>(nullptr));
    case DType::Float16: return f(static_cast<__half*>(nullptr));
    case DType::BFloat16: return f(static_cast<__nv_bfloat16*>(nullptr));
    default: return f(static_cast<float*>(nullptr));
  }
}

}  // namespace
}  // namespace tantu
