#pragma once

#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/matmul_stage.cuh>

// y = alpha * a b + beta * y in float32 or float64 (rung 5 of the ladder, with the next slice under way).
//
//   block    256 threads, one tile of y: 16 * Side by 16 * Side (128 by 128 in float32)
//   thread   Side by Side elements of it, as Side / width chunks of 16 bytes a row that lie 16 chunks apart
//   step     Depth columns of a and rows of b come to shared memory, both with k outermost; each thread reads 2 * Side
//            numbers there for Side * Side fused multiply-adds, while its part of the next slice is on its way
// FLOP: 2 M N K. Bytes from memory: M N K / (8 * Side) numbers; bound by arithmetic from K of about 100 on. Every
// element is one sum in ascending k, whatever the tile: bits repeat.
namespace tantu {
namespace {

template <class T, int Side, int Depth>
struct TileShape {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  static constexpr int side = 16 * Side, chunks = Side / width;
  static constexpr int pitch = side + width;              // of a row in shared memory
  static constexpr int slice = Depth * pitch;             // elements of one factor's slice
  static constexpr size_t bytes = 4 * slice * sizeof(T);  // two factors, two slices each

  /// The thread's i-th row or column in the tile.
  static __device__ __forceinline__ int at(int thread, int i) {
    return i / width * (16 * width) + thread * width + i % width;
  }
};

template <class T, int Side, int Depth>
__device__ __forceinline__ void multiply_slice(const T* a, const T* b, int row, int column, T (&sum)[Side][Side]) {
  using Shape = TileShape<T, Side, Depth>;
  using Chunk = Pack<T, Shape::width>;
#pragma unroll
  for (int k = 0; k < Depth; ++k) {
    Chunk x[Shape::chunks], y[Shape::chunks];
#pragma unroll
    for (int c = 0; c < Shape::chunks; ++c) {
      x[c] = *reinterpret_cast<const Chunk*>(a + k * Shape::pitch + Shape::at(row, c * Shape::width));
      y[c] = *reinterpret_cast<const Chunk*>(b + k * Shape::pitch + Shape::at(column, c * Shape::width));
    }
#pragma unroll
    for (int i = 0; i < Side; ++i)
#pragma unroll
      for (int j = 0; j < Side; ++j)
        sum[i][j] = fma(x[i / Shape::width].v[i % Shape::width], y[j / Shape::width].v[j % Shape::width], sum[i][j]);
  }
}

/// Whole: rows of y are aligned to chunks, which so lie in it wholly or not at all.
template <bool Whole, class T, int Side, int Depth>
__device__ __forceinline__ void store_tile(const Product<T>& p, int64_t batch, int64_t row0, int64_t column0, int row,
                                           int column, const T (&sum)[Side][Side]) {
  using Shape = TileShape<T, Side, Depth>;
  using Chunk = Pack<T, Shape::width>;
  const T alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
#pragma unroll
  for (int i = 0; i < Side; ++i) {
    const int64_t m = row0 + Shape::at(row, i);
    if (m >= p.M) return;
#pragma unroll
    for (int c = 0; c < Shape::chunks; ++c) {
      const int64_t n = column0 + Shape::at(column, c * Shape::width);
      T* y = p.y + (batch * p.M + m) * p.N + n;
      const T* s = sum[i] + c * Shape::width;
      if constexpr (Whole) {
        if (n >= p.N) break;
        Chunk out, old = {};
        if (beta != T(0)) old = *reinterpret_cast<const Chunk*>(y);
#pragma unroll
        for (int j = 0; j < Shape::width; ++j)
          out.v[j] = beta != T(0) ? fma(beta, old.v[j], alpha * s[j]) : alpha * s[j];
        *reinterpret_cast<Chunk*>(y) = out;
      } else {
#pragma unroll
        for (int j = 0; j < Shape::width; ++j)
          if (n + j < p.N) y[j] = beta != T(0) ? fma(beta, y[j], alpha * s[j]) : alpha * s[j];
      }
    }
  }
}

template <class T, int Side, int Depth>
__global__ void __launch_bounds__(kMatmulThreads, 2) matmul_tile_kernel(Product<T> p) {
  using Shape = TileShape<T, Side, Depth>;
  T* const shared = arch::dynamic_smem<T>();  // (2, {a, b}, Depth, pitch)
  const int row = static_cast<int>(threadIdx.x) / 16, column = static_cast<int>(threadIdx.x) % 16;
  const int64_t rows = (p.M + Shape::side - 1) / Shape::side, columns = (p.N + Shape::side - 1) / Shape::side;
  const int K = static_cast<int>(p.K);
  for (int64_t t = blockIdx.x; t < rows * columns * p.batch; t += gridDim.x) {
    const int64_t batch = t / (rows * columns);
    const TilePlace place = tile_place(t % (rows * columns), rows, columns);
    const int64_t row0 = place.row * Shape::side, column0 = place.column * Shape::side;
    const T *a = p.a.data + batch * p.a.batch_stride, *b = p.b.data + batch * p.b.batch_stride;
    T sum[Side][Side] = {};
    Stage<T, Shape::side, Depth> stage_a, stage_b;
    stage_a.begin(p.a, a, row0);
    stage_b.begin(p.b, b, column0);
    stage_a.load(p.a, 0, K);
    stage_b.load(p.b, 0, K);
    T* now = shared;
    for (int k = 0; k < K; k += Depth) {
      stage_a.store(now, p.a.along_k, 1, Shape::pitch);
      stage_b.store(now + Shape::slice, p.b.along_k, 1, Shape::pitch);
      __syncthreads();  // whoever still reads reads the other half
      if (k + Depth < K) {
        stage_a.load(p.a, k + Depth, K);
        stage_b.load(p.b, k + Depth, K);
      }
      multiply_slice<T, Side, Depth>(now, now + Shape::slice, row, column, sum);
      now = now == shared ? shared + 2 * Shape::slice : shared;
    }
    if (p.y_vector) store_tile<true, T, Side, Depth>(p, batch, row0, column0, row, column, sum);
    else store_tile<false, T, Side, Depth>(p, batch, row0, column0, row, column, sum);
    __syncthreads();  // before the next tile's first slice overwrites this one's last
  }
}

template <class T, int Side, int Depth>
void launch_tiles(GpuContext& ctx, const Product<T>& p) {
  using Shape = TileShape<T, Side, Depth>;
  const int64_t rows = (p.M + Shape::side - 1) / Shape::side, columns = (p.N + Shape::side - 1) / Shape::side;
  launch(ctx, "matmul_tile_kernel", matmul_tile_kernel<T, Side, Depth>,
         std::min<int64_t>(rows * columns * p.batch, 1 << 20), kMatmulThreads, Shape::bytes, p);
}

}  // namespace
}  // namespace tantu
