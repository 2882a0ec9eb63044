#pragma once

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/extremes.h>
#include <tantu/kernels/cpu/lines.h>
#include <tantu/kernels/cpu/reduce_plan.h>

#include <algorithm>
#include <cstring>
#include <vector>

/// The loops of reductions whose state is one number. An operation says what it is made of:
///
///     struct Sum {
///       using In = float;                                   // what elements are read as
///       using Acc = float;                                  // what is kept of them
///       Acc identity() const;                               // of no elements
///       Acc map(In x) const;                                // of one
///       static Acc join(Acc a, Acc b);                      // of two parts, the left one first
///       Acc finish(Acc a) const;                            // the result
///     };
///
/// Parts are joined as a tree whose shape is a function of the sizes and strides alone: errors grow with log n, and the
/// bits do not depend on the threads. Every inner loop runs over independent results, so all of them are vector code.
namespace tantu::cpu {

inline constexpr int64_t kBlock = 1024;     ///< elements joined at a time
inline constexpr int64_t kPiece = 32768;    ///< elements of a row that make a task of their own
inline constexpr int64_t kFew = 32;         ///< elements joined one after another
inline constexpr int64_t kShortRun = 256;   ///< runs of memory below this are copied together first
inline constexpr int64_t kTileWidth = 512;  ///< columns that are added side by side
inline constexpr int64_t kPieceRows = 128;  ///< rows of a tile that make a task of their own

/// The joins of `join_block` that more than one kernel needs.
template <class T>
struct LargestOf {
  using Acc = T;
  static T join(T a, T b) { return nan_max(a, b); }
};
template <class T>
struct SumOf {
  using Acc = T;
  static T join(T a, T b) { return a + b; }
};

/// to[j] = map(x[j]), map(x[m + j]) … map(x[7m + j]) joined, for j < m = n / 8; what is left of x's n elements joins
/// the first ones. n ≥ kFew; `to` may be x itself.
template <class Op, class T, class Map>
void join_eighths(const T* x, int64_t n, typename Op::Acc* to, const Map& map) {
  constexpr auto join = Op::join;
  const int64_t m = n / 8;
  const T *x1 = x + m, *x2 = x + 2 * m, *x3 = x + 3 * m, *x4 = x + 4 * m, *x5 = x + 5 * m, *x6 = x + 6 * m,
          *x7 = x + 7 * m;
#pragma GCC ivdep
  for (int64_t j = 0; j < m; ++j)
    to[j] = join(join(join(map(x[j]), map(x1[j])), join(map(x2[j]), map(x3[j]))),
                 join(join(map(x4[j]), map(x5[j])), join(map(x6[j]), map(x7[j]))));
  for (int64_t j = 8 * m, k = 0; j < n; ++j, k = k + 1 < m ? k + 1 : 0) to[k] = join(to[k], map(x[j]));
}

/// Joins n elements (n ≤ kBlock) of a contiguous array: eight eighths side by side, until few are left.
template <class Op, class T, class Map>
[[gnu::noinline]] typename Op::Acc join_block(const T* x, int64_t n, typename Op::Acc identity, const Map& map) {
  using Acc = typename Op::Acc;
  constexpr auto join = Op::join;
  Acc a = identity, b = identity;
  if (n < kFew) {
    for (int64_t i = 0; i + 1 < n; i += 2) {
      a = join(a, map(x[i]));
      b = join(b, map(x[i + 1]));
    }
    if (n % 2) a = join(a, map(x[n - 1]));
    return join(a, b);
  }
  alignas(64) Acc parts[kBlock / 8];
  join_eighths<Op>(x, n, parts, map);
  int64_t left = n / 8;
  for (; left >= kFew; left /= 8)
    join_eighths<Op>(static_cast<const Acc*>(parts), left, parts, [](Acc v) { return v; });
  for (int64_t i = 0; i < left; ++i) a = join(a, parts[i]);
  return a;
}

/// Joins neighbours until one part is left; keeps their order.
template <class Op>
typename Op::Acc join_parts(typename Op::Acc* parts, int64_t count, typename Op::Acc identity) {
  if (count == 0) return identity;
  for (; count > 1; count = (count + 1) / 2) {
    for (int64_t i = 0; i < count / 2; ++i) parts[i] = Op::join(parts[2 * i], parts[2 * i + 1]);
    if (count % 2) parts[count / 2] = parts[count - 1];
  }
  return parts[0];
}

/// Calls f(data, n) for elements [begin, end) of one row, in order, in packed arrays of T, n ≤ kBlock; all but the last
/// have at least kShortRun. `in_place` says that x holds T's.
template <class T, class F>
void for_blocks(const Loops& row, const char* x, int64_t item, LoadLine load, bool in_place, int64_t begin, int64_t end,
                F&& f) {
  if (begin == end) return;
  const Loop& inner = row.inner();
  if (in_place && inner.x == 1 && row.count == 1) {
    const T* data = reinterpret_cast<const T*>(x);
    for (int64_t b = begin; b < end; b += kBlock) f(data + b, std::min(kBlock, end - b));
    return;
  }
  alignas(64) T buffer[kBlock];
  Cursor cursor(row, row.count - 1, begin / inner.size);
  int64_t at = begin % inner.size, filled = 0;
  for (int64_t b = begin; b < end;) {
    const int64_t run = std::min({end - b, inner.size - at, kBlock - filled});
    const char* from = x + (cursor.x + at * inner.x) * item;
    b += run;
    if (in_place && inner.x == 1 && filled == 0 && run >= kShortRun) {
      f(reinterpret_cast<const T*>(from), run);
    } else {
      load(from, inner.x, run, buffer + filled);
      filled += run;
      if (filled == kBlock || b == end) {
        f(static_cast<const T*>(buffer), filled);
        filled = 0;
      }
    }
    at += run;
    if (at == inner.size) {
      at = 0;
      cursor.next();
    }
  }
  if (filled > 0) f(static_cast<const T*>(buffer), filled);
}

/// What reductions know of their operands; elements are read as In and results written from Out.
struct ReduceOperands {
  template <class In, class Out>
  static ReduceOperands of(const ConstView& x, const View& y, int reduced) {
    return {ReducePlan(x, y, reduced),  static_cast<const char*>(x.data),
            static_cast<char*>(y.data), item_size(x.dtype),
            item_size(y.dtype),         load_line<In>(x.dtype),
            store_line<Out>(y.dtype),   is_stored_as<In>(x.dtype)};
  }
  ReducePlan plan_;
  const char* x_;
  char* y_;
  int64_t item_, y_item_;
  LoadLine load_;
  StoreLine store_;
  bool in_place_;  ///< x holds In's
};

/// y = op over the last `reduced` dimensions of x. Any strides and dtypes of both.
template <class Op>
class Reducer : ReduceOperands {
 public:
  using In = typename Op::In;
  using Acc = typename Op::Acc;

  Reducer(const Op& op, const ConstView& x, const View& y, int reduced)
      : ReduceOperands(ReduceOperands::of<In, Acc>(x, y, reduced)), op_(op) {}

  void run() {
    if (plan_.results() == 0) return;
    if (plan_.columns) columns();
    else rows();
  }

 private:
  void write(const Acc& a, int64_t offset) const {
    const Acc result = op_.finish(a);
    store_(&result, 1, y_ + offset * y_item_, 1);
  }

  Acc row_part(const char* x, int64_t begin, int64_t end) const {
    Acc parts[kPiece / kShortRun + 1];
    int64_t count = 0;
    for_blocks<In>(plan_.reduced, x, item_, load_, in_place_, begin, end, [&](const In* data, int64_t n) {
      parts[count++] = join_block<Op>(data, n, op_.identity(), [this](In v) { return op_.map(v); });
    });
    return join_parts<Op>(parts, count, op_.identity());
  }

  void rows() const {
    const int64_t n = plan_.length(), results = plan_.results();
    if (n <= kPiece) {
      parallel_for(0, results, std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(n, 1)), [&](int64_t b, int64_t e) {
        Cursor at(plan_.kept, plan_.kept.count, b);
        for (int64_t r = b; r < e; ++r, at.next()) write(row_part(x_ + at.x * item_, 0, n), at.y);
      });
      return;
    }
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    std::vector<Acc> parts(static_cast<size_t>(results * pieces));
    parallel_for(0, results * pieces, 1, [&](int64_t b, int64_t e) {
      for (int64_t t = b; t < e; ++t) {
        const Cursor at(plan_.kept, plan_.kept.count, t / pieces);
        const int64_t begin = t % pieces * kPiece;
        parts[static_cast<size_t>(t)] = row_part(x_ + at.x * item_, begin, std::min(n, begin + kPiece));
      }
    });
    Cursor at(plan_.kept, plan_.kept.count, 0);
    for (int64_t r = 0; r < results; ++r, at.next())
      write(join_parts<Op>(parts.data() + r * pieces, pieces, op_.identity()), at.y);
  }

  // acc[j] = elements [begin, end) of `width` results, element k of all of them lying at x + cursor(k) + j * step.
  void tile_part(const char* x, int64_t step, int64_t width, int64_t begin, int64_t end, Acc* acc) const {
    alignas(64) In buffer[8][kTileWidth];
    const bool direct = in_place_ && step == 1;
    Cursor at(plan_.reduced, plan_.reduced.count, begin);
    const In* line[8];
    const auto fetch = [&](int64_t count) {
      for (int64_t k = 0; k < count; ++k, at.next()) {
        const char* from = x + at.x * item_;
        if (!direct) load_(from, step, width, buffer[k]);
        line[k] = direct ? reinterpret_cast<const In*>(from) : buffer[k];
      }
    };
    std::fill(acc, acc + width, op_.identity());
    constexpr auto join = Op::join;
    for (; begin + 8 <= end; begin += 8) {
      fetch(8);
      const In *x0 = line[0], *x1 = line[1], *x2 = line[2], *x3 = line[3], *x4 = line[4], *x5 = line[5], *x6 = line[6],
               *x7 = line[7];
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j)
        acc[j] = join(acc[j], join(join(join(op_.map(x0[j]), op_.map(x1[j])), join(op_.map(x2[j]), op_.map(x3[j]))),
                                   join(join(op_.map(x4[j]), op_.map(x5[j])), join(op_.map(x6[j]), op_.map(x7[j])))));
    }
    for (; begin < end; ++begin) {
      fetch(1);
      const In* x0 = line[0];
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) acc[j] = join(acc[j], op_.map(x0[j]));
    }
  }

  void write_tile(Acc* acc, int64_t width, int64_t offset, int64_t step) const {
    for (int64_t j = 0; j < width; ++j) acc[j] = op_.finish(acc[j]);
    store_(acc, width, y_ + offset * y_item_, step);
  }

  void columns() const {
    const Loop& inner = plan_.kept.inner();
    const int64_t n = plan_.length(), width = std::min(inner.size, kTileWidth);
    const int64_t tiles = (inner.size + width - 1) / width,
                  pieces = std::max<int64_t>(1, (n + kPieceRows - 1) / kPieceRows);
    const int64_t places = plan_.kept.outer_numel() * tiles,
                  work = std::max<int64_t>(1, width * std::min(n, kPieceRows));
    std::vector<Acc> parts(pieces > 1 ? static_cast<size_t>(places * pieces * width) : 0);
    const auto place = [&](int64_t p, auto&& f) {  // f(offset in x, offset in y, columns) of tile p
      const Cursor at(plan_.kept, plan_.kept.count - 1, p / tiles);
      const int64_t first = p % tiles * width;
      f(at.x + first * inner.x, at.y + first * inner.y, std::min(width, inner.size - first));
    };
    parallel_for(0, places * pieces, std::max<int64_t>(1, kReduceGrain / work), [&](int64_t b, int64_t e) {
      alignas(64) Acc acc[kTileWidth];
      for (int64_t t = b; t < e; ++t)
        place(t / pieces, [&](int64_t x, int64_t y, int64_t count) {
          const int64_t begin = t % pieces * kPieceRows;
          Acc* to = pieces > 1 ? parts.data() + t * width : acc;
          tile_part(x_ + x * item_, inner.x, count, begin, std::min(n, begin + kPieceRows), to);
          if (pieces == 1) write_tile(acc, count, y, inner.y);
        });
    });
    if (pieces == 1) return;
    parallel_for(0, places, std::max<int64_t>(1, kReduceGrain / (pieces * width)), [&](int64_t b, int64_t e) {
      for (int64_t p = b; p < e; ++p)
        place(p, [&](int64_t, int64_t y, int64_t count) {
          Acc* part = parts.data() + p * pieces * width;
          for (int64_t left = pieces; left > 1; left = (left + 1) / 2) {
            for (int64_t i = 0; i < left / 2; ++i)
              for (int64_t j = 0; j < count; ++j)
                part[i * width + j] = Op::join(part[2 * i * width + j], part[(2 * i + 1) * width + j]);
            if (left % 2) std::copy_n(part + (left - 1) * width, count, part + left / 2 * width);
          }
          write_tile(part, count, y, inner.y);
        });
    });
  }

  Op op_;
};

template <class Op>
void reduce_with(const Op& op, const ConstView& x, const View& y, int reduced) {
  Reducer<Op>(op, x, y, reduced).run();
}

}  // namespace tantu::cpu
