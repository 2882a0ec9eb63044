#pragma once

#include <tantu/core/dtype.h>
#include <tantu/kernels/arch.cuh>

#include <type_traits>

// Elements of a type that is known at compile time, as kernels compute with them.
namespace tantu {
namespace {

__device__ __forceinline__ float widen(float x) {
  return x;
}
__device__ __forceinline__ double widen(double x) {
  return x;
}
__device__ __forceinline__ float widen(__half x) {
  return __half2float(x);
}
__device__ __forceinline__ float widen(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

/// Back to T, rounded to nearest even.
template <class T>
__device__ __forceinline__ T narrow(acc_t<T> x) {
  if constexpr (std::is_same_v<T, __half>) return __float2half(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(x);
  else return x;
}

__device__ __forceinline__ float fused(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ double fused(double a, double b, double c) {
  return fma(a, b, c);
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
