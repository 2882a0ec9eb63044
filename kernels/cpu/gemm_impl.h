#pragma once

#include <tantu/core/allocator.h>
#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/gemm.h>
#include <tantu/kernels/cpu/gemm_dots.h>
#include <tantu/kernels/cpu/gemm_tile.h>

#include <algorithm>
#include <cmath>
#include <utility>

/// The driver of gemm.h: which way a product goes, how it is cut, and who computes what. Included by gemm_f32.cpp and
/// gemm_f64.cpp alone.
namespace tantu::cpu::detail {

/// A matrix read by rows and columns of any stride.
template <class T>
struct Operand {
  const T* data;
  int64_t rs, cs;
  const T* at(int64_t i, int64_t j) const { return data + i * rs + j * cs; }
};

template <class T>
struct Product {
  int64_t M, N, K;
  Operand<T> A, B;
  Update<T> update;
  T* C;
  int64_t c_rs;
};

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// A range of `size` in `parts` parts, as even as can be: part i is [first(i), first(i + 1)).
struct Cut {
  int64_t size, parts;
  int64_t first(int64_t i) const { return size / parts * i + std::min(i, size % parts); }
  int64_t length(int64_t i) const { return size / parts + (i < size % parts); }
};

/// Room for packed panels, 64-byte aligned, from the caching allocator. It grows.
template <class T>
class Room {
 public:
  Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { allocator_.deallocate(data_, bytes_); }

  T* take(int64_t elements) {
    const int64_t bytes = elements * static_cast<int64_t>(sizeof(T));
    if (bytes > bytes_) {
      allocator_.deallocate(std::exchange(data_, nullptr), std::exchange(bytes_, 0));
      data_ = allocate(bytes);
      bytes_ = bytes;
    }
    return static_cast<T*>(data_);
  }

 private:
  void* allocate(int64_t bytes) {
    try {
      return allocator_.allocate(bytes);
    } catch (const OutOfMemoryError& error) {
      throw OutOfMemoryError(fmt::format("matmul: {}", error.what()));
    }
  }

  Allocator& allocator_ = cpu_allocator();
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A panel of A (kTileRows x kDepth) and the rows of B it meets fill an L1 cache of 48 KiB; a block of A (kBlockRows x
// kDepth) and a slice of B (kDepth x 4 tiles) an L2 cache of 2 MiB. Measured: shorter depths and blocks cost more by
// writing C and packing B more often than they save.
template <class T>
inline constexpr int64_t kDepth = 3200 / static_cast<int64_t>(sizeof(T));
inline constexpr int64_t kBlockRows = 512, kSliceTiles = 4;
inline constexpr int64_t kRereads = 4;      // an operand read so few times is not worth a copy
inline constexpr int64_t kFew = 16;         // rows (or columns) that few_dots does faster than tiles do
inline constexpr double kSerialWork = 5e5;  // multiply-adds of some microseconds, not worth a parallel section
inline constexpr double kTaskWork = 2e9;    // multiply-adds of some 20 milliseconds: beyond, more tasks than threads

/// C = the product by tiles, on this thread. Blocks of A and slices of B are packed, then multiplied panel by panel.
template <class T>
class TiledProduct {
 public:
  explicit TiledProduct(const Product<T>& product)
      : p_(product),
        direct_a_(p_.A.rs == 1 && p_.N <= kRereads * kCols),
        direct_b_(p_.B.cs == 1 && p_.M <= kRereads * kTileRows) {}

  void run() {
    const Cut blocks{p_.M, ceil_div(p_.M, kBlockRows)}, depths{p_.K, ceil_div(p_.K, kDepth<T>)};
    const Cut slices{ceil_div(p_.N, kCols), ceil_div(p_.N, kCols * kSliceTiles)};
    for (int64_t b = 0; b < blocks.parts; ++b)
      for (int64_t d = 0; d < depths.parts; ++d) {
        i0_ = blocks.first(b);
        k0_ = depths.first(d);
        depth_ = depths.length(d);
        panels_ = {blocks.length(b), ceil_div(blocks.length(b), kTileRows)};
        update_ = {p_.update.alpha, d == 0 ? p_.update.beta : T(1)};
        if (!direct_a_) pack_block();
        for (int64_t s = 0; s < slices.parts; ++s) multiply_slice(slices.first(s), slices.first(s + 1));
      }
  }

 private:
  static constexpr int64_t kCols = kTileCols<T>;

  int64_t width(int64_t t) const { return std::min(kCols, p_.N - t * kCols); }
  bool direct_b(int64_t t) const { return direct_b_ && width(t) % simd::kLanes<T> == 0; }

  void pack_block() {
    packed_a_ = room_a_.take(panels_.size * depth_);
    for (int64_t p = 0; p < panels_.parts; ++p) {
      const int64_t i = panels_.first(p), height = panels_.length(p);
      pack(height, depth_, p_.A.at(i0_ + i, k0_), p_.A.rs, p_.A.cs, packed_a_ + i * depth_, height);
    }
  }

  /// Packs tiles t0 to t1 of B; if its rows lie together, a few rows of all tiles at a time, so that it is read along
  /// them.
  void pack_slice(int64_t t0, int64_t t1, T* packed_b) const {
    const int64_t rows = p_.B.cs == 1 ? 8 : depth_;
    for (int64_t k = 0; k < depth_; k += rows)
      for (int64_t t = t0; t < t1; ++t)
        if (!direct_b(t))
          pack(width(t), std::min(rows, depth_ - k), p_.B.at(k0_ + k, t * kCols), p_.B.cs, p_.B.rs,
               packed_b + ((t - t0) * depth_ + k) * kCols, kCols);
  }

  /// Tiles t0 to t1 of every panel of the block.
  void multiply_slice(int64_t t0, int64_t t1) {
    T* const packed_b = room_b_.take((t1 - t0) * kCols * depth_);
    pack_slice(t0, t1, packed_b);
    for (int64_t p = 0; p < panels_.parts; ++p) {
      const int64_t i = panels_.first(p), height = panels_.length(p);
      const T* const a = direct_a_ ? p_.A.at(i0_ + i, k0_) : packed_a_ + i * depth_;
      const int64_t a_step = direct_a_ ? p_.A.cs : height;
      for (int64_t t = t0; t < t1; ++t) {
        const T* const b = direct_b(t) ? p_.B.at(k0_, t * kCols) : packed_b + (t - t0) * kCols * depth_;
        const int64_t b_step = direct_b(t) ? p_.B.rs : kCols;
        const Tile<T> tile = kTiles<T>[width(t) > simd::kLanes<T>][height - 1];
        tile(depth_, a, a_step, b, b_step, update_, p_.C + (i0_ + i) * p_.c_rs + t * kCols, p_.c_rs, width(t));
      }
    }
  }

  const Product<T>& p_;
  const bool direct_a_, direct_b_;
  int64_t i0_ = 0, k0_ = 0, depth_ = 0;  // the block at hand
  Update<T> update_{};
  Cut panels_{};
  T* packed_a_ = nullptr;
  Room<T> room_a_, room_b_;
};

/// Cuts C into a grid of rectangles, one task each: the grid whose largest task costs least, where a task multiplies
/// h x w elements and packs h rows and w columns (an element packed costs about six multiply-adds). No task shares what
/// it packs: fetching it from another core's cache would cost more than packing it anew.
template <class T>
void tiled_product(const Product<T>& p, int64_t threads, double work) {
  if (threads == 1) return TiledProduct<T>(p).run();
  const int64_t tasks = threads * std::clamp<int64_t>(static_cast<int64_t>(work / kTaskWork) / threads, 1, 4);
  const int64_t panels = ceil_div(p.M, kTileRows), tiles = ceil_div(p.N, kTileCols<T>);
  Cut rows{panels, 1}, cols{tiles, 1};
  double least = INFINITY;
  for (int64_t down = 1; down <= std::min(tasks, panels); ++down) {
    const int64_t across = std::min(tiles, ceil_div(tasks, down));
    const double h = static_cast<double>(ceil_div(panels, down) * kTileRows);
    const double w = static_cast<double>(ceil_div(tiles, across) * kTileCols<T>);
    const double cost = h * w + 6 * (h + w);
    if (cost < least) least = cost, rows.parts = down, cols.parts = across;
  }
  parallel_for(0, rows.parts * cols.parts, 1, [&](int64_t task, int64_t) {
    const int64_t r = task / cols.parts, c = task % cols.parts;
    const int64_t i = rows.first(r) * kTileRows, end_i = std::min(p.M, rows.first(r + 1) * kTileRows);
    const int64_t j = cols.first(c) * kTileCols<T>, end_j = std::min(p.N, cols.first(c + 1) * kTileCols<T>);
    Product<T> part = p;
    part.M = end_i - i, part.N = end_j - j;
    part.A.data = p.A.at(i, 0), part.B.data = p.B.at(0, j), part.C = p.C + i * p.c_rs + j;
    TiledProduct<T>(part).run();
  });
}

/// x: P rows of K elements. Returns them with unit stride, copied to `room` if need be.
template <class T>
Operand<T> with_unit_rows(Operand<T> x, int64_t P, int64_t K, Room<T>& room) {
  if (x.cs == 1) return x;
  T* const copy = room.take(P * K);
  for (int64_t p = 0; p < P; ++p)
    for (int64_t k = 0; k < K; ++k) copy[p * K + k] = *x.at(p, k);
  return {copy, K, 1};
}

/// Few rows times many, both read along K: out(p, q) = x row p times y row q.
template <class T>
void few_dots(int64_t P, int64_t Q, int64_t K, Operand<T> x, Operand<T> y, Update<T> u, T* out, int64_t out_ps,
              int64_t out_qs, int64_t threads) {
  Room<T> room;
  const Operand<T> few = with_unit_rows(x, P, K, room);
  const int64_t grain = ceil_div(ceil_div(Q, threads), kDots) * kDots;
  parallel_for(0, Q, grain, [&](int64_t q, int64_t end) {
    dots(P, end - q, K, few.data, few.rs, y.at(q, 0), y.rs, u, out + q * out_qs, out_ps, out_qs);
  });
}

/// A row x of K elements times a K x N matrix of unit column stride.
template <class T>
void row_product(int64_t N, int64_t K, const T* x, int64_t x_step, Operand<T> b, Update<T> u, T* y, int64_t y_step,
                 int64_t threads) {
  parallel_for(0, N, std::max<int64_t>(256, ceil_div(N, threads)), [&](int64_t j, int64_t end) {
    row_times_matrix(end - j, K, x, x_step, b.at(0, j), b.rs, u, y + j * y_step, y_step);
  });
}

template <class T>
void multiply(const Product<T>& p) {
  const Operand<T>&a = p.A, &b = p.B, a_turned{a.data, a.cs, a.rs}, b_turned{b.data, b.cs, b.rs};
  const double work = static_cast<double>(p.M) * static_cast<double>(p.N) * static_cast<double>(p.K);
  const int64_t threads = work <= kSerialWork || in_parallel_section() ? 1 : get_num_threads();
  const bool deep = p.K >= 2 * simd::kLanes<T>;
  if (deep && p.M <= kFew && b.rs == 1) {
    few_dots(p.M, p.N, p.K, a, b_turned, p.update, p.C, p.c_rs, int64_t{1}, threads);
  } else if (deep && p.N <= kFew && a.cs == 1) {
    few_dots(p.N, p.M, p.K, b_turned, a, p.update, p.C, int64_t{1}, p.c_rs, threads);
  } else if (p.M == 1 && b.cs == 1) {
    row_product(p.N, p.K, a.data, a.cs, b, p.update, p.C, int64_t{1}, threads);
  } else if (p.N == 1 && a.rs == 1) {
    row_product(p.M, p.K, b.data, b.rs, a_turned, p.update, p.C, p.c_rs, threads);
  } else {
    tiled_product(p, threads, work);
  }
}

}  // namespace tantu::cpu::detail

namespace tantu::cpu {

template <class T>
void gemm(int64_t M, int64_t N, int64_t K, T alpha, const T* A, int64_t a_rs, int64_t a_cs, const T* B, int64_t b_rs,
          int64_t b_cs, T beta, T* C, int64_t c_rs) {
  if (M <= 0 || N <= 0) return;
  if (K > 0) return detail::multiply<T>({M, N, K, {A, a_rs, a_cs}, {B, b_rs, b_cs}, {alpha, beta}, C, c_rs});
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) C[i * c_rs + j] = beta == 0 ? T(0) : beta * C[i * c_rs + j];
}

}  // namespace tantu::cpu
