#pragma once

#include <cstdint>

/// Loops over contiguous numbers that the compiler turns into vector code.
namespace tantu::cpu {

/// The sum of term(i) for i in [0, n), in A; sixteen running sums, so that it vectorises and errors stay small. The
/// order is a function of n alone.
template <class A, class F>
inline A sum_of(int64_t n, F&& term) {
  constexpr int kWidth = 16;
  A lanes[kWidth] = {};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    for (int l = 0; l < kWidth; ++l) lanes[l] += static_cast<A>(term(i + l));
  for (int l = 0; l < kWidth && i < n; ++i, ++l) lanes[l] += static_cast<A>(term(i));
  for (int width = kWidth / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

/// The largest of x[0 … n), n >= 1; NaN if there is one.
template <class T>
inline T max_of(const T* x, int64_t n) {
  constexpr int kWidth = 16;
  T lanes[kWidth];
  for (int l = 0; l < kWidth; ++l) lanes[l] = x[0];
  int64_t i = 0;
  const auto larger = [](T a, T b) { return a > b || a != a ? a : b; };
  for (; i + kWidth <= n; i += kWidth)
    for (int l = 0; l < kWidth; ++l) lanes[l] = larger(lanes[l], x[i + l]);
  for (; i < n; ++i) lanes[0] = larger(lanes[0], x[i]);
  for (int l = 1; l < kWidth; ++l) lanes[0] = larger(lanes[0], lanes[l]);
  return lanes[0];
}

}  // namespace tantu::cpu
