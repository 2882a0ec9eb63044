#include <tantu/core/half.h>
#include <tantu/tests/catch.h>

#include <cmath>
#include <random>

using namespace tantu;

namespace {

// Rounds to nearest even by arithmetic alone: an independent way to the same bits.
uint16_t nearest_half(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(x);
  if (std::isnan(x)) return 0x7e00;
  if (a >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  int exponent;
  std::frexp(a, &exponent);
  const int scale = std::max(exponent - 11, -24);
  const double steps = std::nearbyint(std::ldexp(a, -scale));
  const double rounded = std::ldexp(steps, scale);
  if (rounded == 0) return sign;
  std::frexp(rounded, &exponent);
  if (rounded < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(rounded, 24)));
  const int biased = exponent - 1 + 15;
  return static_cast<uint16_t>(sign | (biased << 10) | (static_cast<int>(std::ldexp(rounded, 11 - exponent)) & 0x3ff));
}

}  // namespace

TEST_CASE("every float16 pattern survives a round trip through float") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float16 h = float16::from_bits(static_cast<uint16_t>(bits));
    const float f = h;
    if (std::isnan(f)) {
      CHECK(std::isnan(static_cast<float>(float16(f))));
      continue;
    }
    REQUIRE(float16(f).bits == bits);
    REQUIRE(detail::float_to_half_bits(f) == bits);
    REQUIRE(detail::half_bits_to_float(static_cast<uint16_t>(bits)) == f);
  }
}

TEST_CASE("every bfloat16 pattern survives a round trip through float") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float f = bfloat16::from_bits(static_cast<uint16_t>(bits));
    if (std::isnan(f)) {
      CHECK(std::isnan(static_cast<float>(bfloat16(f))));
      continue;
    }
    REQUIRE(bfloat16(f).bits == bits);
  }
}

TEST_CASE("float to half rounds to nearest even, in hardware and in software alike") {
  std::mt19937 random(20261130);
  for (int i = 0; i < 3'000'000; ++i) {
    const float f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(f)) continue;
    const uint16_t expected = nearest_half(f);
    REQUIRE(float16(f).bits == expected);
    REQUIRE(detail::float_to_half_bits(f) == expected);
  }
  for (uint32_t bits = 0; bits < 65535; ++bits) {  // halfway between neighbours, and one float to each side of it
    const float a = float16::from_bits(static_cast<uint16_t>(bits)),
                b = float16::from_bits(static_cast<uint16_t>(bits + 1));
    if (!std::isfinite(a) || !std::isfinite(b) || std::signbit(a) != std::signbit(b)) continue;
    const float middle = a + (b - a) / 2;
    for (float f : {middle, std::nextafter(middle, a), std::nextafter(middle, b)}) {
      REQUIRE(float16(f).bits == nearest_half(f));
      REQUIRE(detail::float_to_half_bits(f) == nearest_half(f));
    }
  }
}

TEST_CASE("the limits of float16 and bfloat16") {
  CHECK(static_cast<float>(float16(65504.0f)) == 65504.0f);
  CHECK(static_cast<float>(float16(65519.0f)) == 65504.0f);
  CHECK(std::isinf(static_cast<float>(float16(65520.0f))));
  CHECK(static_cast<float>(float16(6e-8f)) == 0x1p-24f);
  CHECK(float16(-0.0f).bits == 0x8000);
  CHECK(bfloat16(1.00390625f).bits == 0x3f80);  // halfway: to even
  CHECK(bfloat16(1.01171875f).bits == 0x3f82);
  static_assert(float16(1.5f).bits == 0x3e00);
  static_assert(static_cast<float>(float16::from_bits(0x3e00)) == 1.5f);
}
