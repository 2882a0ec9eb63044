#pragma once

#include <tantu/kernels/strided.cuh>

namespace tantu {
namespace {

template <class T, class C, int N>
__device__ __forceinline__ void load_typed(C (&v)[N], const char* data, const int64_t (&at)[N]) {
  const T* from = reinterpret_cast<const T*>(data);
  T raw[N];
#pragma unroll
  for (int i = 0; i < N; ++i) raw[i] = from[at[i]];
#pragma unroll
  for (int i = 0; i < N; ++i) v[i] = value_as<C>(raw[i]);
}

/// v[i] = the element at at[i], converted to C: `load_as` of several elements, whose loads do not wait for each other.
template <class C, int N>
__device__ __forceinline__ void load_each(C (&v)[N], const char* data, DType dtype, const int64_t (&at)[N]) {
  switch (dtype) {
    case DType::Bool: return load_typed<bool>(v, data, at);
    case DType::UInt8: return load_typed<uint8_t>(v, data, at);
    case DType::Int32: return load_typed<int32_t>(v, data, at);
    case DType::Int64: return load_typed<int64_t>(v, data, at);
    case DType::Float16: return load_typed<__half>(v, data, at);
    case DType::BFloat16: return load_typed<__nv_bfloat16>(v, data, at);
    case DType::Float32: return load_typed<float>(v, data, at);
    default: return load_typed<double>(v, data, at);
  }
}

}  // namespace
}  // namespace tantu
