#include <tantu/kernels/batch_norm.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/lanes.h>
#include <tantu/kernels/cpu/packed_rows.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tantu {

namespace {

struct Extent {
  int64_t batch, channels, inner;
  explicit Extent(const ConstView& x) : batch(x.sizes[0]), channels(x.sizes[1]), inner(x.sizes[2]) {}
  double count() const { return static_cast<double>(batch * inner); }
};

constexpr int64_t kBlock = 128;  // channels summed side by side where a channel's elements lie apart

// For each of K quantities, the sum over a channel of term(k, c, elements of each operand). Channels whose elements lie
// together are summed one by one, along memory; others in blocks, row by row.
template <class A, int K, int Operands, class F>
std::vector<std::array<double, K>> channel_sums(const Extent& e, const std::array<ConstView, Operands>& views,
                                                F&& term) {
  std::vector<std::array<double, K>> sums(static_cast<size_t>(e.channels));
  if (e.inner > 1) {
    const int64_t grain = std::max<int64_t>(1, 16384 / (e.batch * e.inner + 1));
    parallel_for(0, e.channels, grain, [&](int64_t begin, int64_t end) {
      std::vector<cpu::LineReader<A>> readers;
      for (const ConstView& v : views) readers.emplace_back(v, e.inner);
      for (int64_t c = begin; c < end; ++c)
        for (int64_t b = 0; b < e.batch; ++b) {
          std::array<const A*, Operands> lines;
          for (size_t o = 0; o < Operands; ++o) lines[o] = readers[o].read((b * e.channels + c) * e.inner, e.inner);
          for (int k = 0; k < K; ++k)
            sums[static_cast<size_t>(c)][static_cast<size_t>(k)] +=
                cpu::sum_of<double>(e.inner, [&](int64_t i) { return term(k, c, lines, i); });
        }
    });
    return sums;
  }
  parallel_for(0, e.channels, kBlock, [&](int64_t begin, int64_t end) {
    std::vector<cpu::LineReader<A>> readers;
    for (const ConstView& v : views) readers.emplace_back(v, kBlock);
    double totals[K][kBlock] = {};
    for (int64_t b = 0; b < e.batch; ++b) {
      std::array<const A*, Operands> lines;
      for (size_t o = 0; o < Operands; ++o) lines[o] = readers[o].read(b * e.channels + begin, end - begin);
      for (int k = 0; k < K; ++k)
#pragma GCC ivdep
        for (int64_t i = 0; i < end - begin; ++i) totals[k][i] += term(k, begin + i, lines, i);
    }
    for (int64_t c = begin; c < end; ++c)
      for (int k = 0; k < K; ++k) sums[static_cast<size_t>(c)][static_cast<size_t>(k)] = totals[k][c - begin];
  });
  return sums;
}

// y = f(c, elements) for every element of (N, C, S), along memory.
template <class A, int Operands, class F>
void map_elements(const Extent& e, const std::array<ConstView, Operands>& views, const View& y, F&& f) {
  const int64_t lines_count = e.inner > 1 ? e.batch * e.channels : e.batch;
  const int64_t length = e.inner > 1 ? e.inner : e.channels;
  parallel_for(0, lines_count, std::max<int64_t>(1, 16384 / (length + 1)), [&](int64_t begin, int64_t end) {
    std::vector<cpu::LineReader<A>> readers;
    for (const ConstView& v : views) readers.emplace_back(v, length);
    cpu::LineWriter<A> writer(y, length);
    for (int64_t l = begin; l < end; ++l) {
      std::array<const A*, Operands> lines;
      for (size_t o = 0; o < Operands; ++o) lines[o] = readers[o].read(l * length, length);
      A* out = writer.write(l * length, length);
      if (e.inner > 1) {
        const int64_t c = l % e.channels;
#pragma GCC ivdep
        for (int64_t i = 0; i < length; ++i) out[i] = static_cast<A>(f(c, lines, i));
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < length; ++i) out[i] = static_cast<A>(f(i, lines, i));
      }
      writer.done();
    }
  });
}

void update_running(const View& running, const std::vector<double>& batch, double momentum) {
  if (!running.data) return;
  std::vector<double> values = cpu::values_of<double>(running);
  for (size_t c = 0; c < values.size(); ++c) values[c] = (1 - momentum) * values[c] + momentum * batch[c];
  cpu::store_doubles(values, running);
}

template <class A>
void statistics(const ConstView& x, const View& stats, double eps, double momentum, const View& running_mean,
                const View& running_var) {
  const Extent e(x);
  const size_t channels = static_cast<size_t>(e.channels);
  std::vector<double> mean(channels), var(channels);
  const auto sums = channel_sums<A, 1, 1>(
      e, {x}, [](int, int64_t, const auto& in, int64_t i) { return static_cast<double>(in[0][i]); });
  for (size_t c = 0; c < channels; ++c) mean[c] = sums[c][0] / e.count();
  const double* m = mean.data();
  // The second pass also mends what the first one's mean was rounded by.
  const auto around = channel_sums<A, 2, 1>(e, {x}, [m](int k, int64_t c, const auto& in, int64_t i) {
    const double d = static_cast<double>(in[0][i]) - m[c];
    return k == 0 ? d : d * d;
  });
  for (size_t c = 0; c < channels; ++c) {
    const double rest = around[c][0] / e.count(), biased = around[c][1] / e.count() - rest * rest;
    if (std::isfinite(rest)) mean[c] += rest;
    stats.as<double>()[2 * c] = mean[c];
    stats.as<double>()[2 * c + 1] = 1 / std::sqrt(biased + eps);
    var[c] = biased * e.count() / (e.count() - 1);
  }
  update_running(running_mean, mean, momentum);
  update_running(running_var, var, momentum);
}

// mean, rstd, and the factors and terms of the channels, each an array of its own.
struct Channels {
  std::vector<double> mean, rstd, weight, bias;
  Channels(const ConstView& stats, const ConstView& w, const ConstView& b)
      : mean(static_cast<size_t>(stats.sizes[0])),
        rstd(mean.size()),
        weight(cpu::values_of<double>(w)),
        bias(cpu::values_of<double>(b)) {
    for (size_t c = 0; c < mean.size(); ++c) {
      mean[c] = stats.as<double>()[2 * c];
      rstd[c] = stats.as<double>()[2 * c + 1];
    }
    if (weight.empty()) weight.assign(mean.size(), 1);
    if (bias.empty()) bias.assign(mean.size(), 0);
  }
};

template <class A>
void forward(const ConstView& x, const ConstView& stats, const ConstView& weight, const ConstView& bias,
             const View& y) {
  const Channels ch(stats, weight, bias);
  std::vector<double> factors(ch.mean.size());
  for (size_t c = 0; c < factors.size(); ++c) factors[c] = ch.rstd[c] * ch.weight[c];
  const double *mean = ch.mean.data(), *factor = factors.data(), *term = ch.bias.data();
  map_elements<A, 1>(Extent(x), {x}, y, [=](int64_t c, const auto& in, int64_t i) {
    return (static_cast<double>(in[0][i]) - mean[c]) * factor[c] + term[c];
  });
}

template <class A>
void backward(const ConstView& g, const ConstView& x, const ConstView& stats, const ConstView& weight, bool training,
              const View& dx, const View& dweight, const View& dbias) {
  const Extent e(x);
  const Channels ch(stats, weight, {});
  const size_t channels = ch.mean.size();
  const double *mean = ch.mean.data(), *rstd = ch.rstd.data();
  std::vector<double> along(channels), level(channels), factor(channels);
  if (training || dweight.data || dbias.data) {
    const auto sums = channel_sums<A, 2, 2>(e, {g, x}, [=](int k, int64_t c, const auto& in, int64_t i) {
      const double gi = static_cast<double>(in[0][i]);
      return k == 0 ? gi * ((static_cast<double>(in[1][i]) - mean[c]) * rstd[c]) : gi;
    });
    for (size_t c = 0; c < channels; ++c) {
      along[c] = sums[c][0];
      level[c] = sums[c][1];
    }
  }
  if (dweight.data) cpu::store_doubles(along, dweight);
  if (dbias.data) cpu::store_doubles(level, dbias);
  if (!dx.data) return;
  for (size_t c = 0; c < channels; ++c) {
    factor[c] = ch.rstd[c] * ch.weight[c];
    along[c] *= ch.rstd[c] / e.count();
    level[c] /= e.count();
  }
  const double *a = along.data(), *l = level.data(), *f = factor.data();
  if (!training)
    return map_elements<A, 1>(
        e, {g}, dx, [=](int64_t c, const auto& in, int64_t i) { return f[c] * static_cast<double>(in[0][i]); });
  map_elements<A, 2>(e, {g, x}, dx, [=](int64_t c, const auto& in, int64_t i) {
    const double centered = static_cast<double>(in[1][i]) - mean[c];
    return f[c] * (static_cast<double>(in[0][i]) - l[c] - centered * a[c]);
  });
}

}  // namespace

void batch_norm_statistics(CpuContext&, ConstView x, View stats, double eps, double momentum, View running_mean,
                           View running_var) {
  if (x.dtype == kFloat64) statistics<double>(x, stats, eps, momentum, running_mean, running_var);
  else statistics<float>(x, stats, eps, momentum, running_mean, running_var);
}

void batch_norm_from_running(CpuContext&, ConstView running_mean, ConstView running_var, double eps, View stats) {
  const std::vector<double> mean = cpu::values_of<double>(running_mean), var = cpu::values_of<double>(running_var);
  for (size_t c = 0; c < mean.size(); ++c) {
    stats.as<double>()[2 * c] = mean[c];
    stats.as<double>()[2 * c + 1] = 1 / std::sqrt(var[c] + eps);
  }
}

void batch_norm_forward(CpuContext&, ConstView x, ConstView stats, ConstView weight, ConstView bias, View y) {
  if (x.dtype == kFloat64) forward<double>(x, stats, weight, bias, y);
  else forward<float>(x, stats, weight, bias, y);
}

void batch_norm_backward(CpuContext&, ConstView g, ConstView x, ConstView stats, ConstView weight, bool training,
                         View dx, View dweight, View dbias) {
  if (x.dtype == kFloat64) backward<double>(g, x, stats, weight, training, dx, dweight, dbias);
  else backward<float>(g, x, stats, weight, training, dx, dweight, dbias);
}

}  // namespace tantu
