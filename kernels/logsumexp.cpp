#include <tantu/kernels/cpu/extremes.h>
#include <tantu/kernels/cpu/reduce_loops.h>
#include <tantu/kernels/math.h>
#include <tantu/kernels/softmax.h>

#include <cmath>
#include <limits>

namespace tantu {

namespace {

constexpr int64_t kWidth = 128;

// What the elements are taken relative to: their maximum, unless it is infinite.
template <class T>
T shift_of(T m) {
  return std::isinf(m) ? T(0) : m;
}

template <class T>
class LogSumExp : cpu::ReduceOperands {
 public:
  LogSumExp(const ConstView& x, const View& y, int reduced)
      : cpu::ReduceOperands(cpu::ReduceOperands::of<T, T>(x, y, reduced)) {}

  void run() const {
    if (plan_.results() == 0) return;
    if (plan_.columns) columns();
    else rows();
  }

 private:
  static T exp_of(T v) { return math::exp(math::Real<T>::of(v)).v; }

  T row(const char* x) const {
    T m = -std::numeric_limits<T>::infinity();
    cpu::for_blocks<T>(plan_.reduced, x, item_, load_, in_place_, 0, plan_.length(), [&](const T* data, int64_t n) {
      m = cpu::nan_max(m, cpu::join_block<cpu::LargestOf<T>>(data, n, data[0], [](T v) { return v; }));
    });
    m = shift_of(m);
    double total = 0;
    cpu::for_blocks<T>(plan_.reduced, x, item_, load_, in_place_, 0, plan_.length(), [&](const T* data, int64_t n) {
      total += static_cast<double>(cpu::join_block<cpu::SumOf<T>>(data, n, T(0), [m](T v) { return exp_of(v - m); }));
    });
    return m + static_cast<T>(std::log(total));
  }

  void rows() const {
    const int64_t grain = std::max<int64_t>(1, cpu::kReduceGrain / 4 / std::max<int64_t>(plan_.length(), 1));
    parallel_for(0, plan_.results(), grain, [&](int64_t b, int64_t e) {
      cpu::Cursor at(plan_.kept, plan_.kept.count, b);
      for (int64_t r = b; r < e; ++r, at.next()) {
        const T result = row(x_ + at.x * item_);
        store_(&result, 1, y_ + at.y * y_item_, 1);
      }
    });
  }

  // Calls f(line) for each reduced position of `width` neighbouring results.
  template <class F>
  void for_lines(const char* x, int64_t step, int64_t width, F&& f) const {
    alignas(64) T buffer[kWidth];
    const bool direct = in_place_ && step == 1;
    cpu::Cursor at(plan_.reduced, plan_.reduced.count, 0);
    for (int64_t k = 0; k < plan_.length(); ++k, at.next()) {
      const char* from = x + at.x * item_;
      if (!direct) load_(from, step, width, buffer);
      f(direct ? reinterpret_cast<const T*>(from) : buffer, k);
    }
  }

  void tile(const char* x, int64_t step, int64_t width, char* y, int64_t y_step) const {
    alignas(64) T m[kWidth], part[kWidth] = {};
    alignas(64) double total[kWidth] = {};
    std::fill_n(m, width, -std::numeric_limits<T>::infinity());
    for_lines(x, step, width, [&](const T* line, int64_t) {
      for (int64_t j = 0; j < width; ++j) m[j] = cpu::nan_max(m[j], line[j]);
    });
    for (int64_t j = 0; j < width; ++j) m[j] = shift_of(m[j]);
    const auto settle = [&] {
      for (int64_t j = 0; j < width; ++j) total[j] += static_cast<double>(part[j]);
      std::fill_n(part, width, T(0));
    };
    for_lines(x, step, width, [&](const T* line, int64_t k) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) part[j] += exp_of(line[j] - m[j]);
      if (k % 32 == 31) settle();
    });
    settle();
    for (int64_t j = 0; j < width; ++j) m[j] += static_cast<T>(std::log(total[j]));
    store_(m, width, y, y_step);
  }

  void columns() const {
    const cpu::Loop& inner = plan_.kept.inner();
    const int64_t width = std::min(inner.size, kWidth), tiles = (inner.size + width - 1) / width;
    const int64_t grain = std::max<int64_t>(1, cpu::kReduceGrain / 4 / std::max<int64_t>(1, width * plan_.length()));
    parallel_for(0, plan_.kept.outer_numel() * tiles, grain, [&](int64_t b, int64_t e) {
      for (int64_t p = b; p < e; ++p) {
        const cpu::Cursor at(plan_.kept, plan_.kept.count - 1, p / tiles);
        const int64_t first = p % tiles * width;
        tile(x_ + (at.x + first * inner.x) * item_, inner.x, std::min(width, inner.size - first),
             y_ + (at.y + first * inner.y) * y_item_, inner.y);
      }
    });
  }
};

}  // namespace

void logsumexp_last(CpuContext&, ConstView x, View y, int reduced) {
  if (x.dtype == kFloat64) LogSumExp<double>(x, y, reduced).run();
  else LogSumExp<float>(x, y, reduced).run();
}

}  // namespace tantu
