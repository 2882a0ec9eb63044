// Random fills by Philox4x32-10 (kernels/philox.h has the rule): element i's words come from its index alone.
//
// One thread an element; dropout, whose four neighbours share a counter, one thread for four. Bytes moved: the result
// written once; about 60 integer operations for each block of words: bound by the write bandwidth for dropout, by
// arithmetic for single words on most GPUs.
#include <tantu/kernels/philox.h>
#include <tantu/kernels/random.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/walk.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;

struct Stream {
  uint64_t seed, offset;
};

Stream next_of(Generator& generator) {
  return {generator.initial_seed(), generator.next_offset(kPhiloxStep)};
}

__device__ __forceinline__ uint64_t word64(uint32_t high, uint32_t low) {
  return static_cast<uint64_t>(high) << 32 | low;
}

// In (0, 1]: 53 bits of two words.
__device__ __forceinline__ double unit64(uint32_t high, uint32_t low) {
  return fma(static_cast<double>(word64(high, low) >> 11), 0x1p-53, 0x1p-54);
}

// Each functor gives element i of a fill, from its own words, in the type C.
struct Uniform {
  double from, range;
  __device__ __forceinline__ float at(Philox4 r, float) const {
    return philox_uniform(r, static_cast<float>(from), static_cast<float>(range));
  }
  __device__ __forceinline__ double at(Philox4 r, double) const {
    const double u = unit64(r.x, r.y);
    return fma(u == 1.0 ? 0.0 : u, range, from);
  }
};

struct NormalDraw {
  double mean, std;
  __device__ __forceinline__ float at(Philox4 r, float) const {
    return fmaf(philox_normal(r), static_cast<float>(std), static_cast<float>(mean));
  }
  __device__ __forceinline__ double at(Philox4 r, double) const {
    const double length = sqrt(-2.0 * log(unit64(r.x, r.y)));
    return fma(length * sin(6.283185307179586 * unit64(r.z, r.w)), std, mean);
  }
};

struct Exponential {
  double rate;
  __device__ __forceinline__ float at(Philox4 r, float) const {
    return -logf(philox_unit(r.x)) / static_cast<float>(rate);
  }
  __device__ __forceinline__ double at(Philox4 r, double) const { return -log(unit64(r.x, r.y)) / rate; }
};

struct Integers {
  int64_t low;
  uint64_t range;
  __device__ __forceinline__ int64_t at(Philox4 r, int64_t) const { return philox_integer(r, low, range); }
};

struct MaskedWord {
  uint64_t mask;
  __device__ __forceinline__ int64_t at(Philox4 r, int64_t) const {
    return static_cast<int64_t>((mask >> 32 ? word64(r.x, r.y) : r.x) & mask);
  }
};

struct Bernoulli {
  double p;  // 1 is certain, though a unit number may be 1
  __device__ __forceinline__ int64_t at(Philox4 r, int64_t) const {
    return p >= 1 || philox_bernoulli(r, static_cast<float>(p)) ? 1 : 0;
  }
};

template <class C, class Draw>
__global__ void __launch_bounds__(kThreads) fill_kernel(Picture<1> y, int64_t n, Stream stream, Draw draw) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const C value = draw.at(philox(stream.seed, stream.offset, static_cast<uint64_t>(i)), C());
    store_as<C>(y.operands[0].data, y.operands[0].dtype, place_in(y, 0, i), value);
  }
}

// y = whether u < p's element; p >= 1 is certain.
template <class C>
__global__ void __launch_bounds__(kThreads) bernoulli_each_kernel(Picture<2> views, int64_t n, Stream stream) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const Philox4 r = philox(stream.seed, stream.offset, static_cast<uint64_t>(i));
    const C p = load_as<C>(views.operands[1].data, views.operands[1].dtype, place_in(views, 1, i));
    const C u = sizeof(C) == 8 ? static_cast<C>(unit64(r.x, r.y)) : static_cast<C>(philox_unit(r.x));
    store_as<int64_t>(views.operands[0].data, views.operands[0].dtype, place_in(views, 0, i), p >= 1 || u < p ? 1 : 0);
  }
}

// Four neighbours for each thread.
template <class C>
__global__ void __launch_bounds__(kThreads) dropout_kernel(Picture<1> y, int64_t n, Stream stream, float keep, C kept) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t q = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; q * 4 < n; q += stride) {
    const Philox4 r = philox(stream.seed, stream.offset, static_cast<uint64_t>(q));
    for (int k = 0; k < 4 && q * 4 + k < n; ++k) {
      const uint32_t word = k == 0 ? r.x : k == 1 ? r.y : k == 2 ? r.z : r.w;
      store_as<C>(y.operands[0].data, y.operands[0].dtype, place_in(y, 0, q * 4 + k),
                  philox_unit(word) < keep ? kept : C(0));
    }
  }
}

template <class C, class Draw>
void fill_with(GpuContext& ctx, const View& y, Generator& generator, Draw draw) {
  const ConstView view = y;
  const int64_t n = y.numel();
  launch(ctx, "fill_kernel", fill_kernel<C, Draw>, blocks_for(n, kThreads), kThreads, 0, make_picture<1>(&view, 1), n,
         next_of(generator), draw);
}

template <class Draw>
void fill_floating(GpuContext& ctx, const View& y, Generator& generator, Draw draw) {
  if (y.dtype == kFloat64) fill_with<double>(ctx, y, generator, draw);
  else fill_with<float>(ctx, y, generator, draw);
}

}  // namespace

void random_uniform(GpuContext& ctx, View y, double from, double to, Generator& generator) {
  const float low = static_cast<float>(from);
  const double range = y.dtype == kFloat64 ? to - from : static_cast<double>(static_cast<float>(to) - low);
  fill_floating(ctx, y, generator, Uniform{from, range});
}

void random_normal(GpuContext& ctx, View y, double mean, double std, Generator& generator) {
  fill_floating(ctx, y, generator, NormalDraw{mean, std});
}

void random_exponential(GpuContext& ctx, View y, double lambda, Generator& generator) {
  fill_floating(ctx, y, generator, Exponential{lambda});
}

void random_integers(GpuContext& ctx, View y, int64_t low, uint64_t range, Generator& generator) {
  fill_with<int64_t>(ctx, y, generator, Integers{low, range});
}

void random_full_range(GpuContext& ctx, View y, Generator& generator) {
  switch (y.dtype) {
    case DType::Bool: return fill_with<int64_t>(ctx, y, generator, MaskedWord{1});
    case DType::UInt8: return fill_with<int64_t>(ctx, y, generator, MaskedWord{0xFF});
    case DType::Int32: return fill_with<int64_t>(ctx, y, generator, MaskedWord{0x7FFFFFFF});
    case DType::Int64: return fill_with<int64_t>(ctx, y, generator, MaskedWord{~uint64_t{0} >> 1});
    default: {
      const int bits = y.dtype == kFloat64 ? 53 : y.dtype == kFloat32 ? 24 : y.dtype == kFloat16 ? 11 : 8;
      return fill_with<int64_t>(ctx, y, generator, Integers{0, (uint64_t{1} << bits) + 1});
    }
  }
}

void random_bernoulli(GpuContext& ctx, View y, double p, Generator& generator) {
  fill_with<int64_t>(ctx, y, generator, Bernoulli{p});
}

void random_bernoulli_each(GpuContext& ctx, ConstView p, View y, Generator& generator) {
  const ConstView views[] = {y, p};
  const int64_t n = y.numel();
  const auto kernel = p.dtype == kFloat64 ? bernoulli_each_kernel<double> : bernoulli_each_kernel<float>;
  launch(ctx, "bernoulli_each_kernel", kernel, blocks_for(n, kThreads), kThreads, 0, make_picture<2>(views, 2), n,
         next_of(generator));
}

void random_dropout(GpuContext& ctx, View y, double keep, Generator& generator) {
  const ConstView view = y;
  const int64_t n = y.numel(), blocks = blocks_for((n + 3) / 4, kThreads);
  const auto picture = make_picture<1>(&view, 1);
  const Stream stream = next_of(generator);
  const float chance = static_cast<float>(keep);
  if (y.dtype == kFloat64)
    launch(ctx, "dropout_kernel", dropout_kernel<double>, blocks, kThreads, 0, picture, n, stream, chance, 1 / keep);
  else
    launch(ctx, "dropout_kernel", dropout_kernel<float>, blocks, kThreads, 0, picture, n, stream, chance, 1 / chance);
}

}  // namespace tantu
