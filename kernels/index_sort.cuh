#pragma once

#include <tantu/core/dims.h>

#include <gpu_target.h>

#include <cstdint>

namespace tantu {

/// Positions and their keys, on the device: arrays of `count` uint32_t, or uint64_t if `wide`. [0] is what is sorted,
/// [1] and `counts` are scratch. They lie one after another in `data`, of `sort_bytes` bytes.
struct SortArrays {
  void *keys[2], *order[2], *counts;
  int64_t count;
  bool wide;
  SortArrays(void* data, int64_t count, bool wide);
};
int64_t sort_bytes(int64_t count, bool wide);

/// Whether keys up to `largest` and `count` positions need 64 bits.
inline bool sort_is_wide(int64_t largest, int64_t count) {
  return (largest | count) >> 32 != 0;
}

/// Sorts keys[0], all of at most `bits` bits, and order[0] with them; equal keys keep their order. Does not
/// synchronize.
void sort_positions(GpuContext& ctx, SortArrays& arrays, int bits);

}  // namespace tantu
