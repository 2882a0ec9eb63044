#pragma once

#include <tantu/core/view.h>
#include <tantu/kernels/divider32.h>
#include <tantu/kernels/typed.cuh>

#include <algorithm>
#include <cstdint>

// Walks over the elements of several views of one shape: order and index arithmetic settled on the host, and packs of
// elements that move as one 16-byte access.
namespace tantu {
namespace {

/// N operands of one shape, innermost dimension last. Element i is the same element of each; its order is that of
/// operand 0 in memory.
template <int N>
struct Layout {
  struct Operand {
    char* data = nullptr;  ///< null: absent
    DType dtype = kFloat32;
    int64_t strides[kMaxDims] = {};  ///< in elements
  };
  int rank = 0;        ///< 0: one element
  bool small = false;  ///< every element's number and byte offset fits int32: divisions are multiplications
  int64_t sizes[kMaxDims] = {};
  Divider32 dividers[kMaxDims] = {};
  Operand operands[N];

  int64_t inner_size() const { return rank ? sizes[rank - 1] : 1; }
  int64_t inner_stride(int k) const { return rank ? operands[k].strides[rank - 1] : 0; }
  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= sizes[d];
    return n;
  }
  void swap_dims(int d, int e) {
    std::swap(sizes[d], sizes[e]);
    for (Operand& o : operands) std::swap(o.strides[d], o.strides[e]);
  }
  void remove_dim(int d) {
    for (; d + 1 < rank; ++d) swap_dims(d, d + 1);
    --rank;
  }
};

/// Sets `small` and the dividers; to be called once sizes and strides are final.
template <int N>
void settle(Layout<N>& p) {
  const int64_t n = p.numel();
  bool small = n <= INT32_MAX;
  for (const auto& o : p.operands) {
    int64_t reach = 0;
    for (int d = 0; d < p.rank && small; ++d) {
      reach += (p.sizes[d] - 1) * std::abs(o.strides[d]) * 8;
      small = reach >= 0 && reach <= INT32_MAX;
    }
  }
  p.small = small;
  if (small)
    for (int d = 0; d < p.rank; ++d) p.dividers[d] = divider_of(static_cast<uint32_t>(p.sizes[d]));
}

/// Lays `count` views of one shape (numel > 0) over each other: dimensions of size 1 dropped, the rest ordered by
/// operand 0's strides (then the next operands'), neighbours merged where every operand allows. Null data is absent.
template <int N>
Layout<N> make_layout(const ConstView* views, int count) {
  Layout<N> p;
  const Shape& sizes = views[0].sizes;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    p.sizes[p.rank] = sizes[d];
    for (int k = 0; k < count; ++k)
      if (views[k].data) p.operands[k].strides[p.rank] = views[k].strides[d];
    ++p.rank;
  }
  for (int k = 0; k < count; ++k) {
    p.operands[k].data = static_cast<char*>(const_cast<void*>(views[k].data));
    p.operands[k].dtype = views[k].dtype;
  }
  const auto outer_first = [&](int d, int e) {  // whether d belongs before e
    for (const auto& o : p.operands)
      if (std::abs(o.strides[d]) != std::abs(o.strides[e])) return std::abs(o.strides[d]) > std::abs(o.strides[e]);
    return true;
  };
  for (int d = 1; d < p.rank; ++d)
    for (int e = d; e > 0 && !outer_first(e - 1, e); --e) p.swap_dims(e - 1, e);
  for (int d = p.rank - 2; d >= 0; --d) {
    bool merge = true;
    for (const auto& o : p.operands) merge = merge && o.strides[d] == o.strides[d + 1] * p.sizes[d + 1];
    if (!merge) continue;
    p.sizes[d] *= p.sizes[d + 1];
    for (auto& o : p.operands) o.strides[d] = o.strides[d + 1];
    p.remove_dim(d + 1);
  }
  settle(p);
  return p;
}

/// The offsets, in elements, of element `index` of every operand of a layout that is `small` or has one dimension.
template <int N>
__device__ __forceinline__ void small_offsets_at(const Layout<N>& p, int64_t index, int64_t (&at)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) at[k] = 0;
#pragma unroll 1
  for (int d = p.rank - 1; d > 0; --d) {
    const uint32_t rest = static_cast<uint32_t>(index), whole = divide(rest, p.dividers[d]);
    const int32_t here = static_cast<int32_t>(rest - whole * static_cast<uint32_t>(p.sizes[d]));
#pragma unroll
    for (int k = 0; k < N; ++k) at[k] += here * static_cast<int32_t>(p.operands[k].strides[d]);
    index = whole;
  }
#pragma unroll
  for (int k = 0; k < N; ++k) at[k] += index * p.operands[k].strides[0];
}

/// The same of any layout.
template <int N>
__device__ __forceinline__ void offsets_at(const Layout<N>& p, int64_t index, int64_t (&at)[N]) {
  if (p.small) return small_offsets_at(p, index, at);
#pragma unroll
  for (int k = 0; k < N; ++k) at[k] = 0;
#pragma unroll 1
  for (int d = p.rank - 1; d > 0; --d) {
    const int64_t whole = index / p.sizes[d], here = index - whole * p.sizes[d];
#pragma unroll
    for (int k = 0; k < N; ++k) at[k] += here * p.operands[k].strides[d];
    index = whole;
  }
#pragma unroll
  for (int k = 0; k < N; ++k) at[k] += index * p.operands[k].strides[0];
}

/// `Width` elements that are loaded and stored together.
template <class T, int Width>
struct alignas(sizeof(T) * Width < 16 ? sizeof(T) * Width : 16) Pack {
  T v[Width];
};

inline bool is_aligned(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
}

/// Threads of a block where n of them have something to do: whole warps, `most` at most.
inline int threads_for(int64_t n, int most) {
  return n >= most ? most : static_cast<int>((n + 31) / 32 * 32);
}

/// This thread's number in the grid, and how many threads there are.
__device__ __forceinline__ int64_t thread_number() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t thread_count() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

}  // namespace
}  // namespace tantu
