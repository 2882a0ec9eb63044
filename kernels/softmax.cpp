#include <tantu/kernels/softmax.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/axis_loops.h>
#include <tantu/kernels/cpu/extremes.h>
#include <tantu/kernels/cpu/reduce_loops.h>
#include <tantu/kernels/math.h>

#include <limits>

namespace tantu {

namespace {

constexpr int64_t kWidth = 64;   // lines side by side
constexpr int64_t kSteps = 512;  // elements between two additions to a line's total
constexpr int64_t kGrain = 8192;

template <class T>
T exp_of(T v) {
  return math::exp(math::Real<T>::of(v)).v;
}

template <class T>
T largest(const T* x, int64_t n) {
  T m = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; i += cpu::kBlock)
    m = cpu::nan_max(m,
                     cpu::join_block<cpu::LargestOf<T>>(x + i, std::min(cpu::kBlock, n - i), m, [](T v) { return v; }));
  return m;
}

// Σ f(i) over [0, n): kSteps values at a time through a buffer, their sums in double.
template <class T, class F>
double sum_of(int64_t n, const F& f) {
  alignas(64) T part[kSteps];
  double total = 0;
  for (int64_t i = 0; i < n; i += kSteps) {
    const int64_t count = std::min(kSteps, n - i);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) part[j] = f(i + j);
    total += static_cast<double>(cpu::join_block<cpu::SumOf<T>>(part, count, T(0), [](T v) { return v; }));
  }
  return total;
}

template <class T, bool log>
void forward_line(const T* x, T* y, int64_t n) {
  const T m = largest(x, n);
  if constexpr (log) {
    double total = 0;
    for (int64_t i = 0; i < n; i += cpu::kBlock)
      total += static_cast<double>(cpu::join_block<cpu::SumOf<T>>(x + i, std::min(cpu::kBlock, n - i), T(0),
                                                                  [m](T v) { return exp_of(v - m); }));
    const T rest = static_cast<T>(std::log(total));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - rest;
  } else {
    double total = 0;
    for (int64_t i = 0; i < n; i += kSteps) {
      const int64_t count = std::min(kSteps, n - i);
#pragma GCC ivdep
      for (int64_t j = i; j < i + count; ++j) y[j] = exp_of(x[j] - m);
      total += static_cast<double>(cpu::join_block<cpu::SumOf<T>>(y + i, count, T(0), [](T v) { return v; }));
    }
    const T scale = static_cast<T>(1 / total);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

template <class T, bool log>
void backward_line(const T* g, const T* y, T* dx, int64_t n) {
  if constexpr (log) {
    const T total = static_cast<T>(sum_of<T>(n, [=](int64_t i) { return g[i]; }));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = g[i] - exp_of(y[i]) * total;
  } else {
    const T total = static_cast<T>(sum_of<T>(n, [=](int64_t i) { return g[i] * y[i]; }));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (g[i] - total);
  }
}

// The same for `width` lines side by side: element k of line j is at [k * step + j].
template <class T, bool log>
void forward_tile(const T* x, int64_t x_step, T* y, int64_t y_step, int64_t n, int64_t width) {
  alignas(64) T m[kWidth], total[kWidth] = {};
  std::copy_n(x, width, m);
  for (int64_t k = 1; k < n; ++k)
    for (int64_t j = 0; j < width; ++j) m[j] = cpu::nan_max(m[j], x[k * x_step + j]);
  for (int64_t k = 0; k < n;) {
    alignas(64) T part[kWidth] = {};
    for (const int64_t end = std::min(n, k + 32); k < end; ++k) {
      const T* from = x + k * x_step;
      T* to = y + k * y_step;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const T e = exp_of(from[j] - m[j]);
        if constexpr (!log) to[j] = e;
        part[j] += e;
      }
    }
    for (int64_t j = 0; j < width; ++j) total[j] += part[j];
  }
  for (int64_t j = 0; j < width; ++j) total[j] = log ? std::log(total[j]) : 1 / total[j];
  for (int64_t k = 0; k < n; ++k) {
    const T* from = x + k * x_step;
    T* to = y + k * y_step;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) to[j] = log ? (from[j] - m[j]) - total[j] : to[j] * total[j];
  }
}

template <class T, bool log>
void backward_tile(const T* g, int64_t g_step, const T* y, T* dx, int64_t step, int64_t n, int64_t width) {
  alignas(64) T total[kWidth] = {};
  for (int64_t k = 0; k < n;) {
    alignas(64) T part[kWidth] = {};
    for (const int64_t end = std::min(n, k + 32); k < end; ++k)
      for (int64_t j = 0; j < width; ++j) part[j] += log ? g[k * g_step + j] : g[k * g_step + j] * y[k * step + j];
    for (int64_t j = 0; j < width; ++j) total[j] += part[j];
  }
  for (int64_t k = 0; k < n; ++k) {
    const T *gk = g + k * g_step, *yk = y + k * step;
    T* to = dx + k * step;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) to[j] = log ? gk[j] - exp_of(yk[j]) * total[j] : yk[j] * (gk[j] - total[j]);
  }
}

// f(x offset, y offset, width) for tiles of neighbouring lines.
template <class F>
void for_tiles(const cpu::AxisPlan& plan, F&& f) {
  const int64_t inner = plan.lines.inner().size, tiles = (inner + kWidth - 1) / kWidth;
  const int64_t work = plan.axis.size * std::min(inner, kWidth);
  parallel_for(0, plan.lines.outer_numel() * tiles, std::max<int64_t>(1, kGrain / work), [&](int64_t b, int64_t e) {
    for (int64_t t = b; t < e; ++t) {
      const cpu::Cursor at(plan.lines, plan.lines.count - 1, t / tiles);
      const int64_t first = t % tiles * kWidth;
      f(at.x + first, at.y + first, std::min(kWidth, inner - first));
    }
  });
}

template <class T, bool log>
void forward(const ConstView& x, const View& y, int axis) {
  const cpu::AxisPlan plan(x, y, axis);
  if (plan.numel() == 0) return;
  const cpu::LineSource<T> from(x);
  const cpu::LineTarget<T> to(y);
  const int64_t n = plan.axis.size;
  if (from.in_place && to.in_place && plan.side_by_side()) {
    for_tiles(plan, [&](int64_t xo, int64_t yo, int64_t width) {
      forward_tile<T, log>(x.as<T>() + xo, plan.axis.x, y.as<T>() + yo, plan.axis.y, n, width);
    });
    return;
  }
  parallel_for(0, plan.lines.numel, std::max<int64_t>(1, kGrain / n), [&](int64_t b, int64_t e) {
    const bool direct = from.in_place && to.in_place && plan.axis.x == 1 && plan.axis.y == 1;
    std::vector<T> buffer(direct ? 0 : static_cast<size_t>(2 * n));
    T *in = buffer.data(), *out = in + (direct ? 0 : n);
    cpu::Cursor at(plan.lines, plan.lines.count, b);
    for (int64_t r = b; r < e; ++r, at.next()) {
      T* line = to.at(at.y, plan.axis.y, out);
      forward_line<T, log>(from.get(at.x, plan.axis.x, n, in), line, n);
      to.put(line, at.y, plan.axis.y, n, out);
    }
  });
}

template <class T, bool log>
void backward(const ConstView& g, const ConstView& y, const View& dx, int axis) {
  const cpu::AxisPlan plan(g, y, axis);
  if (plan.numel() == 0) return;
  const cpu::LineSource<T> from_g(g), from_y(y);
  const cpu::LineTarget<T> to(dx);
  const int64_t n = plan.axis.size;
  if (from_g.in_place && from_y.in_place && to.in_place && plan.side_by_side()) {
    for_tiles(plan, [&](int64_t go, int64_t yo, int64_t width) {
      backward_tile<T, log>(g.as<T>() + go, plan.axis.x, y.as<T>() + yo, dx.as<T>() + yo, plan.axis.y, n, width);
    });
    return;
  }
  parallel_for(0, plan.lines.numel, std::max<int64_t>(1, kGrain / n), [&](int64_t b, int64_t e) {
    const bool direct = from_g.in_place && from_y.in_place && to.in_place && plan.axis.x == 1 && plan.axis.y == 1;
    std::vector<T> buffer(direct ? 0 : static_cast<size_t>(3 * n));
    T *in = buffer.data(), *in_y = in + (direct ? 0 : n), *out = in + (direct ? 0 : 2 * n);
    cpu::Cursor at(plan.lines, plan.lines.count, b);
    for (int64_t r = b; r < e; ++r, at.next()) {
      T* line = to.at(at.y, plan.axis.y, out);
      backward_line<T, log>(from_g.get(at.x, plan.axis.x, n, in), from_y.get(at.y, plan.axis.y, n, in_y), line, n);
      to.put(line, at.y, plan.axis.y, n, out);
    }
  });
}

template <class F>
void visit_compute(DType dtype, bool log, F&& f) {
  if (dtype == kFloat64) log ? f.template operator()<double, true>() : f.template operator()<double, false>();
  else log ? f.template operator()<float, true>() : f.template operator()<float, false>();
}

}  // namespace

void softmax_forward(CpuContext&, ConstView x, View y, int axis, bool log) {
  visit_compute(x.dtype, log, [&]<class T, bool logarithm>() { forward<T, logarithm>(x, y, axis); });
}

void softmax_backward(CpuContext&, ConstView g, ConstView y, View dx, int axis, bool log) {
  visit_compute(y.dtype, log, [&]<class T, bool logarithm>() { backward<T, logarithm>(g, y, dx, axis); });
}

}  // namespace tantu
