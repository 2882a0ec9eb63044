#pragma once

#include <tantu/core/view.h>
#include <tantu/kernels/typed.cuh>

#include <cstdint>

// Views as kernels take them, and loads and stores of elements whose dtype is known at run time only.
namespace tantu {
namespace {

/// One operand: where it is, what it holds, its strides in elements.
struct Strided {
  char* data;
  DType dtype;
  int64_t strides[kMaxDims] = {};
};

/// Up to N operands of one shape, dimensions merged where all of them allow. Element i is the same element of each.
template <int N>
struct Picture {
  int rank = 0;
  int64_t sizes[kMaxDims] = {};
  Strided operands[N];
};

/// Lays `count` views of one shape over each other; absent ones (null data) stay null.
template <int N>
Picture<N> make_picture(const ConstView* views, int count) {
  Picture<N> p;
  const Shape& sizes = views[0].sizes;
  for (int i = 0; i < N; ++i) {
    p.operands[i].data = i < count ? static_cast<char*>(const_cast<void*>(views[i].data)) : nullptr;
    p.operands[i].dtype = i < count ? views[i].dtype : kFloat32;
  }
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    bool merge = p.rank > 0;
    for (int i = 0; i < count && merge; ++i)
      merge = !views[i].data || p.operands[i].strides[p.rank - 1] == views[i].strides[d] * sizes[d];
    if (!merge) p.sizes[p.rank++] = 1;
    p.sizes[p.rank - 1] *= sizes[d];
    for (int i = 0; i < count; ++i)
      if (views[i].data) p.operands[i].strides[p.rank - 1] = views[i].strides[d];
  }
  return p;
}

/// Offset in elements of element `index` of one operand.
template <int N>
__device__ __forceinline__ int64_t offset_of(const Picture<N>& p, int operand, int64_t index) {
  int64_t offset = 0;
  for (int d = p.rank - 1; d >= 0; --d) {
    offset += index % p.sizes[d] * p.operands[operand].strides[d];
    index /= p.sizes[d];
  }
  return offset;
}

/// The element at `offset`, converted to C (float, double or int64_t).
template <class C>
__device__ __forceinline__ C load_as(const char* data, DType dtype, int64_t offset) {
  switch (dtype) {
    case DType::Bool: return value_as<C>(reinterpret_cast<const bool*>(data)[offset]);
    case DType::UInt8: return value_as<C>(reinterpret_cast<const uint8_t*>(data)[offset]);
    case DType::Int32: return value_as<C>(reinterpret_cast<const int32_t*>(data)[offset]);
    case DType::Int64: return value_as<C>(reinterpret_cast<const int64_t*>(data)[offset]);
    case DType::Float16: return value_as<C>(reinterpret_cast<const __half*>(data)[offset]);
    case DType::BFloat16: return value_as<C>(reinterpret_cast<const __nv_bfloat16*>(data)[offset]);
    case DType::Float32: return value_as<C>(reinterpret_cast<const float*>(data)[offset]);
    default: return value_as<C>(reinterpret_cast<const double*>(data)[offset]);
  }
}

/// Writes `value` at `offset`, converted to the dtype; floats round to nearest even.
template <class C>
__device__ __forceinline__ void store_as(char* data, DType dtype, int64_t offset, C value) {
  switch (dtype) {
    case DType::Bool: reinterpret_cast<bool*>(data)[offset] = value_from<bool>(value); break;
    case DType::UInt8: reinterpret_cast<uint8_t*>(data)[offset] = value_from<uint8_t>(value); break;
    case DType::Int32: reinterpret_cast<int32_t*>(data)[offset] = value_from<int32_t>(value); break;
    case DType::Int64: reinterpret_cast<int64_t*>(data)[offset] = value_from<int64_t>(value); break;
    case DType::Float16: reinterpret_cast<__half*>(data)[offset] = value_from<__half>(value); break;
    case DType::BFloat16: reinterpret_cast<__nv_bfloat16*>(data)[offset] = value_from<__nv_bfloat16>(value); break;
    case DType::Float32: reinterpret_cast<float*>(data)[offset] = value_from<float>(value); break;
    default: reinterpret_cast<double*>(data)[offset] = value_from<double>(value); break;
  }
}

}  // namespace
}  // namespace tantu
