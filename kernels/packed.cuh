#pragma once

#include <tantu/core/view.h>
#include <tantu/kernels/typed.cuh>

#include <cstdint>
#include <limits>

// Elements of a dtype known when compiling, sixteen bytes at a time: what a thread moves in one instruction.
namespace tantu {
namespace {

template <class C>
inline constexpr C kInfinity = std::numeric_limits<C>::infinity();

template <class T>
inline constexpr int kPerVector = static_cast<int>(16 / sizeof(T));

template <class T>
struct alignas(16) Packed {
  T v[kPerVector<T>];
};

/// v = from[0 … count), `rest` where there are fewer; as one load if `vector`: then `from` is aligned to 16 bytes.
template <class T, class C>
__device__ __forceinline__ void load_packed(C (&v)[kPerVector<T>], const T* from, int64_t count, bool vector, C rest) {
  constexpr int kCount = kPerVector<T>;
  if (vector && count >= kCount) {
    const Packed<T> p = *reinterpret_cast<const Packed<T>*>(from);
#pragma unroll
    for (int j = 0; j < kCount; ++j) v[j] = widened(p.v[j]);
  } else {
#pragma unroll
    for (int j = 0; j < kCount; ++j) v[j] = j < count ? static_cast<C>(widened(from[j])) : rest;
  }
}

/// to[0 … count) = v.
template <class T, class C>
__device__ __forceinline__ void store_packed(T* to, const C (&v)[kPerVector<T>], int64_t count, bool vector) {
  constexpr int kCount = kPerVector<T>;
  if (vector && count >= kCount) {
    Packed<T> p;
#pragma unroll
    for (int j = 0; j < kCount; ++j) p.v[j] = narrowed<T>(v[j]);
    *reinterpret_cast<Packed<T>*>(to) = p;
  } else {
#pragma unroll
    for (int j = 0; j < kCount; ++j)
      if (j < count) to[j] = narrowed<T>(v[j]);
  }
}

/// Host: whether every row of a view whose rows lie `strides` apart starts at a multiple of 16 bytes.
inline bool rows_aligned(const void* data, DType dtype, const Shape& sizes, const Strides& strides) {
  bool aligned = reinterpret_cast<uintptr_t>(data) % 16 == 0;
  for (int d = 0; d < sizes.size(); ++d) aligned &= sizes[d] == 1 || strides[d] * item_size(dtype) % 16 == 0;
  return aligned;
}

}  // namespace
}  // namespace tantu
