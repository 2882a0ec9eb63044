#pragma once

#include <tantu/kernels/arch.cuh>

#include <cstdint>

namespace tantu {
namespace {

/// Division by a number known before the launch: a multiplication and two shifts where the hardware has no division (T.
/// Granlund, P. L. Montgomery, "Division by invariant integers using multiplication", 1994). Right for every 0 ≤ n <
/// 2^63.
struct Divider {
  uint64_t by = 1, magic = 1;
  int first = 0, second = 0;

  Divider() = default;
  Divider(int64_t divisor) : by(static_cast<uint64_t>(divisor)) {
    int bits = 0;  // by ≤ 2^bits
    while (bits < 63 && (uint64_t{1} << bits) < by) ++bits;
    const unsigned __int128 rest = (static_cast<unsigned __int128>(1) << bits) - by;
    magic = static_cast<uint64_t>((rest << 64) / by) + 1;
    first = bits > 0 ? 1 : 0;
    second = bits > 0 ? bits - 1 : 0;
  }
  /// n / by; n becomes what is left.
  __device__ __forceinline__ int64_t split(int64_t& n) const {
    const uint64_t whole = static_cast<uint64_t>(n), high = __umul64hi(magic, whole);
    const uint64_t quotient = (high + ((whole - high) >> first)) >> second;
    n = static_cast<int64_t>(whole - quotient * by);
    return static_cast<int64_t>(quotient);
  }
  __host__ __device__ __forceinline__ int64_t size() const { return static_cast<int64_t>(by); }
};

}  // namespace
}  // namespace tantu
