// y = x * (1 / keep or 0), which by Philox from the element's number: the mask is never in memory.
//
// One thread takes four neighbours, that share a counter: one block of words, ten rounds, about 60 integer operations.
// Bytes moved: x read and y written once, in 16-byte accesses where rows allow: bound by the bandwidth for 4-byte
// types.
//   packs     x and y contiguous, aligned, one dtype: four elements as one access
//   strided   everything else: element by element, dtypes looked up
#include <tantu/kernels/dropout.h>
#include <tantu/kernels/philox.h>
#include <tantu/kernels/elementwise.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/walk.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;
template <class T>
constexpr int kPacks = sizeof(T) == 8 ? 2 : 4;  // that a thread loads before it computes

struct Draw {
  uint64_t seed, offset;
  float keep;

  /// What elements 4q ... 4q + 3 are multiplied by.
  template <class C>
  __device__ __forceinline__ void scales(int64_t q, C kept, C (&s)[4]) const {
    const Philox4 r = philox(seed, offset, static_cast<uint64_t>(q));
    s[0] = philox_unit(r.x) < keep ? kept : C(0);
    s[1] = philox_unit(r.y) < keep ? kept : C(0);
    s[2] = philox_unit(r.z) < keep ? kept : C(0);
    s[3] = philox_unit(r.w) < keep ? kept : C(0);
  }
};

template <class T, class C>
__global__ void __launch_bounds__(kThreads) dropout_packs_kernel(const T* x, T* y, int64_t packs, Draw draw, C kept) {
  constexpr int kAtOnce = kPacks<T>;
  const int64_t stride = thread_count();
  for (int64_t q = thread_number(); q < packs; q += kAtOnce * stride) {
    Pack<T, 4> some[kAtOnce];
#pragma unroll
    for (int m = 0; m < kAtOnce; ++m)
      if (q + m * stride < packs) some[m] = reinterpret_cast<const Pack<T, 4>*>(x)[q + m * stride];
#pragma unroll
    for (int m = 0; m < kAtOnce; ++m) {
      if (q + m * stride >= packs) break;
      C s[4];
      draw.scales(q + m * stride, kept, s);
#pragma unroll
      for (int k = 0; k < 4; ++k) some[m].v[k] = value_from<T>(value_as<C>(some[m].v[k]) * s[k]);
      reinterpret_cast<Pack<T, 4>*>(y)[q + m * stride] = some[m];
    }
  }
}

/// Elements from 4 * first on.
template <class C>
__global__ void __launch_bounds__(kThreads)
    dropout_strided_kernel(Picture<2> p, int64_t first, int64_t n, Draw draw, C kept) {
  for (int64_t q = first + thread_number(); q * 4 < n; q += thread_count()) {
    C s[4];
    draw.scales(q, kept, s);
    for (int k = 0; k < 4 && q * 4 + k < n; ++k) {
      const C x = load_as<C>(p.operands[1].data, p.operands[1].dtype, place_in(p, 1, q * 4 + k));
      store_as<C>(p.operands[0].data, p.operands[0].dtype, place_in(p, 0, q * 4 + k), x * s[k]);
    }
  }
}

template <class T, class C>
void run(GpuContext& ctx, const ConstView& x, const View& y, Draw draw, C kept) {
  constexpr int64_t bytes = sizeof(Pack<T, 4>) < 16 ? sizeof(Pack<T, 4>) : 16;
  const int64_t n = y.numel();
  const bool packs = x.contiguous() && y.contiguous() && is_aligned(x.data, bytes) && is_aligned(y.data, bytes);
  const int64_t whole = packs ? n / 4 : 0, all = (n + 3) / 4;
  if (whole)
    launch(ctx, "dropout_packs_kernel", dropout_packs_kernel<T, C>,
           blocks_for((whole + kPacks<T> - 1) / kPacks<T>, kThreads), threads_for(whole, kThreads), 0, x.as<T>(),
           y.as<T>(), whole, draw, kept);
  if (whole == all) return;
  const ConstView views[] = {y, x};
  launch(ctx, "dropout_strided_kernel", dropout_strided_kernel<C>, blocks_for(all - whole, kThreads),
         threads_for(all - whole, kThreads), 0, make_picture<2>(views, 2), whole, n, draw, kept);
}

}  // namespace

void dropout_from(GpuContext& ctx, ConstView x, View y, double keep, uint64_t seed, uint64_t offset) {
  if (y.numel() == 0) return;
  const Draw draw{seed, offset, static_cast<float>(keep)};
  const float kept = 1.0f / static_cast<float>(keep);
  switch (y.dtype) {
    case DType::Float16: return run<__half>(ctx, x, y, draw, kept);
    case DType::BFloat16: return run<__nv_bfloat16>(ctx, x, y, draw, kept);
    case DType::Float64: return run<double>(ctx, x, y, draw, 1.0 / keep);
    default: return run<float>(ctx, x, y, draw, kept);
  }
}

}  // namespace tantu
