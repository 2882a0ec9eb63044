#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// Natural logarithm, sine and cosine of PyTorch's vectorised normal fill, one number at a time: the polynomials of the
/// Cephes library (S. Moshier, 1989) in float32. Every line is one rounding per operation shown, so that a vector of
/// them gives the same bits on any machine.
namespace tantu::cpu {

/// log(x) for x in (0, 1].
inline float log_unit(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x < 0x1p-126f ? 0x1p-126f : x);
  float e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127) + 1.0f;
  float m = std::bit_cast<float>((bits & ~0x7f800000u) | 0x3f000000u);
  const bool small = m < 0.707106781186547524f;
  e = small ? e - 1.0f : e;
  m = (m - 1.0f) + (small ? m : 0.0f);
  const float z = m * m;
  float y = 7.0376836292E-2f;
  y = std::fma(y, m, -1.1514610310E-1f);
  y = std::fma(y, m, 1.1676998740E-1f);
  y = std::fma(y, m, -1.2420140846E-1f);
  y = std::fma(y, m, 1.4249322787E-1f);
  y = std::fma(y, m, -1.6668057665E-1f);
  y = std::fma(y, m, 2.0000714765E-1f);
  y = std::fma(y, m, -2.4999993993E-1f);
  y = std::fma(y, m, 3.3333331174E-1f);
  y = y * m;
  y = std::fma(y, z, e * -2.12194440e-4f);
  y = std::fma(-z, 0.5f, y);
  return std::fma(e, 0.693359375f, m + y);
}

/// Sine and cosine of x >= 0, as far as int holds x * 4 / pi.
inline void sincos_positive(float x, float& sin, float& cos) {
  const int32_t j = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
  const float q = static_cast<float>(j);
  x = std::fma(q, -0.78515625f, x);
  x = std::fma(q, -2.4187564849853515625e-4f, x);
  x = std::fma(q, -3.77489497744594108e-8f, x);
  const float z = x * x;
  float c = 2.443315711809948E-5f;
  c = std::fma(c, z, -1.388731625493765E-3f);
  c = std::fma(c, z, 4.166664568298827E-2f);
  c = c * z;
  c = std::fma(c, z, -(z * 0.5f));
  c = c + 1.0f;
  float s = -1.9515295891E-4f;
  s = std::fma(s, z, 8.3321608736E-3f);
  s = std::fma(s, z, -1.6666654611E-1f);
  s = s * z;
  s = std::fma(s, x, x);
  const bool swapped = (j & 2) != 0;
  const uint32_t sin_sign = static_cast<uint32_t>(j & 4) << 29, cos_sign = static_cast<uint32_t>(~(j - 2) & 4) << 29;
  sin = std::bit_cast<float>(std::bit_cast<uint32_t>(swapped ? c : s) ^ sin_sign);
  cos = std::bit_cast<float>(std::bit_cast<uint32_t>(swapped ? s : c) ^ cos_sign);
}

/// Sixteen uniform values, eight for the radius and eight for the angle, become sixteen normal ones.
inline void box_muller_16(float* d, float mean, float std) {
  for (int j = 0; j < 8; ++j) {
    const float r = std::sqrt(-2.0f * log_unit(1.0f - d[j]));
    float sin, cos;
    sincos_positive(6.2831855f * d[j + 8], sin, cos);
    d[j] = std::fma(r * cos, std, mean);
    d[j + 8] = std::fma(r * sin, std, mean);
  }
}

}  // namespace tantu::cpu
