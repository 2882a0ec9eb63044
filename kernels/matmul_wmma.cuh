#pragma once

#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/matmul_stage.cuh>

#include <mma.h>

#include <type_traits>

// y = alpha * a b + beta * y in float16 or bfloat16, summed in float32 by matrix units (rung 8 of the ladder).
//
//   block    8 warps, a tile of y of 128 by 128; slices of 32 k in shared memory, the next one under way in registers
//   warp     64 by 32 of it: 4 by 2 pieces of 16 by 16, each one WMMA accumulator
//   shared   a as (128, 32), b as (32, 128); rows are 8 elements longer, so that neighbours start in different banks
// FLOP: 2 M N K; bytes from memory: M N K / 32. An accumulator goes through shared memory on its way to y, since only
// there its elements have known places. Turing has no bfloat16 units: there each lane multiplies by itself.
namespace tantu {
namespace {

/// 16 by 16 products of row-major pieces of shared memory by a warp's matrix unit.
template <class T>
struct UnitPiece {
  using A = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, T, nvcuda::wmma::row_major>;
  using B = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, T, nvcuda::wmma::row_major>;
  using Sum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

  static __device__ __forceinline__ void clear(Sum& sum) { nvcuda::wmma::fill_fragment(sum, 0.0f); }
  template <class Fragment>
  static __device__ __forceinline__ void load(Fragment& f, const T* from, int pitch) {
    nvcuda::wmma::load_matrix_sync(f, from, static_cast<unsigned>(pitch));
  }
  static __device__ __forceinline__ void multiply(Sum& sum, const A& a, const B& b) {
    nvcuda::wmma::mma_sync(sum, a, b, sum);
  }
  static __device__ __forceinline__ void store(float* to, int pitch, const Sum& sum) {
    nvcuda::wmma::store_matrix_sync(to, sum, static_cast<unsigned>(pitch), nvcuda::wmma::mem_row_major);
  }
};

/// The same without one: lane l holds half a row, elements (l / 2, l % 2 * 8 ...).
template <class T>
struct LanePiece {
  struct A {
    const T* from;
    int pitch;
  };
  using B = A;
  struct Sum {
    float x[8];
  };

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ void clear(Sum& sum) {
#pragma unroll
    for (int j = 0; j < 8; ++j) sum.x[j] = 0;
  }
  static __device__ __forceinline__ void load(A& f, const T* from, int pitch) {
    f = {from, pitch};
  }
  static __device__ __forceinline__ void multiply(Sum& sum, const A& a, const B& b) {
    const int row = lane() / 2, column = lane() % 2 * 8;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) {
      const float x = value_as<float>(a.from[row * a.pitch + k]);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum.x[j] = fmaf(x, value_as<float>(b.from[k * b.pitch + column + j]), sum.x[j]);
    }
  }
  static __device__ __forceinline__ void store(float* to, int pitch, const Sum& sum) {
#pragma unroll
    for (int j = 0; j < 8; ++j) to[lane() / 2 * pitch + lane() % 2 * 8 + j] = sum.x[j];
    __syncwarp();
  }
};

struct WmmaShape {
  static constexpr int side = 128, depth = 32, warp_rows = 64, warp_columns = 32;
  static constexpr int down = warp_rows / 16, across = warp_columns / 16;
  static constexpr int a_pitch = depth + 8, b_pitch = side + 8, out_pitch = 20;
  static constexpr int a_slice = side * a_pitch, slice = a_slice + depth * b_pitch;  // elements
  static constexpr size_t bytes = 2 * slice * 2;
};

/// Writes a piece of 16 by 16 sums, through `out` (16, out_pitch) of the warp's own, to y.
template <class Piece, class T>
__device__ __forceinline__ void store_piece(const Product<T>& p, float* out, const typename Piece::Sum& sum,
                                            int64_t batch, int64_t row0, int64_t column0) {
  const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Piece::store(out, WmmaShape::out_pitch, sum);
#pragma unroll
  for (int i = lane / 16; i < 16; i += 2) {
    const int64_t m = row0 + i, n = column0 + lane % 16;
    if (m >= p.M || n >= p.N) continue;
    T* y = p.y + (batch * p.M + m) * p.N + n;
    float value = alpha * out[i * WmmaShape::out_pitch + lane % 16];
    if (beta != 0) value = fmaf(beta, value_as<float>(*y), value);
    *y = value_from<T>(value);
  }
  __syncwarp();
}

template <class T>
__global__ void __launch_bounds__(kMatmulThreads) matmul_wmma_kernel(Product<T> p) {
  using Shape = WmmaShape;
  using Piece = std::conditional_t<std::is_same_v<T, __half> || arch::kBfloat16Mma, UnitPiece<T>, LanePiece<T>>;
  T* const shared = arch::dynamic_smem<T>();  // (2, {a, b}); at the end (8 warps, 16, out_pitch) floats
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 4 * Shape::warp_rows, column = warp % 4 * Shape::warp_columns;  // of the warp in the tile
  const int64_t rows = (p.M + Shape::side - 1) / Shape::side, columns = (p.N + Shape::side - 1) / Shape::side;
  const int K = static_cast<int>(p.K);
  for (int64_t t = blockIdx.x; t < rows * columns * p.batch; t += gridDim.x) {
    const int64_t batch = t / (rows * columns);
    const TilePlace place = tile_place(t % (rows * columns), rows, columns);
    const int64_t row0 = place.row * Shape::side, column0 = place.column * Shape::side;
    const T *a = p.a.data + batch * p.a.batch_stride, *b = p.b.data + batch * p.b.batch_stride;
    typename Piece::Sum sum[Shape::down][Shape::across];
#pragma unroll
    for (int i = 0; i < Shape::down; ++i)
#pragma unroll
      for (int j = 0; j < Shape::across; ++j) Piece::clear(sum[i][j]);
    Stage<T, Shape::side, Shape::depth> stage_a, stage_b;
    stage_a.begin(p.a, a, row0);
    stage_b.begin(p.b, b, column0);
    stage_a.load(p.a, 0, K);
    stage_b.load(p.b, 0, K);
    T* now = shared;
    for (int k0 = 0; k0 < K; k0 += Shape::depth) {
      stage_a.store(now, p.a.along_k, Shape::a_pitch, 1);
      stage_b.store(now + Shape::a_slice, p.b.along_k, 1, Shape::b_pitch);
      __syncthreads();  // whoever still reads reads the other half
      if (k0 + Shape::depth < K) {
        stage_a.load(p.a, k0 + Shape::depth, K);
        stage_b.load(p.b, k0 + Shape::depth, K);
      }
#pragma unroll
      for (int k = 0; k < Shape::depth; k += 16) {
        typename Piece::A x;
        typename Piece::B y[Shape::across];
#pragma unroll
        for (int j = 0; j < Shape::across; ++j)
          Piece::load(y[j], now + Shape::a_slice + k * Shape::b_pitch + column + j * 16, Shape::b_pitch);
#pragma unroll
        for (int i = 0; i < Shape::down; ++i) {
          Piece::load(x, now + (row + i * 16) * Shape::a_pitch + k, Shape::a_pitch);
#pragma unroll
          for (int j = 0; j < Shape::across; ++j) Piece::multiply(sum[i][j], x, y[j]);
        }
      }
      now = now == shared ? shared + Shape::slice : shared;
    }
    __syncthreads();  // the slices have been read: their place is free
    float* out = reinterpret_cast<float*>(shared) + warp * 16 * Shape::out_pitch;
#pragma unroll
    for (int i = 0; i < Shape::down; ++i)
#pragma unroll
      for (int j = 0; j < Shape::across; ++j)
        store_piece<Piece>(p, out, sum[i][j], batch, row0 + row + i * 16, column0 + column + j * 16);
    __syncthreads();  // before the next tile's first slice
  }
}

template <class T>
void launch_wmma(GpuContext& ctx, const Product<T>& p) {
  using Shape = WmmaShape;
  const int64_t rows = (p.M + Shape::side - 1) / Shape::side, columns = (p.N + Shape::side - 1) / Shape::side;
  launch(ctx, "matmul_wmma_kernel", matmul_wmma_kernel<T>, std::min<int64_t>(rows * columns * p.batch, 1 << 20),
         kMatmulThreads, Shape::bytes, p);
}

}  // namespace
}  // namespace tantu
