#pragma once

#include <tantu/kernels/arch.cuh>

#include <cmath>

// Sums of squares of numbers whose squares may leave float32.
namespace tantu {
namespace {

/// 1, or for magnitudes whose squares leave float32 the power of two that brings `largest` near 1.
__device__ __forceinline__ float scale_for(float largest) {
  if (largest == 0 || (largest > 0x1p-40f && largest < 0x1p40f)) return 1;
  const int exponent = ilogbf(largest);
  return exponent > 126 ? 0x1p-126f : scalbnf(1.0f, exponent < -120 ? 120 : -exponent);
}
__device__ __forceinline__ double scale_for(double) {
  return 1;
}

/// sum / scale²: a sum of squares of numbers times a power of two, 1 for ordinary ones.
template <class A>
struct ScaledSquare {
  A sum, scale;
};

/// d² · times.
template <class A>
__device__ __forceinline__ ScaledSquare<A> square_of(A d, A times) {
  const A scale = scale_for(d < 0 ? -d : d);
  d *= scale;
  return {d * d * times, scale};
}

/// a + b, at the scale of the larger numbers: what is lost of the smaller ones lies far below the sum's last bit.
template <class A>
__device__ __forceinline__ ScaledSquare<A> joined(const ScaledSquare<A>& a, const ScaledSquare<A>& b) {
  if (a.scale == b.scale) return {a.sum + b.sum, a.scale};
  if (a.sum == 0) return b;
  if (b.sum == 0) return a;
  const bool first = a.scale < b.scale;  // the larger numbers
  const A large = first ? a.sum : b.sum, small = first ? b.sum : a.sum;
  const A scale = first ? a.scale : b.scale, ratio = scale / (first ? b.scale : a.scale);
  return {large + small * ratio * ratio, scale};
}

}  // namespace
}  // namespace tantu
