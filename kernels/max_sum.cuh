#pragma once

#include <tantu/kernels/block.cuh>
#include <tantu/kernels/packed.cuh>

namespace tantu {
namespace {

/// The maximum m of some numbers and s = Σ exp(x - m), in one pass (M. Milakov, N. Gimelshein, "Online normalizer
/// calculation for softmax", 2018): a larger maximum scales what was summed so far. Of nothing, and of -inf alone: m =
/// -inf, s = 0. With +inf or NaN s is NaN, with NaN m too.
template <class C>
struct MaxSum {
  C m = -kInfinity<C>, s = 0;

  template <int N>
  __device__ __forceinline__ void add(const C (&x)[N]) {
    C larger = m;
#pragma unroll
    for (int i = 0; i < N; ++i) larger = NanMax()(larger, x[i]);
    if (larger == -kInfinity<C>) return;
    s *= exp_of(m - larger);
#pragma unroll
    for (int i = 0; i < N; ++i) s += exp_of(x[i] - larger);
    m = larger;
  }
};

template <class C>
__device__ __forceinline__ MaxSum<C> shuffle_xor(const MaxSum<C>& a, int lanes) {
  MaxSum<C> b;
  b.m = shuffle_xor(a.m, lanes);
  b.s = shuffle_xor(a.s, lanes);
  return b;
}

struct JoinMaxSums {
  template <class C>
  __device__ __forceinline__ MaxSum<C> operator()(const MaxSum<C>& a, const MaxSum<C>& b) const {
    MaxSum<C> both;
    both.m = NanMax()(a.m, b.m);
    if (both.m != -kInfinity<C>) both.s = a.s * exp_of(a.m - both.m) + b.s * exp_of(b.m - both.m);
    return both;
  }
};

}  // namespace
}  // namespace tantu
