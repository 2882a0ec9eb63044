#pragma once

#include <tantu/kernels/math.h>

#include <cstdint>

namespace tantu {

/// n / d for n < 2^31 by one multiplication (Granlund & Montgomery, "Division by invariant integers using
/// multiplication", 1994): the quotient is the upper half of n * magic, plus n, shifted.
struct Divider32 {
  uint32_t magic = 1, shift = 0;
};

/// 0 < d < 2^31.
constexpr Divider32 divider_of(uint32_t d) {
  uint32_t shift = 0;
  while ((uint64_t{1} << shift) < d) ++shift;
  return {static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d)) / d + 1), shift};
}

TANTU_HD constexpr uint32_t divide(uint32_t n, Divider32 by) {
  return (static_cast<uint32_t>((static_cast<uint64_t>(n) * by.magic) >> 32) + n) >> by.shift;
}

}  // namespace tantu
