#pragma once

#include <cstdint>

/// Loops over contiguous numbers that the compiler turns into vector code.
namespace tantu::cpu {

inline constexpr int kLanes = 32;    ///< running results side by side
inline constexpr int kFewLanes = 8;  ///< the same for what is left

/// Calls step(lane, i) for i in [0, n): lanes 0 … 31 side by side, then 0 … 7, then lane 0. The order is a function of
/// n alone.
template <class F>
inline void for_lanes(int64_t n, F&& step) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) step(l, i + l);
  for (; i + kFewLanes <= n; i += kFewLanes)
    for (int l = 0; l < kFewLanes; ++l) step(l, i + l);
  for (; i < n; ++i) step(0, i);
}

template <class A>
inline A sum_lanes(A* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

/// The sum of term(i) for i in [0, n), in A.
template <class A, class F>
inline A sum_of(int64_t n, F&& term) {
  A lanes[kLanes] = {};
  for_lanes(n, [&](int l, int64_t i) { lanes[l] += static_cast<A>(term(i)); });
  return sum_lanes(lanes);
}

/// The sums of x - shift and of its square.
struct Sums {
  double first = 0, second = 0;
};
template <class T>
inline Sums sums_around(const T* x, int64_t n, double shift) {
  double first[kLanes] = {}, second[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    double d[kLanes];
    for (int l = 0; l < kLanes; ++l) d[l] = static_cast<double>(x[i + l]) - shift;
    for (int l = 0; l < kLanes; ++l) first[l] += d[l];
    for (int l = 0; l < kLanes; ++l) second[l] += d[l] * d[l];
  }
  for_lanes(n - i, [&](int l, int64_t k) {
    const double d = static_cast<double>(x[i + k]) - shift;
    first[l] += d;
    second[l] += d * d;
  });
  return {sum_lanes(first), sum_lanes(second)};
}

/// The largest of x[0 … n), n >= 1, when there is no NaN among them.
template <class T>
inline T max_of(const T* x, int64_t n) {
  T lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = x[0];
  for_lanes(n, [&](int l, int64_t i) { lanes[l] = lanes[l] < x[i] ? x[i] : lanes[l]; });
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] = lanes[l] < lanes[l + width] ? lanes[l + width] : lanes[l];
  return lanes[0];
}

}  // namespace tantu::cpu
