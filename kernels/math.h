#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tantu/kernels/host_device.h>
#ifndef __CUDACC__
#include <tantu/kernels/math_float.h>
#endif

/// The vocabulary of kernels/pointwise.def, here for single numbers. The same text also means tensors (autograd/) — so
/// the rows speak in functions (`where`, `exp`, `maximum`), never in `?:`, `if`, `&&` or casts.
namespace tantu::math {

/// A float, double or int64_t that mixes with literals without leaving its type: `a * 0.5` stays float. Integers wrap
/// round, as the machine's do, and a floating parameter out of an integer's range becomes the nearest end of it (NaN
/// becomes 0).
template <class T>
struct Real {
  T v;
  static constexpr bool is_integer = std::is_integral_v<T>;
  static constexpr T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();

  Real() = default;
  TANTU_HD constexpr Real(double value) : v(from(value)) {}
  TANTU_HD constexpr Real(float value) : v(from(value)) {}
  TANTU_HD constexpr Real(int value) : v(static_cast<T>(value)) {}
  TANTU_HD constexpr Real(int64_t value) : v(static_cast<T>(value)) {}

  TANTU_HD friend constexpr Real operator+(Real a, Real b) {
    if constexpr (is_integer) return of(static_cast<T>(static_cast<uint64_t>(a.v) + static_cast<uint64_t>(b.v)));
    else return of(a.v + b.v);
  }
  TANTU_HD friend constexpr Real operator-(Real a, Real b) {
    if constexpr (is_integer) return of(static_cast<T>(static_cast<uint64_t>(a.v) - static_cast<uint64_t>(b.v)));
    else return of(a.v - b.v);
  }
  TANTU_HD friend constexpr Real operator*(Real a, Real b) {
    if constexpr (is_integer) return of(static_cast<T>(static_cast<uint64_t>(a.v) * static_cast<uint64_t>(b.v)));
    else return of(a.v * b.v);
  }
  /// Of integers: rounded towards zero; 0 when b is 0 (the caller has refused that).
  TANTU_HD friend constexpr Real operator/(Real a, Real b) {
    if constexpr (is_integer) return b.v == 0 ? of(0) : b.v == -1 ? -a : of(a.v / b.v);
    else return of(a.v / b.v);
  }
  TANTU_HD friend constexpr Real operator-(Real a) {
    if constexpr (is_integer) return of(static_cast<T>(0u - static_cast<uint64_t>(a.v)));
    else return of(-a.v);
  }
  TANTU_HD friend constexpr bool operator<(Real a, Real b) { return a.v < b.v; }
  TANTU_HD friend constexpr bool operator<=(Real a, Real b) { return a.v <= b.v; }
  TANTU_HD friend constexpr bool operator>(Real a, Real b) { return a.v > b.v; }
  TANTU_HD friend constexpr bool operator>=(Real a, Real b) { return a.v >= b.v; }
  TANTU_HD friend constexpr bool operator==(Real a, Real b) { return a.v == b.v; }
  TANTU_HD friend constexpr bool operator!=(Real a, Real b) { return a.v != b.v; }

  /// a where the condition holds, else b.
  TANTU_HD friend constexpr Real where(bool condition, Real a, Real b) { return of(condition ? a.v : b.v); }
  /// NaN if either is.
  TANTU_HD friend constexpr Real maximum(Real a, Real b) {
    const T larger = a.v > b.v ? a.v : b.v;
    return of(a.v != a.v ? a.v : larger);
  }
  TANTU_HD friend constexpr Real minimum(Real a, Real b) {
    const T smaller = a.v < b.v ? a.v : b.v;
    return of(a.v != a.v ? a.v : smaller);
  }

  TANTU_HD static constexpr Real of(T value) {
    Real r;
    r.v = value;
    return r;
  }

 private:
  TANTU_HD static constexpr T from(double value) {
    if constexpr (is_integer) {
      if (!(value > -9223372036854775808.0)) return value != value ? T(0) : lowest;
      return value < 9223372036854775808.0 ? static_cast<T>(value) : highest;
    } else {
      return static_cast<T>(value);
    }
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

// The same words where all operands are parameters or conditions.
TANTU_HD constexpr double where(bool condition, double a, double b) {
  return condition ? a : b;
}
TANTU_HD constexpr bool logical_and(bool a, bool b) {
  return a & b;
}
TANTU_HD constexpr bool logical_or(bool a, bool b) {
  return a | b;
}
TANTU_HD constexpr bool logical_xor(bool a, bool b) {
  return a != b;
}
TANTU_HD constexpr bool logical_not(bool a) {
  return !a;
}

// float: vector code on the host, CUDA's functions in its compiler. double: the C library's. Integers are only ever
// asked for these in code that does not run.
#ifdef __CUDACC__
#define TANTU_FLOAT_WORD(name) ::name##f
#else
#define TANTU_FLOAT_WORD(name) vectorized::name
#endif
#define TANTU_WORD(name)                                                                     \
  template <class T>                                                                         \
  TANTU_HD inline Real<T> name(Real<T> a) {                                                  \
    if constexpr (std::is_same_v<T, float>) return Real<T>::of(TANTU_FLOAT_WORD(name)(a.v)); \
    else return Real<T>::of(static_cast<T>(std::name(static_cast<double>(a.v))));            \
  }
TANTU_WORD(exp)
TANTU_WORD(expm1)
TANTU_WORD(log)
TANTU_WORD(log1p)
TANTU_WORD(log2)
TANTU_WORD(sin)
TANTU_WORD(cos)
TANTU_WORD(tan)
TANTU_WORD(atan)
TANTU_WORD(tanh)
TANTU_WORD(erf)
#undef TANTU_WORD

template <class T>
TANTU_HD inline Real<T> atan2(Real<T> y, Real<T> x) {
  if constexpr (std::is_same_v<T, float>) return Real<T>::of(TANTU_FLOAT_WORD(atan2)(y.v, x.v));
  else return Real<T>::of(static_cast<T>(std::atan2(static_cast<double>(y.v), static_cast<double>(x.v))));
}

/// Of integers: exact, wrapping round; with a negative exponent 1, -1 or 0, the part of the quotient before the point.
template <class T>
TANTU_HD inline Real<T> pow(Real<T> base, Real<T> exponent) {
  if constexpr (std::is_same_v<T, float>) {
    return Real<T>::of(TANTU_FLOAT_WORD(pow)(base.v, exponent.v));
  } else if constexpr (!Real<T>::is_integer) {
    return Real<T>::of(std::pow(base.v, exponent.v));
  } else {
    if (exponent.v < 0) return Real<T>::of(base.v == 1 ? 1 : base.v == -1 ? ((exponent.v & 1) ? -1 : 1) : 0);
    Real<T> result(1), square = base;
    for (T bits = exponent.v; bits != 0; bits >>= 1) {
      if (bits & 1) result = result * square;
      square = square * square;
    }
    return result;
  }
}
#undef TANTU_FLOAT_WORD

template <class T>
TANTU_HD inline Real<T> sqrt(Real<T> a) {
  return Real<T>::of(static_cast<T>(std::sqrt(a.v)));
}
template <class T>
TANTU_HD inline Real<T> abs(Real<T> a) {
  if constexpr (Real<T>::is_integer) return a.v < 0 ? -a : a;
  else return Real<T>::of(std::fabs(a.v));
}
template <class T>
TANTU_HD constexpr Real<T> square(Real<T> a) {
  return a * a;
}
/// a * b + c, rounded once where the machine can.
template <class T>
TANTU_HD inline Real<T> mul_add(Real<T> a, std::type_identity_t<Real<T>> b, std::type_identity_t<Real<T>> c) {
  if constexpr (Real<T>::is_integer) return a * b + c;
#ifdef __CUDACC__
  else return Real<T>::of(std::fma(a.v, b.v, c.v));
#else
  else return Real<T>::of(vectorized::mul_add(a.v, b.v, c.v));
#endif
}
/// -1, 0 or 1; 0 for NaN.
template <class T>
TANTU_HD inline Real<T> sign(Real<T> a) {
  return Real<T>::of(static_cast<T>((a.v > 0) - (a.v < 0)));
}
template <class T>
TANTU_HD inline Real<T> sigmoid(Real<T> a) {
#ifndef __CUDACC__
  if constexpr (std::is_same_v<T, float>) return Real<T>::of(vectorized::sigmoid(a.v));
#endif
  const Real<T> z = exp(-abs(a));
  return where(a < 0, z, Real<T>(1)) / (z + 1);
}
/// ln(sigmoid(a)), without overflow.
template <class T>
TANTU_HD inline Real<T> logsigmoid(Real<T> a) {
  return minimum(a, 0) - log1p(exp(-abs(a)));
}

#define TANTU_ROUNDING_WORD(name, function)      \
  template <class T>                             \
  TANTU_HD inline Real<T> name(Real<T> a) {      \
    if constexpr (Real<T>::is_integer) return a; \
    else return Real<T>::of(function(a.v));      \
  }
TANTU_ROUNDING_WORD(floor, std::floor)
TANTU_ROUNDING_WORD(ceil, std::ceil)
TANTU_ROUNDING_WORD(trunc, std::trunc)
TANTU_ROUNDING_WORD(round, std::rint)  // halves to even
#undef TANTU_ROUNDING_WORD

/// The remainder with the sign of a. Of integers: 0 when b is 0 (the caller has refused that).
template <class T>
TANTU_HD inline Real<T> fmod(Real<T> a, Real<T> b) {
  if constexpr (Real<T>::is_integer) return a - (a / b) * b;
  else return Real<T>::of(std::fmod(a.v, b.v));
}
/// The remainder with the sign of b.
template <class T>
TANTU_HD inline Real<T> remainder(Real<T> a, Real<T> b) {
  const Real<T> rest = fmod(a, b);
  return where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest);
}
/// The largest whole number not above a / b, computed so that a = b * floor_divide(a, b) + remainder(a, b) as nearly as
/// can be.
template <class T>
TANTU_HD inline Real<T> floor_divide(Real<T> a, Real<T> b) {
  const Real<T> rest = fmod(a, b);
  const bool below = (rest != 0) & ((rest < 0) != (b < 0));
  if constexpr (Real<T>::is_integer) {
    return where(below, a / b - 1, a / b);
  } else {
    const Real<T> whole = (a - rest) / b - where(below, 1, 0), down = floor(whole);
    const Real<T> zero = Real<T>::of(std::copysign(T(0), (a / b).v));
    return where(b == 0, a / b, where(whole == 0, zero, where(whole - down > 0.5, down + 1, down)));
  }
}
template <class T>
TANTU_HD constexpr bool isnan(Real<T> a) {
  return a.v != a.v;
}
template <class T>
TANTU_HD constexpr bool isfinite(Real<T> a) {
  if constexpr (Real<T>::is_integer) return true;
  else return (a.v <= Real<T>::highest) & (a.v >= Real<T>::lowest);
}
template <class T>
TANTU_HD constexpr bool isinf(Real<T> a) {
  return !(isfinite(a) | (a.v != a.v));
}

#define TANTU_BITWISE_WORD(name, op)                                   \
  template <class T>                                                   \
  TANTU_HD constexpr Real<T> name(Real<T> a, Real<T> b) {              \
    if constexpr (Real<T>::is_integer) return Real<T>::of(a.v op b.v); \
    else return a;                                                     \
  }
TANTU_BITWISE_WORD(bitwise_and, &)
TANTU_BITWISE_WORD(bitwise_or, |)
TANTU_BITWISE_WORD(bitwise_xor, ^)
#undef TANTU_BITWISE_WORD
template <class T>
TANTU_HD constexpr Real<T> bitwise_not(Real<T> a) {
  return bitwise_xor(a, Real<T>(-1));
}

template <class T>
TANTU_HD constexpr Real<T> zeros_like(Real<T>) {
  return Real<T>(0);
}

}  // namespace tantu::math
