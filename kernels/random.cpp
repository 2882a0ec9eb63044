#include <tantu/kernels/random.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/box_muller.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace tantu {

namespace {

constexpr int64_t kBlock = 16;  // of the vectorised Box-Muller

// Calls make(values, n) for consecutive runs of y in memory order; `values` are of type C and are converted to y's
// dtype.
template <class C, class F>
void for_each_run(View y, F&& make) {
  const ConstView views[] = {y};
  const cpu::Walk walk(views, 1);
  if (walk.operands[0].contiguous && y.dtype == dtype_of<C>) {
    C* data = static_cast<C*>(y.data);
    for (int64_t i = 0; i < walk.numel; i += cpu::kChunk) make(data + i, std::min(cpu::kChunk, walk.numel - i));
    return;
  }
  alignas(64) C values[cpu::kChunk];
  for (int64_t i = 0; i < walk.numel; i += cpu::kChunk) {
    const int64_t n = std::min(cpu::kChunk, walk.numel - i);
    make(values, n);
    cpu::store(walk, 0, i, n, dtype_of<C>, values);
  }
}

// Calls make(value, i, word) with one word, or make(value, i, two words as one) with two, for n values; n <= kChunk.
template <class C, class F>
void with_words(Generator& generator, C* values, int64_t n, F&& make) {
  alignas(64) uint32_t words[cpu::kChunk];
  generator.random(words, n);
  for (int64_t i = 0; i < n; ++i) values[i] = make(words[i]);
}
template <class C, class F>
void with_long_words(Generator& generator, C* values, int64_t n, F&& make) {
  alignas(64) uint32_t words[2 * cpu::kChunk];
  generator.random(words, 2 * n);
  for (int64_t i = 0; i < n; ++i) values[i] = make(static_cast<uint64_t>(words[2 * i]) << 32 | words[2 * i + 1]);
}

float unit(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word & 0xFFFFFFu)) * 0x1p-24f;
}
double unit(uint64_t word) {
  return static_cast<double>(static_cast<int64_t>(word & ((uint64_t{1} << 53) - 1))) * 0x1p-53;
}

// A unit value of float16 or bfloat16: as many random bits as its mantissa holds.
float short_unit(DType dtype, uint32_t word) {
  const int bits = dtype == kFloat16 ? 11 : 8;
  return static_cast<float>(static_cast<int32_t>(word & ((1u << bits) - 1u))) *
         (dtype == kFloat16 ? 0x1p-11f : 0x1p-8f);
}

// The highest integer up to which a floating type holds every one, as a power of two.
int mantissa_bits(DType dtype) {
  return dtype == kFloat64 ? 53 : dtype == kFloat32 ? 24 : dtype == kFloat16 ? 11 : 8;
}

double next_normal(Generator& generator) {
  if (std::optional<double>& spare = generator.next_double()) {
    const double value = *spare;
    spare.reset();
    return value;
  }
  const double u1 = unit(generator.random64()), u2 = unit(generator.random64());
  const double r = std::sqrt(-2.0 * std::log(1.0 - u2)), t = 2.0 * std::numbers::pi * u1;
  generator.next_double() = r * std::sin(t);
  return r * std::cos(t);
}

// Uniform values become normal ones, in blocks of 16; n is a multiple of 16.
void box_muller(float* d, int64_t n, float mean, float std) {
  for (int64_t i = 0; i < n; i += kBlock) cpu::box_muller_16(d + i, mean, std);
}

void box_muller(double* d, int64_t n, double mean, double std) {
  for (const double* end = d + n; d != end; d += kBlock) {
    for (int j = 0; j < 8; ++j) {
      const double r = std::sqrt(-2.0 * std::log(1.0 - d[j])), t = 2.0 * std::numbers::pi * d[j + 8];
      d[j] = std::fma(r * std::cos(t), std, mean);
      d[j + 8] = std::fma(r * std::sin(t), std, mean);
    }
  }
}

template <class T>  // float16, bfloat16: every operation rounds to T
void box_muller(T* d, int64_t n, T mean, T std) {
  for (const T* end = d + n; d != end; d += kBlock) {
    for (int j = 0; j < 8; ++j) {
      const T log = T(std::log(float(T(1.0f - float(d[j])))));
      const T r = T(std::sqrt(float(T(-2.0f * float(log)))));
      const T t = T(static_cast<float>(2.0 * std::numbers::pi * double(float(d[j + 8]))));
      const T x = T(float(r) * float(T(std::cos(float(t))))), y = T(float(r) * float(T(std::sin(float(t)))));
      d[j] = T(float(T(float(x) * float(std))) + float(mean));
      d[j + 8] = T(float(T(float(y) * float(std))) + float(mean));
    }
  }
}

// Contiguous, at least 16 elements: uniform values everywhere, then block after block becomes normal. A rest of fewer
// than 16 is filled anew, together with the finished values in front of it.
template <class T>
void normal_blocks(CpuContext& ctx, View y, T mean, T std, Generator& generator) {
  const int64_t n = y.numel(), whole = n / kBlock * kBlock;
  T* data = y.as<T>();
  random_uniform(ctx, y, 0, 1, generator);
  parallel_for(0, whole, 256 * kBlock,
               [=](int64_t begin, int64_t end) { box_muller(data + begin, end - begin, mean, std); });
  if (whole == n) return;
  View rest = y;
  rest.data = data + n - kBlock;
  rest.sizes = {kBlock};
  rest.strides = {1};
  random_uniform(ctx, rest, 0, 1, generator);
  box_muller(data + n - kBlock, kBlock, mean, std);
}

}  // namespace

void random_uniform(CpuContext&, View y, double from, double to, Generator& generator) {
  if (y.dtype == kFloat64) {
    const double range = to - from;
    return for_each_run<double>(y, [&](double* values, int64_t n) {
      with_long_words(generator, values, n, [=](uint64_t word) { return std::fma(unit(word), range, from); });
    });
  }
  const float low = static_cast<float>(from), range = static_cast<float>(to) - low;
  for_each_run<float>(y, [&](float* values, int64_t n) {
    if (y.dtype == kFloat32)
      with_words(generator, values, n, [=](uint32_t word) { return std::fma(unit(word), range, low); });
    else
      with_words(generator, values, n,
                 [=, t = y.dtype](uint32_t word) { return std::fma(short_unit(t, word), range, low); });
  });
}

void random_normal(CpuContext& ctx, View y, double mean, double std, Generator& generator) {
  if (y.numel() >= kBlock && y.contiguous())
    return visit_floating(y.dtype, [&]<class T>(Tag<T>) {
      using C = acc_t<T>;
      normal_blocks<T>(ctx, y, T(static_cast<C>(mean)), T(static_cast<C>(std)), generator);
    });
  const auto fill = [&](auto* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<std::remove_reference_t<decltype(*values)>>(std::fma(next_normal(generator), std, mean));
  };
  if (y.dtype == kFloat64) for_each_run<double>(y, fill);
  else for_each_run<float>(y, fill);
}

void random_integers(CpuContext&, View y, int64_t low, uint64_t range, Generator& generator) {
  const auto base = static_cast<uint64_t>(low);
  for_each_run<int64_t>(y, [&](int64_t* values, int64_t n) {
    if (range >> 32) {
      with_long_words(generator, values, n, [=](uint64_t word) { return static_cast<int64_t>(word % range + base); });
    } else {
      const auto divisor = static_cast<uint32_t>(range);
      with_words(generator, values, n, [=](uint32_t word) { return static_cast<int64_t>(word % divisor + base); });
    }
  });
}

void random_full_range(CpuContext&, View y, Generator& generator) {
  for_each_run<int64_t>(y, [&](int64_t* values, int64_t n) {
    const auto word = [&](uint32_t mask) {
      with_words(generator, values, n, [=](uint32_t w) { return static_cast<int64_t>(w & mask); });
    };
    switch (y.dtype) {
      case DType::Bool: return word(1);
      case DType::UInt8: return word(0xFF);
      case DType::Int32: return word(0x7FFFFFFF);
      case DType::Int64:
        return with_long_words(generator, values, n,
                               [](uint64_t w) { return static_cast<int64_t>(w & (~uint64_t{0} >> 1)); });
      case DType::Float64:
        return with_long_words(generator, values, n,
                               [](uint64_t w) { return static_cast<int64_t>(w % ((uint64_t{1} << 53) + 1)); });
      default:
        return with_words(generator, values, n, [count = (1u << mantissa_bits(y.dtype)) + 1](uint32_t w) {
          return static_cast<int64_t>(w % count);
        });
    }
  });
}

void random_bernoulli(CpuContext&, View y, double p, Generator& generator) {
  const auto fill = [&](auto* values, int64_t n) {
    with_long_words(generator, values, n, [=](uint64_t word) { return unit(word) < p; });
  };
  if (y.dtype == kFloat32) for_each_run<float>(y, fill);
  else for_each_run<bool>(y, fill);
}

void random_dropout(CpuContext&, View y, double keep, Generator& generator) {
  const auto fill = [&](auto* values, int64_t n) {
    using C = std::remove_reference_t<decltype(*values)>;
    const C kept = C(1) / static_cast<C>(keep);
    with_long_words(generator, values, n, [=](uint64_t word) { return unit(word) < keep ? kept : C(0); });
  };
  if (y.dtype == kFloat64) for_each_run<double>(y, fill);
  else for_each_run<float>(y, fill);
}

void random_bernoulli_each(CpuContext&, ConstView p, View y, Generator& generator) {
  const ConstView views[] = {y, p};
  const cpu::Walk walk(views, 2);
  const auto fill = [&]<class C>(Tag<C>, auto draw) {
    alignas(64) C chance[cpu::kChunk];
    alignas(64) C value[cpu::kChunk];
    bool one[cpu::kChunk];
    for (int64_t i = 0; i < walk.numel; i += cpu::kChunk) {
      const int64_t n = std::min(cpu::kChunk, walk.numel - i);
      draw(value, n);
      cpu::load(walk, 1, i, n, dtype_of<C>, chance);
      for (int64_t k = 0; k < n; ++k) one[k] = value[k] < chance[k];
      cpu::store(walk, 0, i, n, kBool, one);
    }
  };
  if (p.dtype == kFloat64)
    fill(Tag<double>{}, [&](double* values, int64_t n) {
      with_long_words(generator, values, n, [](uint64_t word) { return unit(word); });
    });
  else
    fill(Tag<float>{},
         [&](float* values, int64_t n) { with_words(generator, values, n, [](uint32_t word) { return unit(word); }); });
}

void random_exponential(CpuContext&, View y, double lambda, Generator& generator) {
  const auto fill = [&](auto* values, int64_t n) {
    with_long_words(generator, values, n, [scale = -1.0 / lambda](uint64_t word) {
      return static_cast<std::remove_reference_t<decltype(*values)>>(scale * std::log(1.0 - unit(word)));
    });
  };
  if (y.dtype == kFloat64) for_each_run<double>(y, fill);
  else for_each_run<float>(y, fill);
}

void first_outside(CpuContext&, ConstView x, double low, double high, std::optional<double>& found) {
  found.reset();
  ConstView order = x;
  order.strides = contiguous_strides(x.sizes);
  const ConstView views[] = {order, x};
  const cpu::Walk walk(views, 2);
  double values[cpu::kChunk];
  for (int64_t i = 0; i < walk.numel && !found; i += cpu::kChunk) {
    const int64_t n = std::min(cpu::kChunk, walk.numel - i);
    cpu::load(walk, 1, i, n, kFloat64, values);
    for (int64_t k = 0; k < n && !found; ++k)
      if (!(values[k] >= low && values[k] <= high)) found = values[k];
  }
}

void random_permutation(CpuContext&, View y, Generator& generator) {
  const int64_t n = y.numel();
  int64_t* p = y.as<int64_t>();
  for (int64_t i = 0; i < n; ++i) p[i] = i;
  uint32_t words[cpu::kChunk];
  for (int64_t start = 0; start + 1 < n; start += cpu::kChunk) {
    const int64_t count = std::min(cpu::kChunk, n - 1 - start);
    generator.random(words, count);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = start + k;
      std::swap(p[i], p[i + words[k] % static_cast<uint32_t>(n - i)]);
    }
  }
}

namespace {

// Without replacement: each category's weight over an exponential variate; the largest win, in descending order.
template <class T>
void race(const std::vector<T>& weights, const T* exponentials, int64_t* chosen, int64_t samples) {
  std::vector<std::pair<acc_t<T>, int64_t>> entries(weights.size());
  for (size_t k = 0; k < weights.size(); ++k) {
    const auto w = static_cast<acc_t<T>>(weights[k]);
    entries[k] = {w > 0 ? static_cast<acc_t<T>>(T(w / std::abs(static_cast<acc_t<T>>(exponentials[k])))) : acc_t<T>(-1),
                  static_cast<int64_t>(k)};
  }
  const auto better = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  std::partial_sort(entries.begin(), entries.begin() + samples, entries.end(), better);
  for (int64_t s = 0; s < samples; ++s) chosen[s] = entries[static_cast<size_t>(s)].second;
}

// With replacement: the first category whose running share reaches a uniform number.
template <class T>
void search(std::vector<T> shares, int64_t* chosen, int64_t samples, Generator& generator) {
  using A = acc_t<T>;
  T sum = T(A(0));
  for (T& share : shares) share = sum = T(static_cast<A>(sum) + static_cast<A>(share));
  for (T& share : shares) share = T(static_cast<A>(share) / static_cast<A>(sum));
  shares.back() = T(A(1));
  for (int64_t s = 0; s < samples; ++s) {
    const double u = unit(generator.random64());
    const auto first =
        std::partition_point(shares.begin(), shares.end(), [=](T share) { return static_cast<A>(share) < u; });
    chosen[s] = first - shares.begin();
  }
}

}  // namespace

void random_multinomial(CpuContext& ctx, ConstView p, View y, bool replacement, Generator& generator) {
  const int64_t rows = p.sizes[0], categories = p.sizes[1], samples = y.sizes[1];
  int64_t* chosen = y.as<int64_t>();
  visit_floating(p.dtype, [&]<class T>(Tag<T>) {
    const bool by_race = !replacement || samples == 1;
    std::vector<T> weights(static_cast<size_t>(categories)), exponentials;
    if (by_race) {
      exponentials.resize(static_cast<size_t>(rows * categories));
      View all;
      all.data = exponentials.data();
      all.dtype = p.dtype;
      all.sizes = {rows, categories};
      all.strides = {categories, 1};
      random_exponential(ctx, all, 1, generator);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < categories; ++k)
        weights[static_cast<size_t>(k)] = p.as<T>()[r * p.strides[0] + k * p.strides[1]];
      if (by_race) race(weights, exponentials.data() + r * categories, chosen + r * samples, samples);
      else search(weights, chosen + r * samples, samples, generator);
    }
  });
}

}  // namespace tantu
