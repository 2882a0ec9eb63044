#pragma once

namespace tantu::cpu {

/// The larger of two; NaN if one of them is. Written so that compilers make one maximum and one blend of it.
template <class T>
T nan_max(T a, T b) {
  const T larger = a < b ? b : a;
  return b != b ? b : larger;
}

/// The smaller of two; NaN if one of them is.
template <class T>
T nan_min(T a, T b) {
  const T smaller = a > b ? b : a;
  return b != b ? b : smaller;
}

}  // namespace tantu::cpu
