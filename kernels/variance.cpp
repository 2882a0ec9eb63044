#include <tantu/kernels/variance.h>

#include <tantu/kernels/cpu/reduce_loops.h>

#include <cmath>

namespace tantu {

namespace {

struct Moments {
  int64_t count = 0;
  double mean = 0, m2 = 0;  // m2 = Σ (x - mean)²

  void join(const Moments& b) {
    if (count == 0) {
      *this = b;
      return;
    }
    const double n = static_cast<double>(count + b.count), share = static_cast<double>(b.count) / n,
                 delta = b.mean - mean;
    mean += delta * share;
    m2 += b.m2 + delta * delta * share * static_cast<double>(count);
    count += b.count;
  }
};

// Distances from the first element instead of the elements themselves: equal elements have a mean without error.
template <class T>
Moments moments(const T* x, int64_t n) {
  const double first = static_cast<double>(x[0]);
  const double mean = first + cpu::join_block<cpu::SumOf<double>>(x, n, 0, [first](T v) {
                                return static_cast<double>(v) - first;
                              }) / static_cast<double>(n);
  const double m2 = cpu::join_block<cpu::SumOf<double>>(x, n, 0, [mean](T v) {
    const double d = static_cast<double>(v) - mean;
    return d * d;
  });
  return {n, mean, m2};
}

template <class T>
class Variance : cpu::ReduceOperands {
 public:
  Variance(const ConstView& x, const View& y, int reduced, double correction, bool root)
      : cpu::ReduceOperands(cpu::ReduceOperands::of<T, double>(x, y, reduced)), correction_(correction), root_(root) {}

  void run() const {
    if (plan_.results() == 0) return;
    if (plan_.columns) columns();
    else rows();
  }

 private:
  static constexpr int64_t kWidth = 128;

  void write(const Moments& m, int64_t offset) const {
    const double variance = m.m2 / std::max(static_cast<double>(m.count) - correction_, 0.0);
    const double result = root_ ? std::sqrt(variance) : variance;
    store_(&result, 1, y_ + offset * y_item_, 1);
  }

  Moments row_part(const char* x, int64_t begin, int64_t end) const {
    Moments all;
    cpu::for_blocks<T>(plan_.reduced, x, item_, load_, in_place_, begin, end,
                       [&](const T* data, int64_t n) { all.join(moments(data, n)); });
    return all;
  }

  void rows() const {
    const int64_t n = plan_.length(), results = plan_.results();
    const int64_t pieces = std::max<int64_t>(1, (n + cpu::kPiece - 1) / cpu::kPiece);
    std::vector<Moments> parts(static_cast<size_t>(results * pieces));
    parallel_for(0, results * pieces, std::max<int64_t>(1, cpu::kReduceGrain / std::max<int64_t>(n, 1)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t t = b; t < e; ++t) {
                     const cpu::Cursor at(plan_.kept, plan_.kept.count, t / pieces);
                     const int64_t begin = t % pieces * cpu::kPiece;
                     parts[static_cast<size_t>(t)] =
                         row_part(x_ + at.x * item_, begin, std::min(n, begin + cpu::kPiece));
                   }
                 });
    cpu::Cursor at(plan_.kept, plan_.kept.count, 0);
    for (int64_t r = 0; r < results; ++r, at.next()) {
      Moments* part = parts.data() + r * pieces;
      for (int64_t p = 1; p < pieces; ++p) part[0].join(part[p]);
      write(part[0], at.y);
    }
  }

  // Moments of elements [begin, end) of `width` neighbouring results.
  void tile_part(const char* x, int64_t step, int64_t width, int64_t begin, int64_t end, Moments* to) const {
    alignas(64) T buffer[kWidth];
    alignas(64) double first[kWidth], sum[kWidth] = {}, m2[kWidth] = {};
    const auto pass = [&](auto&& f) {
      cpu::Cursor at(plan_.reduced, plan_.reduced.count, begin);
      for (int64_t k = begin; k < end; ++k, at.next()) {
        const char* from = x + at.x * item_;
        const bool direct = in_place_ && step == 1;
        if (!direct) load_(from, step, width, buffer);
        f(direct ? reinterpret_cast<const T*>(from) : buffer, k);
      }
    };
    pass([&](const T* line, int64_t k) {
      if (k == begin) std::copy_n(line, width, first);
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) sum[j] += static_cast<double>(line[j]) - first[j];
    });
    const double n = static_cast<double>(end - begin);
    for (int64_t j = 0; j < width; ++j) first[j] += sum[j] / n;
    pass([&](const T* line, int64_t) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const double d = static_cast<double>(line[j]) - first[j];
        m2[j] += d * d;
      }
    });
    for (int64_t j = 0; j < width; ++j) to[j] = {end - begin, first[j], m2[j]};
  }

  void columns() const {
    const cpu::Loop& inner = plan_.kept.inner();
    const int64_t n = plan_.length(), width = std::min(inner.size, kWidth), tiles = (inner.size + width - 1) / width;
    const int64_t pieces = std::max<int64_t>(1, (n + cpu::kPieceRows - 1) / cpu::kPieceRows);
    const int64_t places = plan_.kept.outer_numel() * tiles;
    std::vector<Moments> parts(static_cast<size_t>(places * pieces * width));
    const auto place = [&](int64_t p, auto&& f) {
      const cpu::Cursor at(plan_.kept, plan_.kept.count - 1, p / tiles);
      const int64_t first = p % tiles * width;
      f(at.x + first * inner.x, at.y + first * inner.y, std::min(width, inner.size - first));
    };
    const int64_t work = std::max<int64_t>(1, width * std::min(n, cpu::kPieceRows));
    parallel_for(0, places * pieces, std::max<int64_t>(1, cpu::kReduceGrain / work), [&](int64_t b, int64_t e) {
      for (int64_t t = b; t < e; ++t)
        place(t / pieces, [&](int64_t x, int64_t, int64_t count) {
          const int64_t begin = t % pieces * cpu::kPieceRows, end = std::min(n, begin + cpu::kPieceRows);
          if (begin < end) tile_part(x_ + x * item_, inner.x, count, begin, end, parts.data() + t * width);
        });
    });
    for (int64_t p = 0; p < places; ++p)
      place(p, [&](int64_t, int64_t y, int64_t count) {
        Moments* part = parts.data() + p * pieces * width;
        for (int64_t j = 0; j < count; ++j) {
          for (int64_t i = 1; i < pieces; ++i) part[j].join(part[i * width + j]);
          write(part[j], y + j * inner.y);
        }
      });
  }

  double correction_;
  bool root_;
};

}  // namespace

void variance_last(CpuContext&, ConstView x, View y, int reduced, double correction, bool root) {
  if (x.dtype == kFloat64) Variance<double>(x, y, reduced, correction, root).run();
  else Variance<float>(x, y, reduced, correction, root).run();
}

}  // namespace tantu
