#pragma once

#include <tantu/kernels/arch.cuh>

namespace tantu {
namespace {

inline constexpr unsigned kFullWarp = 0xffffffffu;

/// The sum over the 32 lanes of a warp, in a fixed order, known to every lane. All lanes take part.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kFullWarp, value, step);
  return value;
}

struct Add {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace
}  // namespace tantu
