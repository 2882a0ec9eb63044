#pragma once

#include <tantu/kernels/tile_order.h>
#include <tantu/kernels/elementwise.cuh>

// What our matrix products share: how a problem is described, in which order its tiles are computed, and how a slice of
// a factor gets from memory into shared memory.
namespace tantu {
namespace {

constexpr int kMatmulThreads = 256;

/// One factor. `outer` is the dimension it shares with y: rows of a, columns of b.
template <class T>
struct Factor {
  const T* data = nullptr;
  int64_t batch_stride = 0, outer_stride = 0, k_stride = 0;  // in elements
  int64_t outer_size = 0;
  bool along_k = false;  ///< k is the dimension its elements lie closest along
  bool vector = false;   ///< they lie side by side there, and every run of them is aligned
};

template <class T>
struct Product {
  Factor<T> a, b;
  T* y = nullptr;         ///< row-major (batch, M, N)
  bool y_vector = false;  ///< every row of it is aligned to 16 bytes
  int64_t M = 0, N = 0, K = 0, batch = 1;
  double alpha = 1, beta = 0;
};

template <class T>
Factor<T> factor_of(const ConstView& x, int outer_dim, int k_dim) {
  constexpr int64_t width = 16 / sizeof(T);
  Factor<T> f;
  f.data = static_cast<const T*>(x.data);
  f.batch_stride = x.strides[0];
  f.outer_stride = x.strides[outer_dim];
  f.k_stride = x.strides[k_dim];
  f.outer_size = x.sizes[outer_dim];
  f.along_k = std::abs(f.k_stride) < std::abs(f.outer_stride) || (f.k_stride == 1 && f.outer_size == 1);
  const int64_t near = f.along_k ? f.k_stride : f.outer_stride, far = f.along_k ? f.outer_stride : f.k_stride;
  f.vector = near == 1 && far % width == 0 && f.batch_stride % width == 0 && is_aligned(x.data, 16);
  return f;
}

template <class T>
Product<T> product_of(const ConstView& a, const ConstView& b, const View& y, double alpha, double beta) {
  Product<T> p;
  p.a = factor_of<T>(a, 1, 2);
  p.b = factor_of<T>(b, 2, 1);
  p.y = static_cast<T*>(y.data);
  p.y_vector = is_aligned(y.data, 16) && y.sizes[2] % (16 / static_cast<int64_t>(sizeof(T))) == 0;
  p.M = y.sizes[1];
  p.N = y.sizes[2];
  p.K = a.sizes[2];
  p.batch = y.sizes[0];
  p.alpha = alpha;
  p.beta = beta;
  return p;
}

/// Slices of a factor, `Outer` by `Depth`, on their way to shared memory: every thread carries `count` packs.
template <class T, int Outer, int Depth>
struct Stage {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  static constexpr int count = Outer * Depth / width / kMatmulThreads;
  static_assert(count * width * kMatmulThreads == Outer * Depth);

  Pack<T, width> packs[count];
  const T* from[count];        // where the next slice's packs start
  int outer[count], k[count];  // the first elements of those: in the factor, in the slice

  /// This thread's place in its pack number c of a slice.
  static __device__ __forceinline__ void place(bool along_k, int c, int& outer, int& k) {
    const int number = static_cast<int>(threadIdx.x) + c * kMatmulThreads;
    if (along_k) {
      outer = number / (Depth / width);
      k = number % (Depth / width) * width;
    } else {
      k = number / (Outer / width);
      outer = number % (Outer / width) * width;
    }
  }

  /// Slices start at `outer0` of the matrix `data`, and at k = 0.
  __device__ __forceinline__ void begin(const Factor<T>& f, const T* data, int64_t outer0) {
#pragma unroll
    for (int c = 0; c < count; ++c) {
      place(f.along_k, c, outer[c], k[c]);
      outer[c] += static_cast<int>(outer0);
      from[c] = data + outer[c] * f.outer_stride + k[c] * f.k_stride;
    }
  }

  /// Reads the next slice, which starts at k0 of K; outside of the matrix are zeros.
  __device__ __forceinline__ void load(const Factor<T>& f, int k0, int K) {
#pragma unroll
    for (int c = 0; c < count; ++c) {
      const int at_k = k0 + k[c], size = static_cast<int>(f.outer_size);
      const int left = f.along_k ? K - at_k : size - outer[c];  // elements side by side, from here on
      const bool inside = f.along_k ? outer[c] < size : at_k < K;
      if (f.vector && inside && left >= width) {
        packs[c] = *reinterpret_cast<const Pack<T, width>*>(from[c]);
      } else {
        const int64_t step = f.along_k ? f.k_stride : f.outer_stride;
#pragma unroll
        for (int j = 0; j < width; ++j) packs[c].v[j] = inside && j < left ? from[c][j * step] : value_from<T>(0.0f);
      }
      from[c] += Depth * f.k_stride;
    }
  }

  /// Writes it to `to`, where (outer, k) lies at outer * to_outer + k * to_k; one of the two is 1.
  __device__ __forceinline__ void store(T* to, bool along_k, int to_outer, int to_k) const {
#pragma unroll
    for (int c = 0; c < count; ++c) {
      int o, d;
      place(along_k, c, o, d);
      T* at = to + o * to_outer + d * to_k;
      const int step = along_k ? to_k : to_outer;
      if (step == 1) {
        *reinterpret_cast<Pack<T, width>*>(at) = packs[c];
      } else {
#pragma unroll
        for (int j = 0; j < width; ++j) at[j * step] = packs[c].v[j];
      }
    }
  }
};

}  // namespace
}  // namespace tantu
