#pragma once

#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/matmul_stage.cuh>
#include <tantu/kernels/warp.cuh>

// y = alpha * X v + beta * y, where a product has one column or one row: X (length, K), v (K), for each of a batch.
//
//   along k        X lies along k: a warp takes one element of y, a block where K is long; lanes stride along k, then a
//                  tree over lanes and a sum over warps, both in a fixed order
//   across         X lies along y: a block takes 32 neighbouring elements, its 8 warps every eighth k
// FLOP: 2 length K; bytes: X once: bound by the bandwidth. The partition depends on the sizes only: bits repeat.
namespace tantu {
namespace {

constexpr int kDotThreads = 256, kDotWarps = kDotThreads / 32;
constexpr int64_t kLongDot = 2048;  // from this K on a block works on one element

template <class T>
struct MatrixVector {
  const T *x = nullptr, *v = nullptr;
  T* y = nullptr;
  int64_t x_batch = 0, x_outer = 0, x_k = 0, v_batch = 0, v_k = 0;  // strides
  int64_t length = 0, K = 0, batch = 1;
  double alpha = 1, beta = 0;
};

/// With one column of b, or one row of a. y is dense.
template <class T>
MatrixVector<T> matrix_vector_of(const Product<T>& p) {
  const bool column = p.N == 1;
  const Factor<T>&x = column ? p.a : p.b, &v = column ? p.b : p.a;
  MatrixVector<T> d;
  d.x = x.data;
  d.v = v.data;
  d.y = p.y;
  d.x_batch = x.batch_stride;
  d.x_outer = x.outer_stride;
  d.x_k = x.k_stride;
  d.v_batch = v.batch_stride;
  d.v_k = v.k_stride;
  d.length = x.outer_size;
  d.K = p.K;
  d.batch = p.batch;
  d.alpha = p.alpha;
  d.beta = p.beta;
  return d;
}

template <class C, class T>
__device__ __forceinline__ void store_dot(const MatrixVector<T>& d, int64_t i, C sum) {
  const C beta = static_cast<C>(d.beta);
  C out = static_cast<C>(d.alpha) * sum;
  if (beta != C(0)) out = fma(beta, value_as<C>(d.y[i]), out);
  d.y[i] = value_from<T>(out);
}

template <class T, class C, int Lanes>  // Lanes threads an element: 32 or all of a block
__global__ void __launch_bounds__(kDotThreads) dots_along_kernel(MatrixVector<T> d) {
  C* const partial = arch::dynamic_smem<C>();  // (kDotWarps)
  const int lane = static_cast<int>(threadIdx.x) % Lanes, warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int64_t per_block = kDotThreads / Lanes;
  const int64_t total = d.length * d.batch;
  for (int64_t first = blockIdx.x * per_block; first < total; first += gridDim.x * per_block) {
    const int64_t i = first + static_cast<int>(threadIdx.x) / Lanes, batch = i / d.length;
    C sum = C(0);
    if (i < total) {
      const T *x = d.x + batch * d.x_batch + i % d.length * d.x_outer, *v = d.v + batch * d.v_batch;
      for (int64_t k = lane; k < d.K; k += Lanes) sum = fma(value_as<C>(x[k * d.x_k]), value_as<C>(v[k * d.v_k]), sum);
    }
    sum = warp_sum(sum);
    if constexpr (Lanes > 32) {
      if (lane % 32 == 0) partial[warp] = sum;
      __syncthreads();
      sum = C(0);
      for (int w = 0; w < kDotWarps; ++w) sum += partial[w];
      __syncthreads();
    }
    if (lane == 0 && i < total) store_dot<C>(d, i, sum);
  }
}

template <class T, class C>
__global__ void __launch_bounds__(kDotThreads) dots_across_kernel(MatrixVector<T> d) {
  C* const partial = arch::dynamic_smem<C>();  // (kDotWarps, 32)
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t groups = (d.length + 31) / 32;
  for (int64_t g = blockIdx.x; g < groups * d.batch; g += gridDim.x) {
    const int64_t batch = g / groups, at = g % groups * 32 + lane;
    C sum = C(0);
    if (at < d.length) {
      const T *x = d.x + batch * d.x_batch + at * d.x_outer, *v = d.v + batch * d.v_batch;
      for (int64_t k = warp; k < d.K; k += kDotWarps)
        sum = fma(value_as<C>(x[k * d.x_k]), value_as<C>(v[k * d.v_k]), sum);
    }
    partial[warp * 32 + lane] = sum;
    __syncthreads();
    if (warp == 0 && at < d.length) {
      sum = C(0);
      for (int w = 0; w < kDotWarps; ++w) sum += partial[w * 32 + lane];
      store_dot<C>(d, batch * d.length + at, sum);
    }
    __syncthreads();
  }
}

template <class T, class C>
void launch_dots(GpuContext& ctx, const Product<T>& p) {
  const MatrixVector<T> d = matrix_vector_of(p);
  const int64_t total = d.length * d.batch;
  const auto run = [&](auto kernel, int64_t blocks, size_t shared) {
    launch(ctx, "matmul_dots_kernel", kernel, std::min<int64_t>(blocks, 1 << 16), kDotThreads, shared, d);
  };
  if (std::abs(d.x_outer) < std::abs(d.x_k) && d.length > 1)
    run(dots_across_kernel<T, C>, (d.length + 31) / 32 * d.batch, sizeof(C) * kDotWarps * 32);
  else if (d.K >= kLongDot) run(dots_along_kernel<T, C, kDotThreads>, total, sizeof(C) * kDotWarps);
  else run(dots_along_kernel<T, C, 32>, (total + kDotWarps - 1) / kDotWarps, sizeof(C) * kDotWarps);
}

}  // namespace
}  // namespace tantu
