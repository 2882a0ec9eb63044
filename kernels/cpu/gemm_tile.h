#pragma once

#include <tantu/kernels/cpu/gemm_simd.h>

#include <array>
#include <utility>

/// The two innermost parts of a product: packing panels, and the tile that lives in registers.
namespace tantu::cpu::detail {

/// What becomes of a sum s: c = alpha * s + beta * c, where beta == 0 does not read c.
template <class T>
struct Update {
  T alpha, beta;
};

/// A tile is kTileRows x kTileCols sums, two vectors a row: as many as leave registers for two vectors of B and one
/// element of A.
template <class T>
inline constexpr int kTileCols = 2 * simd::kLanes<T>;
inline constexpr int kTileRows = simd::kRegisters == 32 ? 14 : 6;

/// Copies a panel of `width` x K elements, the (w, k)-th at src[w * ws + k * ks], to dst[k * stride + w]; what lies in
/// dst between width and stride is set to 0. A panel is 1 <= width <= stride.
template <class T>
void pack(int64_t width, int64_t K, const T* src, int64_t ws, int64_t ks, T* dst, int64_t stride) {
  using namespace simd;
  constexpr int64_t lanes = kLanes<T>;
  if (ws == 1) {
    for (int64_t k = 0; k < K; ++k)
      for (int64_t w = 0; w < stride; w += lanes) {
        const Vec<T> v =
            width - w >= lanes ? load(src + k * ks + w) : load_first(src + k * ks + w, width > w ? width - w : 0);
        store_first(dst + k * stride + w, v, stride - w < lanes ? stride - w : lanes);
      }
  } else if (ks == 1) {
    for (int64_t w = 0; w < stride; w += lanes) {
      const int64_t rows = width - w, kept = stride - w < lanes ? stride - w : lanes;
      for (int64_t k = 0; k < K; k += lanes) {
        const int64_t depth = K - k < lanes ? K - k : lanes;
        Vec<T> v[lanes];
        for (int64_t i = 0; i < lanes; ++i) v[i] = i < rows ? load_first(src + (w + i) * ws + k, depth) : Vec<T>{};
        transpose<T>(v);
        for (int64_t i = 0; i < depth; ++i) store_first(dst + (k + i) * stride + w, v[i], kept);
      }
    }
  } else {
    for (int64_t k = 0; k < K; ++k)
      for (int64_t w = 0; w < stride; ++w) dst[k * stride + w] = w < width ? src[w * ws + k * ks] : T(0);
  }
}

/// c = update of the ROWS x cols tile of sums over k of a[k * a_step + r] * b[k * b_step + j], each a chain of fused
/// multiply-adds in the order of k. VECS vectors of b are read at every k; cols <= VECS * lanes of them are written.
template <class T, int ROWS, int VECS>
void tile(int64_t K, const T* a, int64_t a_step, const T* b, int64_t b_step, Update<T> u, T* c, int64_t c_rs,
          int64_t cols) {
  using namespace simd;
  constexpr int lanes = kLanes<T>;
  Vec<T> sum[ROWS][VECS] = {};
  for (int64_t k = 0; k < K; ++k, a += a_step, b += b_step) {
    Vec<T> row[VECS];
#pragma GCC unroll 4
    for (int v = 0; v < VECS; ++v) row[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      const Vec<T> x = splat(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < VECS; ++v) sum[r][v] = fma(x, row[v], sum[r][v]);
    }
  }
  const Vec<T> alpha = splat(u.alpha), beta = splat(u.beta);
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r, c += c_rs)
#pragma GCC unroll 4
    for (int v = 0; v < VECS; ++v) {
      const int64_t n = cols - v * lanes;
      Vec<T> y = alpha * sum[r][v];
      if (n >= lanes) {
        if (u.beta != 0) y += beta * load(c + v * lanes);
        store(c + v * lanes, y);
      } else if (n > 0) {
        if (u.beta != 0) y += beta * load_first(c + v * lanes, n);
        store_first(c + v * lanes, y, n);
      }
    }
}

template <class T>
using Tile = void (*)(int64_t, const T*, int64_t, const T*, int64_t, Update<T>, T*, int64_t, int64_t);

/// kTiles<T>[vectors - 1][rows - 1]: a tile for every height, so that ragged edges compute nothing in vain.
template <class T, int VECS, size_t... R>
constexpr std::array<Tile<T>, sizeof...(R)> tiles_of(std::index_sequence<R...>) {
  return {tile<T, static_cast<int>(R) + 1, VECS>...};
}
template <class T>
inline constexpr std::array<Tile<T>, kTileRows> kTiles[2] = {tiles_of<T, 1>(std::make_index_sequence<kTileRows>()),
                                                             tiles_of<T, 2>(std::make_index_sequence<kTileRows>())};

}  // namespace tantu::cpu::detail
