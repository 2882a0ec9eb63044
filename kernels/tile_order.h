#pragma once

#include <tantu/kernels/math.h>

#include <cstdint>

namespace tantu {

/// Where tile number `index` of a matrix of tiles lies.
struct TilePlace {
  int64_t row, column;
};

/// Groups of 8 rows of tiles, walked down column by column: blocks that run at one time share what they read. Every
/// tile of `rows` by `columns` comes once.
TANTU_HD constexpr TilePlace tile_place(int64_t index, int64_t rows, int64_t columns) {
  constexpr int64_t group = 8;
  const int64_t first = index / (group * columns) * group, inside = index % (group * columns);
  const int64_t height = rows - first < group ? rows - first : group;
  return {first + inside % height, inside / height};
}

}  // namespace tantu
