#pragma once

#include <tantu/kernels/elementwise.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>

// Copies that change the dtype.
namespace tantu {
namespace {

constexpr int kCastThreads = 256;

/// The type that carries a value of `From` on its way to `To`.
template <class From, class To>
using Carrier = std::conditional_t<std::is_integral_v<From>, int64_t,
                                   std::conditional_t<sizeof(From) == 8 || sizeof(To) == 8, double, float>>;

template <class From, class To>
constexpr int kCastWidth = std::min<int>(8, 16 / static_cast<int>(std::min(sizeof(From), sizeof(To))));

/// Dense, aligned: a thread loads kCastWidth elements twice before it converts them; what is left of the division goes
/// one by one.
template <class From, class To>
__global__ void __launch_bounds__(kCastThreads) cast_dense_kernel(const From* x, To* y, int64_t n) {
  using C = Carrier<From, To>;
  constexpr int width = kCastWidth<From, To>;
  const int64_t packs = n / width;
  const auto put = [y](const Pack<From, width>& in, int64_t i) {
    Pack<To, width> out;
#pragma unroll
    for (int j = 0; j < width; ++j) out.v[j] = value_from<To>(value_as<C>(in.v[j]));
    reinterpret_cast<Pack<To, width>*>(y)[i] = out;
  };
  for (int64_t i = thread_number(); i < packs; i += 2 * thread_count()) {
    const int64_t second = i + thread_count();
    Pack<From, width> one = reinterpret_cast<const Pack<From, width>*>(x)[i], other = {};
    if (second < packs) other = reinterpret_cast<const Pack<From, width>*>(x)[second];
    put(one, i);
    if (second < packs) put(other, second);
  }
  const int64_t last = packs * width + thread_number();
  if (last < n) y[last] = value_from<To>(value_as<C>(x[last]));
}

/// Any dtypes, any strides: one thread an element.
template <class C>
__global__ void __launch_bounds__(kCastThreads) cast_strided_kernel(Layout<2> p, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[2];
    offsets_at(p, i, at);
    store_as<C>(p.operands[0].data, p.operands[0].dtype, at[0],
                load_as<C>(p.operands[1].data, p.operands[1].dtype, at[1]));
  }
}

template <class From, class To>
bool cast_pair(GpuContext& ctx, const Layout<2>& p, int64_t n, DType from, DType to) {
  constexpr int width = kCastWidth<From, To>;
  const auto &y = p.operands[0], &x = p.operands[1];
  if (x.dtype != from || y.dtype != to || !is_aligned(x.data, alignof(Pack<From, width>)) ||
      !is_aligned(y.data, alignof(Pack<To, width>)))
    return false;
  launch(ctx, "cast_dense_kernel", cast_dense_kernel<From, To>, blocks_for(n / width / 2 + 1, kCastThreads),
         threads_for(n / width + 1, kCastThreads), 0, reinterpret_cast<const From*>(x.data),
         reinterpret_cast<To*>(y.data), n);
  return true;
}

/// The casts that training is full of have kernels of their own types; the others look dtypes up per element.
inline bool cast_dense(GpuContext& ctx, const Layout<2>& p, int64_t n) {
  return cast_pair<float, __half>(ctx, p, n, kFloat32, kFloat16) ||
         cast_pair<__half, float>(ctx, p, n, kFloat16, kFloat32) ||
         cast_pair<float, __nv_bfloat16>(ctx, p, n, kFloat32, kBFloat16) ||
         cast_pair<__nv_bfloat16, float>(ctx, p, n, kBFloat16, kFloat32) ||
         cast_pair<float, double>(ctx, p, n, kFloat32, kFloat64) ||
         cast_pair<double, float>(ctx, p, n, kFloat64, kFloat32) ||
         cast_pair<uint8_t, float>(ctx, p, n, kUInt8, kFloat32) || cast_pair<bool, float>(ctx, p, n, kBool, kFloat32) ||
         cast_pair<int64_t, float>(ctx, p, n, kInt64, kFloat32) ||
         cast_pair<int32_t, int64_t>(ctx, p, n, kInt32, kInt64);
}

inline void cast(GpuContext& ctx, const Layout<2>& p, int64_t n) {
  const DType from = p.operands[1].dtype, to = p.operands[0].dtype;
  const bool dense = p.rank <= 1 && (n == 1 || (p.inner_stride(0) == 1 && p.inner_stride(1) == 1));
  if (dense && cast_dense(ctx, p, n)) return;
  const int64_t blocks = blocks_for(n, kCastThreads);
  const auto strided = [&](auto kernel) {
    launch(ctx, "cast_strided_kernel", kernel, blocks, threads_for(n, kCastThreads), 0, p, n);
  };
  if (is_integral(from)) strided(cast_strided_kernel<int64_t>);
  else if (from == kFloat64 || to == kFloat64) strided(cast_strided_kernel<double>);
  else strided(cast_strided_kernel<float>);
}

}  // namespace
}  // namespace tantu
