#include <tantu/kernels/layer_norm.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/lanes.h>
#include <tantu/kernels/cpu/packed_rows.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tantu {

namespace {

const double* or_null(const std::vector<double>& v) {
  return v.empty() ? nullptr : v.data();
}

template <class A>
void normalize(const A* x, const double* weight, const double* bias, A* y, int64_t n, double mean, double rstd) {
  if (weight && bias) {
    for (int64_t i = 0; i < n; ++i)
      y[i] = static_cast<A>((static_cast<double>(x[i]) - mean) * rstd * weight[i] + bias[i]);
  } else if (weight) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<A>((static_cast<double>(x[i]) - mean) * rstd * weight[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      y[i] = static_cast<A>((static_cast<double>(x[i]) - mean) * rstd + (bias ? bias[i] : 0.0));
  }
}

struct Moments {
  double mean, var;
};

// In two passes; the second also mends what the first one's mean was rounded by.
template <class A>
Moments moments(const A* x, int64_t n, bool centered) {
  const double count = static_cast<double>(n);
  const double mean = centered ? cpu::sum_of<double>(n, [&](int64_t i) { return x[i]; }) / count : 0;
  const auto from_mean = [&](int64_t i) { return static_cast<double>(x[i]) - mean; };
  const double rest = centered ? cpu::sum_of<double>(n, from_mean) / count : 0;
  const double square = cpu::sum_of<double>(n, [&](int64_t i) { return from_mean(i) * from_mean(i); }) / count;
  return {mean + rest, square - rest * rest};
}

template <class A>
void forward(const ConstView& x, const ConstView& weight, const ConstView& bias, const View& y, const View& stats,
             double eps, bool centered) {
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const std::vector<double> w = cpu::as_doubles(weight), b = cpu::as_doubles(bias);
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / (n + 1)), [&](int64_t begin, int64_t end) {
    cpu::LineReader<A> in(x, n);
    cpu::LineWriter<A> out(y, n);
    for (int64_t r = begin; r < end; ++r) {
      const A* row = in.read(r * n, n);
      const auto [mean, var] = moments(row, n, centered);
      const double rstd = 1 / std::sqrt(var + eps);
      stats.as<double>()[2 * r] = mean;
      stats.as<double>()[2 * r + 1] = rstd;
      normalize(row, or_null(w), or_null(b), out.write(r * n, n), n, mean, rstd);
      out.done();
    }
  });
}

// What one row adds to the gradients of weight and bias.
template <class A>
void add_row(const A* g, const A* x, int64_t n, double mean, double rstd, double* dweight, double* dbias) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dweight[i] += static_cast<double>(g[i]) * ((static_cast<double>(x[i]) - mean) * rstd);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dbias[i] += static_cast<double>(g[i]);
}

template <class A>
void row_gradient(const A* g, const A* x, const double* w, A* dx, int64_t n, double mean, double rstd, bool centered) {
  const auto gw = [&](int64_t i) { return w ? static_cast<double>(g[i]) * w[i] : static_cast<double>(g[i]); };
  const auto normal = [&](int64_t i) { return (static_cast<double>(x[i]) - mean) * rstd; };
  const double count = static_cast<double>(n);
  const double along = cpu::sum_of<double>(n, [&](int64_t i) { return gw(i) * normal(i); }) / count;
  const double level = centered ? cpu::sum_of<double>(n, gw) / count : 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = static_cast<A>(rstd * (gw(i) - level - normal(i) * along));
}

template <class A>
void backward(const ConstView& g, const ConstView& x, const ConstView& weight, const ConstView& stats, const View& dx,
              const View& dweight, const View& dbias, bool centered) {
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const std::vector<double> w = cpu::as_doubles(weight);
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
      const A *gr = in_g.read(r * n, n), *xr = in_x.read(r * n, n);
      const double mean = stats.as<double>()[2 * r], rstd = stats.as<double>()[2 * r + 1];
      if (parameters) add_row(gr, xr, n, mean, rstd, part, part + n);
      if (!dx.data) continue;
      row_gradient(gr, xr, w.empty() ? nullptr : w.data(), out.write(r * n, n), n, mean, rstd, centered);
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
