#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tantu {

namespace detail {

/// float → float16 bits, round to nearest even; overflow from 65520 gives infinity; NaN stays a (quiet) NaN.
constexpr uint16_t float_to_half_bits(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (x >> 16) & 0x8000u;
  const uint32_t magnitude = x & 0x7fffffffu;
  if (magnitude >= 0x7f800000u)  // inf, NaN
    return static_cast<uint16_t>(sign | 0x7c00u |
                                 (magnitude > 0x7f800000u ? 0x200u | ((magnitude >> 13) & 0x1ffu) : 0u));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above
  if (magnitude < 0x33000001u) return static_cast<uint16_t>(sign);             // at most half of the smallest subnormal
  if (magnitude < 0x38800000u) {                                               // subnormal: value = m * 2^-24
    const int shift = 126 - static_cast<int>(magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1);
    return static_cast<uint16_t>(sign | (kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

constexpr float half_bits_to_float(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

/// float → bfloat16 bits, round to nearest even; NaN stays a (quiet) NaN.
constexpr uint16_t float_to_bfloat16_bits(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

}  // namespace detail

/// IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits. Largest 65504, smallest subnormal 6e-8. Storage only: compute
/// in float.
struct float16 {
  uint16_t bits = 0;

  constexpr float16() = default;
  constexpr float16(float value) {
    if (std::is_constant_evaluated()) bits = detail::float_to_half_bits(value);
    else bits = encode(value);
  }
  constexpr operator float() const {
    if (std::is_constant_evaluated()) return detail::half_bits_to_float(bits);
    return decode(bits);
  }
  static constexpr float16 from_bits(uint16_t bits) {
    float16 h;
    h.bits = bits;
    return h;
  }

 private:
#if defined(__F16C__)
  static uint16_t encode(float value) {
    return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
  }
  static float decode(uint16_t h) {
    return _cvtsh_ss(h);
  }
#else
  static uint16_t encode(float value) {
    return detail::float_to_half_bits(value);
  }
  static float decode(uint16_t h) {
    return detail::half_bits_to_float(h);
  }
#endif
};

/// The upper half of a float: 1 sign, 8 exponent, 7 mantissa bits. Storage only: compute in float.
struct bfloat16 {
  uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr bfloat16(float value) : bits(detail::float_to_bfloat16_bits(value)) {}
  constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static constexpr bfloat16 from_bits(uint16_t bits) {
    bfloat16 b;
    b.bits = bits;
    return b;
  }
};

}  // namespace tantu
