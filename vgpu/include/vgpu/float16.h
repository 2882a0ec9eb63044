/// Conversions of the 16-bit float formats: round to nearest even, subnormals kept, overflow to infinity, NaN quiet.
#pragma once
#include <vgpu/abi.h>

#include <bit>
#include <cstdint>

inline namespace vgpu_abi {
namespace vgpu {

/// f must be wide enough that the value is exact in it; one rounding.
constexpr uint16_t half_bits_soft(double value) {
  uint64_t b = std::bit_cast<uint64_t>(value);
  uint16_t sign = static_cast<uint16_t>(b >> 48 & 0x8000u);
  uint64_t mantissa = b & 0xfffffffffffffull;
  int exponent = static_cast<int>(b >> 52 & 0x7ff) - 1023;
  if (exponent == 1024) return static_cast<uint16_t>(sign | (mantissa ? 0x7e00u | (mantissa >> 42) : 0x7c00u));
  if (exponent > 15) return static_cast<uint16_t>(sign | 0x7c00u);
  if (exponent < -25) return sign;
  mantissa |= 1ull << 52;
  int shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
  uint64_t kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1), halfway = 1ull << (shift - 1);
  kept += rest > halfway || (rest == halfway && (kept & 1u));
  if (exponent >= -14) kept += static_cast<uint64_t>(exponent + 14) << 10;
  return static_cast<uint16_t>(sign | kept);
}
constexpr float half_value_soft(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa ? 0x400000u | mantissa << 13 : 0u));
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float small = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -small : small;
}

#if defined(__FLT16_MAX__) && defined(__F16C__)
VGPU_INLINE uint16_t half_bits(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
VGPU_INLINE float half_value(uint16_t h) {
  return static_cast<float>(std::bit_cast<_Float16>(h));
}
#else
VGPU_INLINE uint16_t half_bits(float value) {
  return half_bits_soft(value);
}
VGPU_INLINE float half_value(uint16_t h) {
  return half_value_soft(h);
}
#endif

constexpr uint16_t bfloat16_bits(float value) {
  uint32_t b = std::bit_cast<uint32_t>(value);
  if ((b & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(b >> 16 | 0x40u);
  return static_cast<uint16_t>((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
constexpr float bfloat16_value(uint16_t h) {
  return std::bit_cast<float>(static_cast<uint32_t>(h) << 16);
}
/// A double is first rounded to odd in float, so that the second rounding is the only one that counts.
constexpr float odd_float(double value) {
  float f = static_cast<float>(value);
  if (static_cast<double>(f) == value || f != f) return f;
  uint32_t b = std::bit_cast<uint32_t>(f);
  if ((b & 0x7fffffffu) == 0x7f800000u) return f;
  bool above = (value > 0) == (static_cast<double>(f) > value);
  if (above) --b;
  return std::bit_cast<float>(b | 1u);
}

}  // namespace vgpu
}  // namespace vgpu_abi
