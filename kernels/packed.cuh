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

/// U packs: those of from[u][0 … count), `rest` where there are fewer; each as one load if `vector`: then all of `from`
/// are aligned to 16 bytes. No load waits for another.
template <class T, int U, class C>
__device__ __forceinline__ void load_packs(C (&v)[U * kPerVector<T>], const T* const (&from)[U], int64_t count,
                                           bool vector, C rest) {
  constexpr int kCount = kPerVector<T>;
  if (vector && count >= kCount) {
    Packed<T> p[U];
#pragma unroll
    for (int u = 0; u < U; ++u) p[u] = *reinterpret_cast<const Packed<T>*>(from[u]);
#pragma unroll
    for (int i = 0; i < U * kCount; ++i) v[i] = widened(p[i / kCount].v[i % kCount]);
  } else {
#pragma unroll
    for (int i = 0; i < U * kCount; ++i)
      v[i] = i % kCount < count ? static_cast<C>(widened(from[i / kCount][i % kCount])) : rest;
  }
}
template <class T, class C>
__device__ __forceinline__ void load_packed(C (&v)[kPerVector<T>], const T* from, int64_t count, bool vector, C rest) {
  const T* const one[] = {from};
  load_packs<T, 1>(v, one, count, vector, rest);
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
