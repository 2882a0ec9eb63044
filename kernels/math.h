#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#ifdef __CUDACC__
#define TANTU_HD __host__ __device__
#else
#define TANTU_HD
#endif

/// The vocabulary of kernels/pointwise.def, here for single numbers. The same text also means tensors (autograd/) — so the
/// rows speak in functions (`where`, `exp`, `maximum`), never in `?:`, `if` or casts.
namespace tantu::math {

/// A float, double or int64_t that mixes with literals without leaving its type: `a * 0.5` stays float.
template <class T>
struct Real {
  T v;

  Real() = default;
  TANTU_HD constexpr Real(double value) : v(static_cast<T>(value)) {}
  TANTU_HD constexpr Real(float value) : v(static_cast<T>(value)) {}
  TANTU_HD constexpr Real(int value) : v(static_cast<T>(value)) {}
  TANTU_HD constexpr Real(int64_t value) : v(static_cast<T>(value)) {}

  TANTU_HD friend constexpr Real operator+(Real a, Real b) { return of(a.v + b.v); }
  TANTU_HD friend constexpr Real operator-(Real a, Real b) { return of(a.v - b.v); }
  TANTU_HD friend constexpr Real operator*(Real a, Real b) { return of(a.v * b.v); }
  TANTU_HD friend constexpr Real operator/(Real a, Real b) { return of(a.v / b.v); }
  TANTU_HD friend constexpr Real operator-(Real a) { return of(-a.v); }
  TANTU_HD friend constexpr bool operator<(Real a, Real b) { return a.v < b.v; }
  TANTU_HD friend constexpr bool operator<=(Real a, Real b) { return a.v <= b.v; }
  TANTU_HD friend constexpr bool operator>(Real a, Real b) { return a.v > b.v; }
  TANTU_HD friend constexpr bool operator>=(Real a, Real b) { return a.v >= b.v; }
  TANTU_HD friend constexpr bool operator==(Real a, Real b) { return a.v == b.v; }
  TANTU_HD friend constexpr bool operator!=(Real a, Real b) { return a.v != b.v; }

  /// a where the condition holds, else b.
  TANTU_HD friend constexpr Real where(bool condition, Real a, Real b) { return condition ? a : b; }

  TANTU_HD static constexpr Real of(T value) {
    Real r;
    r.v = value;
    return r;
  }
};

/// What a row's parameter is in an expression over V: a Real of the same type for numbers, a double for tensors.
template <class V>
struct ParamOf {
  using type = double;
};
template <class T>
struct ParamOf<Real<T>> {
  using type = Real<T>;
};
template <class V>
using param_t = typename ParamOf<V>::type;

template <class T>
TANTU_HD inline Real<T> exp(Real<T> a) {
  return Real<T>::of(std::exp(a.v));
}
template <class T>
TANTU_HD inline Real<T> log(Real<T> a) {
  return Real<T>::of(std::log(a.v));
}
template <class T>
TANTU_HD inline Real<T> sqrt(Real<T> a) {
  return Real<T>::of(std::sqrt(a.v));
}

}  // namespace tantu::math
