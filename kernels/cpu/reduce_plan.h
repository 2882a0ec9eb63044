#pragma once

#include <tantu/core/view.h>

#include <array>

/// How CPU reductions walk x (kept…, reduced…) → y (kept…).
namespace tantu::cpu {

/// One loop: its length and the steps of x and y, in elements.
struct Loop {
  int64_t size = 1, x = 0, y = 0;
};

/// A nest of loops, outermost first; never empty.
struct Loops {
  std::array<Loop, kMaxDims + 1> loop;
  int count = 0;
  int64_t numel = 1;

  const Loop& inner() const { return loop[static_cast<size_t>(count - 1)]; }
  int64_t outer_numel() const { return inner().size == 0 ? 0 : numel / inner().size; }
};

/// Counts through the first `count` of some loops in row-major order; x and y are the offsets of the present position.
class Cursor {
 public:
  Cursor(const Loops& loops, int count, int64_t start) : loops_(&loops), count_(count), index_{} {
    if (start == 0) return;  // the only start of an empty nest
    for (int d = count - 1; d >= 0; --d) {
      const Loop& l = loops.loop[static_cast<size_t>(d)];
      const int64_t i = start % l.size;
      start /= l.size;
      index_[static_cast<size_t>(d)] = i;
      x += i * l.x;
      y += i * l.y;
    }
  }
  void next() {
    for (int d = count_ - 1; d >= 0; --d) {
      const Loop& l = loops_->loop[static_cast<size_t>(d)];
      int64_t& i = index_[static_cast<size_t>(d)];
      x += l.x;
      y += l.y;
      if (++i < l.size) return;
      x -= i * l.x;
      y -= i * l.y;
      i = 0;
    }
  }

  int64_t x = 0, y = 0;

 private:
  const Loops* loops_;
  int count_;
  std::array<int64_t, kMaxDims + 1> index_;
};

/// The loops of a reduction, with dimensions of size 1 dropped and neighbours merged. Kept loops are ordered by x's
/// strides, so the inner one runs along memory where it can; y's strides remember where results go. With `in_order` the
/// reduced loops keep their order (an index counts through them), else they are ordered by stride too.
struct ReducePlan {
  Loops kept, reduced;
  /// Whether to go through x column-wise: many results at a time, element k of all of them, then k + 1.
  bool columns = false;

  ReducePlan(const ConstView& x, const View& y, int reduced_dims, bool in_order = false);
  int64_t results() const { return kept.numel; }
  int64_t length() const { return reduced.numel; }
};

/// Elements a thread should have before a second one is worth waking.
inline constexpr int64_t kReduceGrain = 32768;

}  // namespace tantu::cpu
