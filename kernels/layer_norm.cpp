#include <tantu/kernels/layer_norm.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/lanes.h>
#include <tantu/kernels/cpu/packed_rows.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace tantu {

namespace {

template <class A>
const A* or_null(const std::vector<A>& v) {
  return v.empty() ? nullptr : v.data();
}

// A mean as two numbers of A: x - high is exact for x near the mean, so (x - high) - low keeps the spread.
template <class A>
struct Split {
  A high, low;
  Split(double mean, double rest) : high(static_cast<A>(mean + rest)), low(static_cast<A>((mean - high) + rest)) {}
  explicit Split(double mean) : Split(mean, 0) {}
};

struct Moments {
  double mean, rest, var;  // the mean is mean + rest
};

// Sums of x - shift and its square, in float64. For float32 the first element is shift enough: as var ≥ (x₀ - mean)² /
// n, cancellation costs no more than log2(n) of the 29 bits to spare. For float64 the shift is the mean, from a pass of
// its own.
template <class A>
Moments moments(const A* x, int64_t n, bool centered) {
  const double count = static_cast<double>(n);
  double shift = 0;
  if (centered && n > 0) {
    if constexpr (std::is_same_v<A, float>) shift = static_cast<double>(x[0]);
    else shift = cpu::sum_of<double>(n, [&](int64_t i) { return x[i]; }) / count;
  }
  const cpu::Sums sums = cpu::sums_around(x, n, shift);
  const double rest = centered ? sums.first / count : 0;
  return {shift, rest, sums.second / count - rest * rest};
}

template <class A>
void normalize(const A* x, const A* weight, const A* bias, A* y, int64_t n, Split<A> mean, A rstd) {
  const auto normal = [=](int64_t i) { return ((x[i] - mean.high) - mean.low) * rstd; };
  if (weight && bias) {
    for (int64_t i = 0; i < n; ++i) y[i] = normal(i) * weight[i] + bias[i];
  } else if (weight) {
    for (int64_t i = 0; i < n; ++i) y[i] = normal(i) * weight[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = normal(i) + (bias ? bias[i] : A(0));
  }
}

template <class A>
void forward(const ConstView& x, const ConstView& weight, const ConstView& bias, const View& y, const View& stats,
             double eps, bool centered) {
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const std::vector<A> w = cpu::values_of<A>(weight), b = cpu::values_of<A>(bias);
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / (n + 1)), [&](int64_t begin, int64_t end) {
    cpu::LineReader<A> in(x, n);
    cpu::LineWriter<A> out(y, n);
    for (int64_t r = begin; r < end; ++r) {
      const A* row = in.read(r * n, n);
      const Moments m = moments(row, n, centered);
      const double rstd = 1 / std::sqrt(m.var + eps);
      stats.as<double>()[2 * r] = m.mean + m.rest;
      stats.as<double>()[2 * r + 1] = rstd;
      normalize(row, or_null(w), or_null(b), out.write(r * n, n), n, Split<A>(m.mean, m.rest), static_cast<A>(rstd));
      out.done();
    }
  });
}

// One row on its way back.
template <class A>
struct Row {
  const A *g, *x, *weight;
  int64_t n;
  Split<A> mean;
  A rstd;

  A normal(int64_t i) const { return ((x[i] - mean.high) - mean.low) * rstd; }
  A gw(int64_t i) const { return weight ? g[i] * weight[i] : g[i]; }

  void add_to(double* dweight, double* dbias) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dweight[i] += static_cast<double>(g[i] * normal(i));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dbias[i] += static_cast<double>(g[i]);
  }
  void gradient(A* dx, bool centered) const {
    const double count = static_cast<double>(n);
    const A along = static_cast<A>(cpu::sum_of<double>(n, [&](int64_t i) { return gw(i) * normal(i); }) / count);
    const A level = static_cast<A>(centered ? cpu::sum_of<double>(n, [&](int64_t i) { return gw(i); }) / count : 0);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = rstd * (gw(i) - level - normal(i) * along);
  }
};

template <class A>
void backward(const ConstView& g, const ConstView& x, const ConstView& weight, const ConstView& stats, const View& dx,
              const View& dweight, const View& dbias, bool centered) {
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const std::vector<A> w = cpu::values_of<A>(weight);
  const bool parameters = dweight.data || dbias.data;
  const int64_t grain = std::max({int64_t{1}, 16384 / (n + 1), parameters ? (rows + 15) / 16 : 0});
  const size_t parts = static_cast<size_t>((rows + grain - 1) / grain), width = static_cast<size_t>(n);
  std::vector<double> sums(parameters ? std::max<size_t>(parts, 1) * 2 * width
                                      : 0);  // of weight, then bias, for each part
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    cpu::LineReader<A> in_g(g, n), in_x(x, n);
    cpu::LineWriter<A> out(dx, dx.data ? n : 0);
    double* part = sums.data() + static_cast<size_t>(begin / grain) * 2 * width;
    for (int64_t r = begin; r < end; ++r) {
      const Row<A> row{in_g.read(r * n, n),
                       in_x.read(r * n, n),
                       or_null(w),
                       n,
                       Split<A>(stats.as<double>()[2 * r]),
                       static_cast<A>(stats.as<double>()[2 * r + 1])};
      if (parameters) row.add_to(part, part + n);
      if (!dx.data) continue;
      row.gradient(out.write(r * n, n), centered);
      out.done();
    }
  });
  if (!parameters) return;
  for (size_t p = 1; p < parts; ++p)
    for (size_t i = 0; i < 2 * width; ++i) sums[i] += sums[p * 2 * width + i];
  const auto store = [&](const View& v, const double* from) {
    if (v.data) cpu::store_line<double>(v.dtype)(from, n, v.data, 1);
  };
  store(dweight, sums.data());
  store(dbias, sums.data() + n);
}

}  // namespace

void layer_norm_forward(CpuContext&, ConstView x, ConstView weight, ConstView bias, View y, View stats, double eps,
                        bool centered) {
  if (x.dtype == kFloat64) forward<double>(x, weight, bias, y, stats, eps, centered);
  else forward<float>(x, weight, bias, y, stats, eps, centered);
}

void layer_norm_backward(CpuContext&, ConstView g, ConstView x, ConstView weight, ConstView stats, View dx,
                         View dweight, View dbias, bool centered) {
  if (x.dtype == kFloat64) backward<double>(g, x, weight, stats, dx, dweight, dbias, centered);
  else backward<float>(g, x, weight, stats, dx, dweight, dbias, centered);
}

}  // namespace tantu
