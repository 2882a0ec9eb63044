#pragma once

#include <tantu/kernels/row_group.cuh>
#include <tantu/kernels/scaled_square.cuh>

#include <cmath>

// Mean and spread of many numbers: never a difference of squares.
namespace tantu {
namespace {

using std::isfinite;

/// Of numbers x·scale, as a group knows them: the mean is high + low, `square` is the sum of (x·scale - mean)². `scale`
/// is a power of two that keeps squares within float32, 1 for ordinary numbers.
template <class A>
struct Spread {
  A high, low, square, scale;
};

/// The same of the numbers themselves, `count` of them.
struct Moments {
  int64_t count;
  double mean, square;
};

struct Largest {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

/// Of the elements of x, by a group, all of whose threads take part: x(i) is one of them, x.each<Group>(n, f) calls f
/// with each that is this thread's. First the mean, from differences to x(0); then the sum of squared differences to
/// it, which also tells what it was rounded by. Not `centered`: the mean is 0.
template <class A, class Group, class X>
__device__ __forceinline__ Spread<A> spread_of(X x, int64_t n, bool centered, A* shared) {
  const A given = n > 0 ? x(0) : A(0), first = isfinite(given) ? given : A(0), count = static_cast<A>(n);
  A largest = 0, sum = 0;
  x.template each<Group>(n, [&](A v) {
    largest = Largest()(largest, v < 0 ? -v : v);
    sum += v - first;
  });
  const A scale = scale_for(Group::reduce(largest, shared, Largest()));
  if (scale != 1) {
    sum = 0;
    x.template each<Group>(n, [&](A v) { sum += v * scale - first * scale; });
  }
  Spread<A> s{0, 0, 0, scale};
  if (centered && n > 0) {
    const A shift = first * scale, rest = Group::sum(sum, shared) / count;
    s.high = shift + rest;
    if (isfinite(s.high)) s.low = (shift - s.high) + rest;
  }
  A delta = 0;
  x.template each<Group>(n, [&](A v) {
    const A d = (v * scale - s.high) - s.low;
    delta += d;
    s.square += d * d;
  });
  s.square = Group::sum(s.square, shared);
  if (centered && n > 0) {
    const A rest = Group::sum(delta, shared) / count;
    if (isfinite(rest)) s.low += rest;
    s.square -= rest * rest * count;
  }
  return s;
}

/// A few float64 operations: for one thread of a group.
template <class A>
__device__ __forceinline__ Moments moments_of(const Spread<A>& s, int64_t n) {
  const double back = 1 / static_cast<double>(s.scale);
  return {n, (static_cast<double>(s.high) + static_cast<double>(s.low)) * back,
          static_cast<double>(s.square) * back * back};
}

/// The moments of both together: T. F. Chan, G. H. Golub, R. J. LeVeque, Am. Stat. 37 (3), 1983. Counts are integers.
__device__ __forceinline__ Moments merged(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const int64_t count = a.count + b.count;
  const double share = static_cast<double>(b.count) / static_cast<double>(count), distance = b.mean - a.mean;
  return {count, isfinite(distance) ? a.mean + distance * share : a.mean + b.mean,
          a.square + b.square + distance * distance * (share * static_cast<double>(a.count))};
}

/// Mean and 1 / sqrt(var + eps) as kernels use them: x - high is exact near the mean, so (x - high) - low keeps the
/// spread.
template <class A>
struct Normal {
  A high, low, rstd;

  __device__ __forceinline__ A of(A x) const { return ((x - high) - low) * rstd; }
};

template <class A>
__device__ __forceinline__ Normal<A> normal_of(double mean, double rstd) {
  const A high = static_cast<A>(mean);
  return {high, static_cast<A>(mean - static_cast<double>(high)), static_cast<A>(rstd)};
}

/// Writes the Normal of each (mean, rstd) of `stats`.
template <class A>
__global__ void __launch_bounds__(kRowThreads) split_stats_kernel(const double* stats, int64_t n, Normal<A>* normals) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kRowThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kRowThreads)
    normals[i] = normal_of<A>(stats[2 * i], stats[2 * i + 1]);
}

}  // namespace
}  // namespace tantu
