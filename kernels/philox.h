#pragma once

#include <tantu/kernels/math.h>

#include <cmath>
#include <cstdint>

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) and the rules
/// by which a fill on a GPU uses it. An element's value depends on (seed, offset, its row-major index) alone: not on
/// the grid, the vector width or the GPU. Every fill adds `kPhiloxStep` to the generator's offset; a fill of no
/// elements adds nothing.
namespace tantu {

inline constexpr uint64_t kPhiloxStep = 4;

/// Four random words.
struct Philox4 {
  uint32_t x, y, z, w;
};

/// The ten rounds: the words of counter `c` under the key (k0, k1).
TANTU_HD constexpr Philox4 philox_rounds(Philox4 c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c.x, b = static_cast<uint64_t>(0xCD9E8D57u) * c.z;
    c = {static_cast<uint32_t>(b >> 32) ^ c.y ^ k0, static_cast<uint32_t>(b), static_cast<uint32_t>(a >> 32) ^ c.w ^ k1,
         static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// The words of (offset / 4, subsequence) under the key `seed`.
TANTU_HD constexpr Philox4 philox(uint64_t seed, uint64_t offset, uint64_t subsequence) {
  const uint64_t step = offset / kPhiloxStep;
  return philox_rounds({static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32),
                        static_cast<uint32_t>(subsequence), static_cast<uint32_t>(subsequence >> 32)},
                       static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

/// A word as a float in (0, 1].
TANTU_HD inline float philox_unit(uint32_t word) {
  return fmaf(static_cast<float>(word), 0x1p-32f, 0x1p-33f);
}

/// Element of a uniform fill: word x of its own subsequence, 1 becomes `from`.
TANTU_HD inline float philox_uniform(Philox4 r, float from, float range) {
  const float u = philox_unit(r.x);
  return fmaf(u == 1.0f ? 0.0f : u, range, from);
}

/// Element of a standard normal fill, from words x and y. Equal on all targets to 1e-6, not in bits.
TANTU_HD inline float philox_normal(Philox4 r) {
  const float s = sqrtf(-2.0f * logf(philox_unit(r.x)));
  return s * sinf(6.2831855f * philox_unit(r.y));
}

/// Element of an integer fill of [low, low + range), range > 0.
TANTU_HD constexpr int64_t philox_integer(Philox4 r, int64_t low, uint64_t range) {
  const uint64_t word = range >> 32 ? static_cast<uint64_t>(r.x) << 32 | r.y : r.x;
  return static_cast<int64_t>(word % range + static_cast<uint64_t>(low));
}

/// Whether an element is kept with probability p: word x of its own subsequence.
TANTU_HD inline bool philox_bernoulli(Philox4 r, float p) {
  return philox_unit(r.x) < p;
}

/// Whether dropout keeps element i: word i % 4 of subsequence i / 4, for every dtype and length.
TANTU_HD inline bool philox_keep(uint64_t seed, uint64_t offset, uint64_t i, float keep) {
  const Philox4 r = philox(seed, offset, i / 4);
  const uint32_t word = i % 4 == 0 ? r.x : i % 4 == 1 ? r.y : i % 4 == 2 ? r.z : r.w;
  return philox_unit(word) < keep;
}

}  // namespace tantu
