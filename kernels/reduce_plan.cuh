#pragma once

#include <tantu/kernels/block.cuh>
#include <tantu/kernels/divider.cuh>
#include <tantu/kernels/packed.cuh>

#include <algorithm>

// How GPU reductions walk x (kept…, reduced…) → y (kept…). Everything is decided on the host from sizes and strides
// alone, so that the order of every addition, and with it every bit, is a function of those.
namespace tantu {
namespace {

inline constexpr int kReduceThreads = 256;

/// One loop of a nest: its length and the steps of x and y in elements.
struct ReduceLoop {
  int64_t size, x, y;
};

/// Loops as a kernel walks them.
struct ReduceLoops {
  int count = 0;
  Divider size[kMaxDims] = {};
  int64_t x[kMaxDims] = {}, y[kMaxDims] = {};

  void set(const ReduceLoop* loops, int n) {
    count = n;
    for (int d = 0; d < n; ++d) {
      size[d] = loops[d].size;
      x[d] = loops[d].x;
      y[d] = loops[d].y;
    }
  }
  /// The offsets of position i.
  __device__ __forceinline__ void place(int64_t i, int64_t& at_x, int64_t& at_y) const {
    at_x = at_y = 0;
    for (int d = count - 1; d >= 0; --d) {
      int64_t index = i;
      i = d > 0 ? size[d].split(index) : 0;
      at_x += index * x[d];
      at_y += index * y[d];
    }
  }
  __device__ __forceinline__ int64_t place(int64_t i) const {
    if (count == 1) return i * x[0];
    int64_t at_x, at_y;
    place(i, at_x, at_y);
    return at_x;
  }
};

/// What a kernel is given. A row is all elements of one result; it may be cut into `pieces` of `piece` elements.
struct ReduceShape {
  ReduceLoops kept, reduced;
  int64_t rows = 1, n = 1;
  Divider pieces;
  int64_t piece = 0;
};

/// Drops loops of one step, orders the others by x's strides (the longest outside) and merges neighbours.
inline int arrange(ReduceLoop* loops, int count, bool in_order) {
  int left = 0;
  for (int d = 0; d < count; ++d)
    if (loops[d].size != 1) loops[left++] = loops[d];
  const auto wider = [](const ReduceLoop& a, const ReduceLoop& b) { return a.x > b.x; };
  if (!in_order) std::stable_sort(loops, loops + left, wider);
  int merged = 0;
  for (int d = 0; d < left; ++d) {
    ReduceLoop* last = loops + merged - 1;
    if (merged > 0 && last->x == loops[d].x * loops[d].size && last->y == loops[d].y * loops[d].size)
      *last = {last->size * loops[d].size, loops[d].x, loops[d].y};
    else loops[merged++] = loops[d];
  }
  return merged;
}

/// The shape, and which way to go through it.
struct ReducePlan {
  ReduceShape shape;
  bool columns = false;  ///< neighbouring results lie closer together than the elements of one: side by side
  bool packed = false;   ///< rows (or lines of columns) without gaps
  bool vector = false;   ///< and all of them start at multiples of 16 bytes

  /// `in_order`: reduced dimensions keep their order, since an index counts through them.
  ReducePlan(const ConstView& x, const View& y, int reduced, bool in_order = false) {
    const int kept = x.rank() - reduced;
    ReduceLoop outer[kMaxDims] = {}, row[kMaxDims] = {};
    for (int d = 0; d < kept; ++d) outer[d] = {x.sizes[d], x.strides[d], y.strides[d]};
    for (int d = 0; d < reduced; ++d) row[d] = {x.sizes[kept + d], x.strides[kept + d], 0};
    for (int d = 0; d < kept; ++d) shape.rows *= x.sizes[d];
    for (int d = 0; d < reduced; ++d) shape.n *= x.sizes[kept + d];
    shape.piece = shape.n;
    if (shape.rows == 0 || shape.n == 0) {
      for (int d = 0; d < kept; ++d) outer[d].x = 0;
      row[0] = {1, 0, 0};
      reduced = reduced > 0 ? 1 : 0;
      if (shape.rows == 0) return;
    }
    const int outer_count = arrange(outer, kept, false), row_count = arrange(row, reduced, in_order);
    shape.kept.set(outer, outer_count);
    shape.reduced.set(row, row_count);
    const int64_t kept_step = outer_count > 0 ? outer[outer_count - 1].x : 0;
    const int64_t step = row_count > 0 ? row[row_count - 1].x : 0;
    columns =
        outer_count > 0 && row_count > 0 && kept_step != 0 && kept_step < step && outer[outer_count - 1].size >= 8;
    packed = columns ? kept_step == 1 : row_count == 0 || (row_count == 1 && step == 1);
    const int64_t per_vector = 16 / item_size(x.dtype);
    vector = packed && reinterpret_cast<uintptr_t>(x.data) % 16 == 0;
    for (int d = 0; d < outer_count - (columns ? 1 : 0); ++d) vector &= outer[d].x % per_vector == 0;
    for (int d = 0; d < row_count && columns; ++d) vector &= row[d].x % per_vector == 0;
  }

  /// Rows: how many threads share one (1 … 32, or the block), and how many pieces few long ones are cut into.
  int cut_rows(int per_vector) {
    ReduceShape& s = shape;
    if (s.n <= 1024) {
      const int64_t wanted = power_below(s.n < per_vector ? 1 : s.n / per_vector);
      return static_cast<int>(wanted < 32 ? wanted : 32);
    }
    const int64_t most = s.rows < 4096 ? 4096 / s.rows : 1;
    cut(std::min(most, (s.n + 8191) / 8192), 1024);
    return kReduceThreads;
  }
  /// Columns: how many lanes lie side by side (each with `per_vector` columns); long columns are cut too.
  int cut_columns(int per_vector) {
    ReduceShape& s = shape;
    const int64_t size = s.kept.size[s.kept.count - 1].size(),
                  wanted = power_above((size + per_vector - 1) / per_vector);
    const int64_t shared_by = power_below(s.n < 16   ? 1
                                          : s.n < 64 ? s.n / 8
                                                     : 8),
                  most_wide = kReduceThreads / shared_by;
    const int width = static_cast<int>(wanted < most_wide ? wanted : most_wide), lines = kReduceThreads / width;
    const int64_t tiles = s.rows / size * ((size + width * per_vector - 1) / (width * per_vector));
    const int64_t most = tiles < 1024 ? 1024 / tiles : 1;
    cut(std::min(most, (s.n + lines * 16 - 1) / (lines * 16)), lines);
    return width;
  }

 private:
  void cut(int64_t pieces, int64_t unit) {
    ReduceShape& s = shape;
    s.piece = ((s.n + pieces - 1) / pieces + unit - 1) / unit * unit;
    s.pieces = (s.n + s.piece - 1) / s.piece;
  }
};

}  // namespace
}  // namespace tantu
