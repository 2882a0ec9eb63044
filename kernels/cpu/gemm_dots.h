#pragma once

#include <tantu/kernels/cpu/gemm_tile.h>

#include <algorithm>

/// Products with few rows or columns, where packing the large operand would cost as much as the product itself.
namespace tantu::cpu::detail {

/// A block of kDots x kDots dot products shares its loads.
inline constexpr int kDots = simd::kRegisters == 32 ? 4 : 3;

/// out[p * Q + q] = the dot product of row p of x and row q of y, for P x Q rows of K elements in unit stride. Lane l
/// sums the elements l, l + lanes, …; the lanes are then added pairwise.
template <class T, int P, int Q>
void dot_block(int64_t K, const T* x, int64_t x_rs, const T* y, int64_t y_rs, T* out) {
  using namespace simd;
  constexpr int lanes = kLanes<T>, sums_up = (P * Q + lanes - 1) / lanes * lanes;
  Vec<T> sum[sums_up] = {};
  const auto add = [&](auto get) {
    Vec<T> v[Q];
#pragma GCC unroll 4
    for (int q = 0; q < Q; ++q) v[q] = get(y + q * y_rs);
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const Vec<T> w = get(x + p * x_rs);
#pragma GCC unroll 4
      for (int q = 0; q < Q; ++q) sum[p * Q + q] = fma(w, v[q], sum[p * Q + q]);
    }
  };
  int64_t k = 0;
  for (; k + lanes <= K; k += lanes) add([k](const T* row) { return load(row + k); });
  if (k < K) add([=](const T* row) { return load_first(row + k, K - k); });
#pragma GCC unroll 16
  for (int s = 0; s < sums_up; s += lanes) store_first(out + s, sums<T>(sum + s), std::min(lanes, P * Q - s));
}

template <class T>
using DotBlock = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T*);

template <class T, size_t... I>
constexpr std::array<DotBlock<T>, sizeof...(I)> dot_blocks(std::index_sequence<I...>) {
  return {dot_block<T, static_cast<int>(I) / kDots + 1, static_cast<int>(I) % kDots + 1>...};
}
template <class T>
inline constexpr auto kDotBlocks = dot_blocks<T>(std::make_index_sequence<kDots * kDots>());

/// out[p * out_ps + q * out_qs] = update of row p of x times row q of y, P x Q of them: C for a few rows of x.
template <class T>
void dots(int64_t P, int64_t Q, int64_t K, const T* x, int64_t x_rs, const T* y, int64_t y_rs, Update<T> u, T* out,
          int64_t out_ps, int64_t out_qs) {
  T block[kDots * kDots];
  for (int64_t q = 0; q < Q; q += kDots) {
    const int64_t qs = std::min<int64_t>(kDots, Q - q);
    for (int64_t p = 0; p < P; p += kDots) {
      const int64_t ps = std::min<int64_t>(kDots, P - p);
      kDotBlocks<T>[(ps - 1) * kDots + qs - 1](K, x + p * x_rs, x_rs, y + q * y_rs, y_rs, block);
      for (int64_t i = 0; i < ps; ++i)
        for (int64_t j = 0; j < qs; ++j) {
          T& c = out[(p + i) * out_ps + (q + j) * out_qs];
          const T sum = u.alpha * block[i * qs + j];
          c = u.beta == 0 ? sum : sum + u.beta * c;
        }
    }
  }
}

/// y[j * y_step] = update of the sum over k of x[k * x_step] * b[k * b_rs + j], for 0 <= j < N: a vector times a matrix
/// read row by row. The sums are chains of fused multiply-adds in the order of k.
template <class T>
void row_times_matrix(int64_t N, int64_t K, const T* x, int64_t x_step, const T* b, int64_t b_rs, Update<T> u, T* y,
                      int64_t y_step) {
  using namespace simd;
  constexpr int64_t lanes = kLanes<T>, chunk = 64 * lanes;
  T sum[chunk];
  for (int64_t j0 = 0; j0 < N; j0 += chunk) {
    const int64_t n = std::min(chunk, N - j0);
    std::fill(sum, sum + n, T(0));
    const auto add_rows = [&]<int ROWS>(int64_t k, std::integral_constant<int, ROWS>) {
      Vec<T> s[ROWS];
      const T* row = b + k * b_rs + j0;
      for (int r = 0; r < ROWS; ++r) s[r] = splat(x[(k + r) * x_step]);
      int64_t j = 0;
      for (; j + lanes <= n; j += lanes) {
        Vec<T> v = load(sum + j);
        for (int r = 0; r < ROWS; ++r) v = fma(s[r], load(row + r * b_rs + j), v);
        store(sum + j, v);
      }
      if (j == n) return;
      Vec<T> v = load_first(sum + j, n - j);
      for (int r = 0; r < ROWS; ++r) v = fma(s[r], load_first(row + r * b_rs + j, n - j), v);
      store_first(sum + j, v, n - j);
    };
    int64_t k = 0;
    for (; k + 8 <= K; k += 8) add_rows(k, std::integral_constant<int, 8>());
    for (; k < K; ++k) add_rows(k, std::integral_constant<int, 1>());
    for (int64_t j = 0; j < n; ++j) {
      T& c = y[(j0 + j) * y_step];
      c = u.beta == 0 ? u.alpha * sum[j] : u.alpha * sum[j] + u.beta * c;
    }
  }
}

}  // namespace tantu::cpu::detail
