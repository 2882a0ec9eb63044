#pragma once

#include <tantu/kernels/warp.cuh>

#include <cstdint>

// Collectives of a team: the threads that share one row. A team is a power of two of neighbouring lanes (1 … 32), or
// the whole block, a power of two of warps. Every thread of the block takes part in every call. The order in which
// values are joined depends on the size of the team alone.
namespace tantu {
namespace {

/// The value of the lane whose number differs by `lanes`. A type of several words has its own function of this name.
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int lanes) {
  return __shfl_xor_sync(kFullWarp, value, lanes);
}
template <class T>
__device__ __forceinline__ T shuffle_up(T value, int lanes) {
  return __shfl_up_sync(kFullWarp, value, lanes);
}

/// All values of the team joined: lanes by halves, then warps in order. `shared` has room for one value a warp.
template <class A, class Join>
__device__ __forceinline__ A team_join(A value, int team, A* shared, const Join& join) {
  for (int step = (team < 32 ? team : 32) / 2; step > 0; step /= 2) value = join(value, shuffle_xor(value, step));
  if (team <= 32) return value;
  __syncthreads();  // an earlier call may still be read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) value = join(value, shared[w]);
  return value;
}

/// What the threads of the team before this one hold, joined in order; `total` is what all of them hold. Teams of a
/// warp or the block. `shared` has room for one value a warp.
template <class A, class Join>
__device__ __forceinline__ A team_scan(A value, int team, A identity, A* shared, const Join& join, A& total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < 32; step *= 2) {
    const A before = shuffle_up(value, step);
    if (lane >= step) value = join(before, value);
  }
  A before = shuffle_up(value, 1);
  if (lane == 0) before = identity;
  total = __shfl_sync(kFullWarp, value, 31);
  if (team <= 32) return before;
  __syncthreads();  // an earlier call may still be read
  if (lane == 31) shared[warp] = value;
  __syncthreads();
  A front = identity;
  total = identity;
  for (int w = 0; w < team / 32; ++w) {
    if (w == warp) front = total;
    total = join(total, shared[w]);
  }
  return join(front, before);
}

/// The larger one; NaN if one of them is.
struct NanMax {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    const T larger = a < b ? b : a;
    return b != b ? b : larger;
  }
};
struct NanMin {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    const T smaller = a > b ? b : a;
    return b != b ? b : smaller;
  }
};

/// Columns side by side: thread (lane, line) of a block of `width` lanes by `lines` lines holds a part of N columns;
/// line 0 ends with all lines' parts joined, by halves. `shared` has room for N values of half the block's threads.
template <int N, class A, class Join>
__device__ __forceinline__ void join_lines(A (&values)[N], int width, A* shared, const Join& join) {
  const int lane = threadIdx.x % width, line = threadIdx.x / width;
  for (int half = static_cast<int>(blockDim.x) / width / 2; half > 0; half /= 2) {
    __syncthreads();
    if (line >= half && line < 2 * half)
      for (int j = 0; j < N; ++j) shared[((line - half) * width + lane) * N + j] = values[j];
    __syncthreads();
    if (line < half)
      for (int j = 0; j < N; ++j) values[j] = join(values[j], shared[(line * width + lane) * N + j]);
  }
}

/// Host: the powers of two next to n ≥ 1.
inline int64_t power_below(int64_t n) {
  int64_t p = 1;
  while (p <= n / 2) p *= 2;
  return p;
}
inline int64_t power_above(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

}  // namespace
}  // namespace tantu
