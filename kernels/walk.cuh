#pragma once

#include <tantu/kernels/strided.cuh>

namespace tantu {
namespace {

/// Offset of element i of `sizes` in `strides`: no division where there is one dimension.
__device__ __forceinline__ int64_t walk(int rank, const int64_t* sizes, const int64_t* strides, int64_t i) {
  if (rank == 0) return 0;
  int64_t offset = 0;
  for (int d = rank - 1; d > 0; --d) {
    const int64_t rest = i / sizes[d];
    offset += (i - rest * sizes[d]) * strides[d];
    i = rest;
  }
  return offset + i * strides[0];
}

/// The same of one operand of a picture. `offset_of` is its twin on purpose: in kernels that look up a line now and
/// then its divisions cost less than the registers this form takes there (scripts/check_kernels counts them).
template <int N>
__device__ __forceinline__ int64_t place_in(const Picture<N>& p, int operand, int64_t i) {
  return walk(p.rank, p.sizes, p.operands[operand].strides, i);
}

}  // namespace
}  // namespace tantu
