// The largest element, or the mean, of windows of each plane (H, W) → (P, Q), and their gradients.
//
// One thread an output, in strides of the grid; a backward thread owns one element of dx and asks the windows that can
// hold it, in their order, so that nothing is added atomically and the bits repeat. Bytes moved: forward, x once
// (windows that overlap meet the cache) and y once; backward, g and the indices about once and dx once: bound by the
// bandwidth.
#include <tantu/kernels/pool.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/typed.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;

struct Planes {
  int64_t H, W, P, Q;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_pool_kernel(const T* x, T* y, int64_t* indices, int64_t n, Planes z, PoolRule rule) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t q = i % z.Q, p = i / z.Q % z.P, plane = i / (z.P * z.Q);
    const PoolWindow down(rule, 0, p, z.H, z.P), across(rule, 1, q, z.W, z.Q);
    const T* in = x + plane * z.H * z.W;
    int64_t best = down.first * z.W + across.first;
    compute_t<T> largest = widened(in[best]);
    for (int64_t h = down.first; h < down.last; h += down.step)
      for (int64_t w = across.first; w < across.last; w += across.step) {
        const compute_t<T> value = widened(in[h * z.W + w]);
        if (!(value > largest) && !(value != value && largest == largest)) continue;  // the first NaN wins
        largest = value;
        best = h * z.W + w;
      }
    y[i] = in[best];
    indices[i] = best;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_pool_backward_kernel(const T* g, const int64_t* indices, T* dx, int64_t n, Planes z, PoolRule rule) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t at = i % (z.H * z.W), plane = i / (z.H * z.W);
    const PoolOutputs down(rule, 0, at / z.W, z.H, z.P), across(rule, 1, at % z.W, z.W, z.Q);
    compute_t<T> sum = 0;
    for (int64_t p = down.first; p < down.last; ++p)
      for (int64_t q = across.first; q < across.last; ++q) {
        const int64_t o = (plane * z.P + p) * z.Q + q;
        if (indices[o] == at) sum += widened(g[o]);
      }
    dx[i] = narrowed<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) avg_pool_kernel(const T* x, T* y, int64_t n, Planes z, PoolRule rule) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t q = i % z.Q, p = i / z.Q % z.P, plane = i / (z.P * z.Q);
    const PoolWindow down(rule, 0, p, z.H, z.P), across(rule, 1, q, z.W, z.Q);
    compute_t<T> sum = 0;
    for (int64_t h = down.first; h < down.last; ++h)
      for (int64_t w = across.first; w < across.last; ++w) sum += widened(x[(plane * z.H + h) * z.W + w]);
    y[i] = narrowed<T>(sum / static_cast<compute_t<T>>(pool_divisor(rule, down, across)));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, 2)
    avg_pool_backward_kernel(const T* g, T* dx, int64_t n, Planes z, PoolRule rule) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t w = i % z.W, h = i / z.W % z.H, plane = i / (z.H * z.W);
    const PoolOutputs down(rule, 0, h, z.H, z.P), across(rule, 1, w, z.W, z.Q);
    compute_t<T> sum = 0;
    for (int64_t p = down.first; p < down.last; ++p)
      for (int64_t q = across.first; q < across.last; ++q) {
        const PoolWindow window_h(rule, 0, p, z.H, z.P), window_w(rule, 1, q, z.W, z.Q);
        sum +=
            widened(g[(plane * z.P + p) * z.Q + q]) / static_cast<compute_t<T>>(pool_divisor(rule, window_h, window_w));
      }
    dx[i] = narrowed<T>(sum);
  }
}

Planes planes_of(const Shape& x, const Shape& y) {
  return {x[1], x[2], y[1], y[2]};
}

}  // namespace

void max_pool_forward(GpuContext& ctx, ConstView x, View y, View indices, const PoolRule& rule) {
  const int64_t n = y.numel();
  if (n == 0) return;
  visit_stored(y.dtype, [&]<class T>() {
    launch(ctx, "max_pool_kernel", max_pool_kernel<T>, blocks_for(n, kThreads), kThreads, 0, x.as<T>(), y.as<T>(),
           indices.as<int64_t>(), n, planes_of(x.sizes, y.sizes), rule);
  });
}

void max_pool_backward(GpuContext& ctx, ConstView g, ConstView indices, View dx, const PoolRule& rule) {
  const int64_t n = dx.numel();
  if (n == 0) return;
  visit_stored(dx.dtype, [&]<class T>() {
    launch(ctx, "max_pool_backward_kernel", max_pool_backward_kernel<T>, blocks_for(n, kThreads), kThreads, 0,
           g.as<T>(), indices.as<int64_t>(), dx.as<T>(), n, planes_of(dx.sizes, g.sizes), rule);
  });
}

void avg_pool_forward(GpuContext& ctx, ConstView x, View y, const PoolRule& rule) {
  const int64_t n = y.numel();
  if (n == 0) return;
  visit_stored(y.dtype, [&]<class T>() {
    launch(ctx, "avg_pool_kernel", avg_pool_kernel<T>, blocks_for(n, kThreads), kThreads, 0, x.as<T>(), y.as<T>(), n,
           planes_of(x.sizes, y.sizes), rule);
  });
}

void avg_pool_backward(GpuContext& ctx, ConstView g, View dx, const PoolRule& rule) {
  const int64_t n = dx.numel();
  if (n == 0) return;
  visit_stored(dx.dtype, [&]<class T>() {
    launch(ctx, "avg_pool_backward_kernel", avg_pool_backward_kernel<T>, blocks_for(n, kThreads), kThreads, 0,
           g.as<T>(), dx.as<T>(), n, planes_of(dx.sizes, g.sizes), rule);
  });
}

}  // namespace tantu
