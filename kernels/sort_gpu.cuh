#pragma once

#include <tantu/kernels/axis_lines.cuh>
#include <tantu/kernels/block.cuh>
#include <tantu/kernels/launch.cuh>

// Elements as unsigned keys that sort as they do, with their places: no two items are equal, so that any way to sort
// them is stable.
namespace tantu {
namespace {

inline constexpr int kSortThreads = 256;

/// A 32-bit key and a place below 2^32 in one number.
struct NarrowItem {
  using Key = uint32_t;
  uint64_t bits;

  static __device__ __forceinline__ NarrowItem make(Key key, int64_t place) {
    return {static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(place)};
  }
  __device__ __forceinline__ Key key() const { return static_cast<Key>(bits >> 32); }
  __device__ __forceinline__ int64_t place() const { return static_cast<int64_t>(bits & 0xffffffffu); }
  __device__ __forceinline__ bool operator<(const NarrowItem& b) const { return bits < b.bits; }
};
struct WideItem {
  using Key = uint64_t;
  uint64_t bits;
  int64_t where;

  static __device__ __forceinline__ WideItem make(Key key, int64_t place) { return {key, place}; }
  __device__ __forceinline__ Key key() const { return bits; }
  __device__ __forceinline__ int64_t place() const { return where; }
  __device__ __forceinline__ bool operator<(const WideItem& b) const {
    return bits != b.bits ? bits < b.bits : where < b.where;
  }
};

/// Items that a block sorts in shared memory: 16 KiB of them.
template <class Item>
inline constexpr int kSortTile = static_cast<int>(16384 / sizeof(Item));

/// NaN becomes the highest key, -0 the key of +0.
__device__ __forceinline__ uint32_t key_of(float v) {
  if (v != v) return 0xffffffffu;
  const uint32_t bits = __float_as_uint(v + 0.0f);  // -0 + 0 = +0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ uint64_t key_of(double v) {
  if (v != v) return ~uint64_t{0};
  const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(v + 0.0));
  return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
}
__device__ __forceinline__ uint64_t key_of(int64_t v) {
  return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63);
}

/// The key of the element at `offset` (floating dtypes come last in the list of dtypes): 64 bits for float64, int64 and
/// lines too long for narrow items.
template <class Key>
__device__ __forceinline__ Key load_key(const Strided& x, int64_t offset, bool descending) {
  Key key;
  if constexpr (sizeof(Key) == 4) {
    if (x.dtype >= DType::Float16) key = key_of(load_as<float>(x.data, x.dtype, offset));
    else key = static_cast<uint32_t>(load_as<int64_t>(x.data, x.dtype, offset)) ^ 0x80000000u;
  } else {
    if (x.dtype >= DType::Float16) key = key_of(load_as<double>(x.data, x.dtype, offset));
    else key = key_of(load_as<int64_t>(x.data, x.dtype, offset));
  }
  return descending ? ~key : key;
}

}  // namespace
}  // namespace tantu
