#pragma once

#include <tantu/kernels/warp.cuh>

// A row worked on by a group of G threads: one, a warp, or a block of kRowThreads. Results are known to all of the
// group and their order is a function of G alone.
namespace tantu {
namespace {

inline constexpr int kRowThreads = 256;

/// The threads that a row of n elements gets; 1 only where neighbouring rows, not elements, lie together.
inline int group_for(int64_t n, bool rows_lie_together) {
  return rows_lie_together ? 1 : n <= 1024 ? 32 : kRowThreads;
}

template <int G>
struct RowGroup {
  static_assert(G == 1 || G == 32 || G == kRowThreads);
  static constexpr int kThreads = G, kRows = kRowThreads / G;  ///< of a row; of a block

  static __device__ __forceinline__ int lane() { return threadIdx.x % G; }
  static __device__ __forceinline__ int64_t first_row() {
    return static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.x / G;
  }
  static __device__ __forceinline__ int64_t row_step() { return static_cast<int64_t>(gridDim.x) * kRows; }
  static int64_t blocks(int64_t rows) {
    const int64_t blocks = (rows + kRows - 1) / kRows;
    return blocks < 65536 ? blocks : 65536;
  }

  /// op over the group's values; all its threads take part. `shared`: one T for each warp of the block.
  template <class T, class Op>
  static __device__ __forceinline__ T reduce(T value, T* shared, Op op) {
    if constexpr (G >= 32)
      for (int step = 16; step > 0; step /= 2) value = op(value, __shfl_xor_sync(kFullWarp, value, step));
    if constexpr (G > 32) {
      if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
      __syncthreads();
      value = shared[0];
      for (int w = 1; w < G / 32; ++w) value = op(value, shared[w]);
      __syncthreads();
    }
    return value;
  }

  template <class T>
  static __device__ __forceinline__ T sum(T value, T* shared) {
    return reduce(value, shared, Add());
  }
};

/// Calls f(group) with the RowGroup of `threads` threads.
template <class F>
void visit_group(int threads, F&& f) {
  if (threads == 1) f(RowGroup<1>());
  else if (threads == 32) f(RowGroup<32>());
  else f(RowGroup<kRowThreads>());
}

}  // namespace
}  // namespace tantu
