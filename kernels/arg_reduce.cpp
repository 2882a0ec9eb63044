#include <tantu/kernels/arg_reduce.h>

#include <tantu/kernels/cpu/extremes.h>
#include <tantu/kernels/cpu/reduce_loops.h>

#include <limits>

namespace tantu {

namespace {

template <class T>
struct Best {
  T value;
  int64_t index;
};

// Whether `a` displaces `b`, which stands before it.
template <bool largest, class T>
bool beats(T a, T b) {
  return (largest ? a > b : a < b) | ((a != a) & (b == b));
}

template <bool largest, class T>
struct Extreme {
  using Acc = T;
  static T join(T a, T b) { return largest ? cpu::nan_max(a, b) : cpu::nan_min(a, b); }
};

template <class T>
int64_t first_equal(const T* x, int64_t n, T value) {
  constexpr int64_t kStep = 64;
  const bool nan = value != value;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    int found = 0;
    for (int64_t k = 0; k < kStep; ++k) found |= (x[i + k] == value) | (nan & (x[i + k] != x[i + k]));
    if (found) break;
  }
  while (i < n && !(x[i] == value || (nan && x[i] != x[i]))) ++i;
  return i;
}

template <bool largest, class T>
class ArgReducer {
 public:
  ArgReducer(const ConstView& x, const View& values, const View& indices, int reduced)
      : plan_(x, indices, reduced, true),
        x_(static_cast<const char*>(x.data)),
        values_(values),
        indices_(indices),
        item_(item_size(x.dtype)),
        load_(cpu::load_line<T>(x.dtype)),
        store_(cpu::store_line<T>(values.dtype)),
        in_place_(cpu::is_stored_as<T>(x.dtype)) {}

  void run() {
    if (plan_.results() == 0) return;
    if (plan_.columns) columns();
    else rows();
  }

 private:
  void write(const Best<T>& best, int64_t offset) const {
    indices_.as<int64_t>()[offset] = best.index;
    if (values_.data) store_(&best.value, 1, static_cast<char*>(values_.data) + offset * item_size(values_.dtype), 1);
  }

  Best<T> row_part(const char* x, int64_t begin, int64_t end) const {
    Best<T> best{};
    bool any = false;
    int64_t at = begin;
    cpu::for_blocks<T>(plan_.reduced, x, item_, load_, in_place_, begin, end, [&](const T* data, int64_t n) {
      const T value = cpu::join_block<Extreme<largest, T>>(data, n, data[0], [](T v) { return v; });
      if (!any || beats<largest>(value, best.value)) {
        const int64_t i = first_equal(data, n, value);
        best = {data[i], at + i};
        any = true;
      }
      at += n;
    });
    return best;
  }

  void rows() const {
    const int64_t n = plan_.length(), results = plan_.results(), pieces = (n + cpu::kPiece - 1) / cpu::kPiece;
    if (pieces == 1) {
      parallel_for(0, results, std::max<int64_t>(1, cpu::kReduceGrain / n), [&](int64_t b, int64_t e) {
        cpu::Cursor at(plan_.kept, plan_.kept.count, b);
        for (int64_t r = b; r < e; ++r, at.next()) write(row_part(x_ + at.x * item_, 0, n), at.y);
      });
      return;
    }
    std::vector<Best<T>> parts(static_cast<size_t>(results * pieces));
    parallel_for(0, results * pieces, 1, [&](int64_t b, int64_t e) {
      for (int64_t t = b; t < e; ++t) {
        const cpu::Cursor at(plan_.kept, plan_.kept.count, t / pieces);
        const int64_t begin = t % pieces * cpu::kPiece;
        parts[static_cast<size_t>(t)] = row_part(x_ + at.x * item_, begin, std::min(n, begin + cpu::kPiece));
      }
    });
    cpu::Cursor at(plan_.kept, plan_.kept.count, 0);
    for (int64_t r = 0; r < results; ++r, at.next()) {
      const Best<T>* part = parts.data() + r * pieces;
      Best<T> best = part[0];
      for (int64_t p = 1; p < pieces; ++p)
        if (beats<largest>(part[p].value, best.value)) best = part[p];
      write(best, at.y);
    }
  }

  // A tile of neighbouring results goes through the whole reduced length at once.
  void columns() const {
    using Count = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;  // as wide as T, so that one mask serves both
    constexpr int64_t kMost = std::numeric_limits<Count>::max();
    const cpu::Loop& inner = plan_.kept.inner();
    const int64_t n = plan_.length(), width = std::min<int64_t>(inner.size, 128);
    const int64_t tiles = (inner.size + width - 1) / width, places = plan_.kept.outer_numel() * tiles;
    parallel_for(0, places, std::max<int64_t>(1, cpu::kReduceGrain / (width * n)), [&](int64_t b, int64_t e) {
      alignas(64) T buffer[128], best[128];
      alignas(64) Count where[128];
      int64_t index[128];
      for (int64_t p = b; p < e; ++p) {
        const int64_t first = p % tiles * width, count = std::min(width, inner.size - first);
        const cpu::Cursor tile(plan_.kept, plan_.kept.count - 1, p / tiles);
        cpu::Cursor at(plan_.reduced, plan_.reduced.count, 0);
        int64_t start = 0;  // `where` counts from here
        const auto settle = [&](int64_t next) {
          for (int64_t j = 0; j < count; ++j)
            if (where[j] >= 0) index[j] = start + where[j];
          std::fill_n(where, count, Count(-1));
          start = next;
        };
        std::fill_n(where, count, Count(0));
        for (int64_t k = 0; k < n; ++k, at.next()) {
          const char* from = x_ + (tile.x + first * inner.x + at.x) * item_;
          const bool direct = in_place_ && inner.x == 1;
          if (!direct) load_(from, inner.x, count, buffer);
          const T* line = direct ? reinterpret_cast<const T*>(from) : buffer;
          if (k == 0) std::copy_n(line, count, best);
          if (k - start == kMost) settle(k);
          const Count now = static_cast<Count>(k - start);
#pragma GCC ivdep
          for (int64_t j = 0; j < count; ++j) {
            const bool wins = beats<largest>(line[j], best[j]);
            best[j] = wins ? line[j] : best[j];
            where[j] = wins ? now : where[j];
          }
        }
        settle(n);
        for (int64_t j = 0; j < count; ++j) write({best[j], index[j]}, tile.y + (first + j) * inner.y);
      }
    });
  }

  cpu::ReducePlan plan_;
  const char* x_;
  View values_, indices_;
  int64_t item_;
  cpu::LoadLine load_;
  cpu::StoreLine store_;
  bool in_place_;
};

template <class T>
void arg_reduce(const ConstView& x, const View& values, const View& indices, int reduced, bool largest) {
  if (largest) ArgReducer<true, T>(x, values, indices, reduced).run();
  else ArgReducer<false, T>(x, values, indices, reduced).run();
}

}  // namespace

void arg_reduce_last(CpuContext&, ConstView x, View values, View indices, int reduced, bool largest) {
  if (is_integral(x.dtype)) arg_reduce<int64_t>(x, values, indices, reduced, largest);
  else if (x.dtype == kFloat64) arg_reduce<double>(x, values, indices, reduced, largest);
  else arg_reduce<float>(x, values, indices, reduced, largest);
}

}  // namespace tantu
