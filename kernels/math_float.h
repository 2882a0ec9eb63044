#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// exp, log, sin … of one float on the host, without branches or calls, so that a compiler turns a loop over them into
/// vector code. Errors stay below 2 ulp for every float, subnormals included; infinities, NaN and -0 give what C's
/// functions give (tests/kernels/math_test.cpp). Coefficients are minimax fits of our own (Remez, weighted for relative
/// error); the largest error of each polynomial is noted beside it. tan, atan2 and pow work in double, which needs no
/// error compensation. The reductions are the usual ones (W. J. Cody and W. Waite, "Software Manual for the Elementary
/// Functions", 1980; M. Payne and R. Hanek, "Radian reduction for trigonometric functions", 1983).
namespace tantu::math::vectorized {

inline constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

inline uint32_t bits(float x) {
  return std::bit_cast<uint32_t>(x);
}
inline float from_bits(uint32_t b) {
  return std::bit_cast<float>(b);
}
inline float magnitude(float x) {
  return from_bits(bits(x) & 0x7fffffffu);
}
/// `x` ≥ 0 with the sign of `s`.
inline float with_sign(float x, float s) {
  return from_bits(bits(x) | (bits(s) & 0x80000000u));
}

/// a * b + c, fused where the machine can.
template <class T>
inline T mul_add(T a, T b, T c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// c0 + c1 x + c2 x² …
template <class T, class... More>
inline T polynomial(T x, T c0, More... more) {
  if constexpr (sizeof...(more) == 0) return c0;
  else return mul_add(x, polynomial<T>(x, static_cast<T>(more)...), c0);
}

// ln 2 in two parts; the first has 9 bits, so that n * kLn2High is exact for every exponent n.
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

/// x = n ln 2 + r, |r| ≤ ln 2 / 2, and (e^r - 1 - r) / r². Expects |x| < 1000 or NaN.
struct ExpParts {
  float n, r, tail;
  uint32_t n_bits;  // n as an integer

  explicit ExpParts(float x) {
    const float magic = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer, kept in the low bits
    const float shifted = mul_add(x, 1.44269504f, magic);
    n_bits = bits(shifted) - bits(magic);
    n = shifted - magic;
    r = mul_add(n, -kLn2Low, mul_add(n, -kLn2High, x));
    tail = polynomial(r, 4.999999702e-01f, 1.666654348e-01f, 4.166720062e-02f, 8.366520517e-03f,
                      1.388252247e-03f);  // 2^-26
  }
};

/// 2^n for -126 ≤ n ≤ 127.
inline float power_of_two(uint32_t n) {
  return from_bits((n + 127u) << 23);
}

inline float exp(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  const ExpParts p(clamped);
  const float head = 1.0f + p.r, lost = (1.0f - head) + p.r;  // head + lost = 1 + r exactly
  const float y = head + mul_add(p.r * p.r, p.tail, lost);
  const uint32_t half = static_cast<uint32_t>(static_cast<int32_t>(p.n_bits) >> 1);  // two steps: n may reach -150
  return y * power_of_two(half) * power_of_two(p.n_bits - half);
}

inline float expm1(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -40.0f ? -40.0f : x;
  const ExpParts p(clamped);
  const float s = power_of_two(p.n_bits - 1u);  // half of the scale: n may reach 128
  const float y = mul_add(p.r * p.r, p.tail, p.r);
  const float result = 2.0f * mul_add(s, y, s - 0.5f);
  return x == 0 ? x : result;
}

/// x = 2^e m, 2/3 ≤ m < 4/3; x positive and normal. `scale` is 2^-e.
struct LogParts {
  float e, m, scale;

  explicit LogParts(float x) {
    const uint32_t exponent = (bits(x) - 0x3f2aaaabu) & 0xff800000u;
    m = from_bits(bits(x) - exponent);
    e = static_cast<float>(static_cast<int32_t>(exponent) >> 23);
    scale = from_bits(0x3f800000u - exponent);
  }
};

/// ln(1 + f) - f for |f| ≤ 1/3.
inline float log_tail(float f) {
  const float p =
      polynomial(f, 3.333333433e-01f, -2.499981970e-01f, 1.999959797e-01f, -1.667957902e-01f, 1.430445611e-01f,
                 -1.219577640e-01f, 1.075424030e-01f, -1.284506917e-01f, 1.200713739e-01f);  // 2^-30
  return f * f * mul_add(f, p, -0.5f);
}

/// The logarithm of a positive number for other x: -inf at 0, NaN below, inf at inf.
inline float log_special(float x, float regular) {
  return x > 0 ? (x < kInf ? regular : x) : (x == 0 ? -kInf : kNaN);
}

inline float log(float x) {
  const bool subnormal = x < 1.17549435e-38f;
  const LogParts p(subnormal ? x * 8388608.0f : x);
  const float e = subnormal ? p.e - 23.0f : p.e, f = p.m - 1.0f;
  return log_special(x, mul_add(e, kLn2High, f) + mul_add(e, kLn2Low, log_tail(f)));
}

inline float log2(float x) {
  const bool subnormal = x < 1.17549435e-38f;
  const LogParts p(subnormal ? x * 8388608.0f : x);
  const float e = subnormal ? p.e - 23.0f : p.e, f = p.m - 1.0f;
  // (f + tail) log2(e), with log2(e) in two parts, the first short, so that near 1 nothing is lost.
  const float head = f * 1.4423828125f;
  return log_special(
      x, e + (head + mul_add(f, 3.1223192e-4f, mul_add(f, 1.4423828125f, -head) + log_tail(f) * 1.44269504f)));
}

inline float log1p(float x) {
  const float u = 1.0f + x, back = u - 1.0f;
  const float lost = (1.0f - (u - back)) + (x - back);  // u + lost = 1 + x exactly
  const LogParts p(u);
  const float f = (p.m - 1.0f) + (u > 1e12f ? 0.0f : lost * p.scale);
  const float result = log_special(u, mul_add(p.e, kLn2High, f) + mul_add(p.e, kLn2Low, log_tail(f)));
  return x == 0 ? x : result;
}

inline float sigmoid(float x) {
  const float z = exp(-magnitude(x)), n = x < 0 ? z : 1.0f;  // n / (1 + z)
  const float d = 1.0f + z, inverse = 1.0f / d;
  const float missing = mul_add(-inverse, d, 1.0f) - inverse * ((1.0f - d) + z);  // of inverse: one step of Newton
  const float whole = n * inverse;
  return mul_add(whole, missing, whole);
}

inline float tanh(float x) {
  const float a = magnitude(x), z = a * a;
  const float small = mul_add(
      a * z, polynomial(z, -3.333328068e-01f, 1.333144158e-01f, -5.373971537e-02f, 2.063908800e-02f, -5.704986863e-03f),
      a);  // 2^-27
  const float large = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return with_sign(a < 0.625f ? small : large, x);
}

inline float erf(float x) {
  const float a = magnitude(x), z = a * a;
  const float p = polynomial(z, -3.761263788e-01f, 1.128378958e-01f, -2.686591260e-02f, 5.222672131e-03f,
                             -8.512706845e-04f, 1.151336037e-04f, -1.050615356e-05f);  // 2^-37
  const float small = mul_add(a, mul_add(z, p, 0.128379167f), a);                      // 2/sqrt(pi) = 1.128…
  const float t = a > 3.93f ? 3.93f : a;
  const float log_rest =
      polynomial(t, 1.692039223e-04f, -1.129488349e+00f, -6.334008574e-01f, -1.082203686e-01f, 2.508060634e-02f,
                 -4.156250972e-03f, 4.313927202e-04f, -2.082854189e-05f);  // ln(1 - erf t), 2^-34
  return with_sign(a < 0.9f ? small : 1.0f - exp(log_rest), x);
}

/// atan of 0 ≤ t ≤ 1.
template <class T>
inline T atan_unit(T t) {
  const T z = t * t;
  const T p = polynomial<T>(z, -0.3333332689949286, 0.19999671120723231, -0.14279833022344612, 0.11058223488942989,
                            -0.088110906469274664, 0.067415954583627896, -0.044689917469977511, 0.02253984568946904,
                            -0.0073179460797674874, 0.001113786580017806);  // 2^-31
  return mul_add(t * z, p, t);
}

inline float atan(float x) {
  const float a = magnitude(x);
  const float p = atan_unit(a > 1.0f ? 1.0f / a : a);
  return with_sign(a > 1.0f ? (1.57079637f - p) + -4.37113883e-8f : p, x);
}

inline float atan2(float y, float x) {
  const double ay = magnitude(y), ax = magnitude(x);
  const double high = ay > ax ? ay : ax, low = ay > ax ? ax : ay;
  const double t = low == high ? (high == 0 ? 0.0 : 1.0) : low / high;
  const double octant = atan_unit(t);
  const double quadrant = ay > ax ? 1.5707963267948966 - octant : octant;
  const double half = (bits(x) >> 31) ? 3.1415926535897932 - quadrant : quadrant;
  return x != x || y != y ? kNaN : with_sign(static_cast<float>(half), y);
}

// 2^(j - 24) · 2/pi modulo 4 for j = 0 … 128, in two parts: `high` has 29 bits, so that its product with a 24-bit
// mantissa is exact.
struct TwoOverPi {
  std::array<double, 129> high{}, low{};

  constexpr TwoOverPi() {
    constexpr uint32_t words[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const auto bit = [&](int i) { return i >= 1 && ((words[(i - 1) / 32] >> (31 - (i - 1) % 32)) & 1u) != 0; };
    for (int j = 0; j <= 128; ++j) {
      double weight = 2.0;
      for (int k = 0; k < 29 + 53; ++k, weight *= 0.5)
        if (bit(j - 25 + k)) (k < 29 ? high : low)[static_cast<size_t>(j)] += weight;
    }
  }
};
inline constexpr TwoOverPi kTwoOverPi;

/// |x| = (quarter + 4k) · pi/2 + r with |r| ≤ pi/4, in double.
struct Reduced {
  double r;
  uint32_t quarter;

  explicit Reduced(float x) {
    const uint32_t a = bits(x) & 0x7fffffffu;
    const uint32_t exponent = a >> 23;
    const uint32_t j = exponent < 126u ? 0u : exponent > 254u ? 128u : exponent - 126u;
    const double mantissa = static_cast<double>(static_cast<int32_t>((a & 0x7fffffu) | 0x800000u));
    const double product = mantissa * kTwoOverPi.high[j];
    const double magic = 6755399441055744.0;  // 1.5 · 2^52
    const double turns = (product + magic) - magic;
    const double part = mul_add(mantissa, kTwoOverPi.low[j], product - turns);
    const double shifted = (turns + (part + magic - magic)) + magic;
    const bool small = from_bits(a) < 0.7853982f;
    r = small ? static_cast<double>(from_bits(a)) : (part - (part + magic - magic)) * 1.5707963267948966;
    quarter = small ? 0u : static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted));
  }
};

template <class T>
inline T sin_kernel(T r) {
  const T z = r * r;
  return mul_add(
      r * z,
      polynomial<T>(z, -0.16666666640776223, 0.0083333293024139502, -0.00019839311484227165, 2.7181141064586573e-06),
      r);  // 2^-37
}
template <class T>
inline T cos_kernel(T r) {
  const T z = r * r;
  return mul_add(
      z * z,
      polynomial<T>(z, 0.041666666619453681, -0.0013888883496858101, 2.4799459310056566e-05, -2.7205684643602065e-07),
      mul_add<T>(z, -0.5, 1.0));  // 2^-43
}

inline float sin(float x) {
  const Reduced p(x);
  const float r = static_cast<float>(p.r), y = (p.quarter & 1u) ? cos_kernel(r) : sin_kernel(r);
  const float result = from_bits(bits(y) ^ ((p.quarter & 2u) << 30) ^ (bits(x) & 0x80000000u));
  return magnitude(x) < kInf ? result : kNaN;
}

inline float cos(float x) {
  const Reduced p(x);
  const float r = static_cast<float>(p.r), y = (p.quarter & 1u) ? sin_kernel(r) : cos_kernel(r);
  const float result = from_bits(bits(y) ^ (((p.quarter + 1u) & 2u) << 30));
  return magnitude(x) < kInf ? result : kNaN;
}

inline float tan(float x) {
  const Reduced p(x);
  const double s = sin_kernel(p.r), c = cos_kernel(p.r);
  const float y = static_cast<float>((p.quarter & 1u) ? -c / s : s / c);
  return magnitude(x) < kInf ? from_bits(bits(y) ^ (bits(x) & 0x80000000u)) : kNaN;
}

/// log2 of a positive finite float.
inline double log2_double(double x) {
  const uint64_t b = std::bit_cast<uint64_t>(x);
  const uint64_t exponent = (b - 0x3fe6a09e00000000u) & 0xfff0000000000000u;  // m in [sqrt(1/2), sqrt(2))
  const double m = std::bit_cast<double>(b - exponent);
  const double e = static_cast<double>(static_cast<int64_t>(exponent) >> 52);
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  const double p = polynomial(z, 0.96179669405863055, 0.57707795283494878, 0.41220844555321773, 0.31993272598398159,
                              0.2825720909090858);  // 2^-43
  return mul_add(s, mul_add(z, p, 2.8853900817779268), e);
}

/// 2^t for |t| ≤ 1000.
inline double exp2_double(double t) {
  const double magic = 6755399441055744.0;
  const double shifted = t + magic, f = t - (shifted - magic);
  const double p = polynomial(f, 0.99999999996162114, 0.69314718072870973, 0.24022651198756717, 0.055504103528483374,
                              0.0096180271725285187, 0.0013333922842530053, 0.00015469317376157429,
                              1.5201904200199121e-05);  // 2^-34
  return p * std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023u) << 52);
}

inline float pow(float x, float y) {
  const float a = magnitude(x), half = y * 0.5f;
  const bool whole = y == std::rint(y), odd = whole & (half != std::rint(half)), negative = (bits(x) >> 31) != 0;
  double t = y * log2_double(a);
  t = a == 0 ? y * -static_cast<double>(kInf) : t;
  t = a == kInf ? y * static_cast<double>(kInf) : t;
  t = a == 1.0f ? 0.0 : t;
  t = t > 200.0 ? 200.0 : t;
  t = t < -200.0 ? -200.0 : t;
  float r = static_cast<float>(exp2_double(t));
  r = (negative & odd) ? -r : r;
  r = (negative & !whole & (a != 0) & (a != kInf)) ? kNaN : r;
  r = ((x != x) | (y != y)) ? kNaN : r;
  return ((y == 0) | (x == 1.0f)) ? 1.0f : r;
}

}  // namespace tantu::math::vectorized
