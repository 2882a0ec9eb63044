#pragma once

#include <tantu/core/view.h>

#include <algorithm>
#include <cstdint>

/// Loops over strided elements whose type is known by size only.
namespace tantu::cpu {

/// Drops dimensions of size 1 and merges neighbours that lie one within the other in all `count` strides.
void collapse(Shape& sizes, Strides* const* strides, int count);

/// Calls f(Tag<T>) with an unsigned integer type of `bytes` (1, 2, 4, 8).
template <class F>
void visit_size(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Tag<uint8_t>{});
    case 2: return f(Tag<uint16_t>{});
    case 4: return f(Tag<uint32_t>{});
    default: return f(Tag<uint64_t>{});
  }
}

/// Calls f(a, b, n) for each run of the innermost dimension that elements [start, start + n) of `sizes` cover; a and b
/// are the offsets of its first element under two sets of strides.
template <class F>
void for_runs(const Shape& sizes, const Strides& strides_a, const Strides& strides_b, int64_t start, int64_t n, F&& f) {
  const int inner = sizes.size() - 1;
  if (inner < 0) {
    if (n > 0) f(int64_t{0}, int64_t{0}, n);
    return;
  }
  int64_t index[kMaxDims], rest = start, a = 0, b = 0;
  for (int d = inner; d >= 0; --d) {
    index[d] = rest % sizes[d];
    rest /= sizes[d];
    a += index[d] * strides_a[d];
    b += index[d] * strides_b[d];
  }
  while (n > 0) {
    const int64_t run = std::min(n, sizes[inner] - index[inner]);
    f(a, b, run);
    n -= run;
    index[inner] += run;
    a += run * strides_a[inner];
    b += run * strides_b[inner];
    for (int d = inner; d > 0 && index[d] == sizes[d]; --d) {
      a += strides_a[d - 1] - index[d] * strides_a[d];
      b += strides_b[d - 1] - index[d] * strides_b[d];
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

/// to = from for two views of one shape and one item size; dimensions ordered by `to`'s strides and merged. Parallel.
/// Rows that are packed on both sides move as a block; a transposition goes through tiles that stay in the cache.
void copy_strided(char* to, const Strides& to_strides, const char* from, const Strides& from_strides,
                  const Shape& sizes, int64_t item_size);

}  // namespace tantu::cpu
