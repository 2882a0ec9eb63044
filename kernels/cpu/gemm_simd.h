#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/// The vectors the products of kernels/cpu are written in: the widest of the target, as GCC and clang vector types.
/// Only what those types can't say (a fused multiply-add, a load of the first n elements) is written per target.
namespace tantu::cpu::simd {

#if defined(__AVX512F__)
inline constexpr int kBytes = 64, kRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kBytes = 32, kRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kBytes = 16, kRegisters = 32;
#else
inline constexpr int kBytes = 16, kRegisters = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));

using VecF = Vec<float>;
using VecD = Vec<double>;

#if defined(__AVX512F__)
inline VecF fma(VecF a, VecF b, VecF c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline VecD fma(VecD a, VecD b, VecD c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__FMA__)
inline VecF fma(VecF a, VecF b, VecF c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline VecD fma(VecD a, VecD b, VecD c) {
  return _mm256_fmadd_pd(a, b, c);
}
#elif defined(__aarch64__)
inline VecF fma(VecF a, VecF b, VecF c) {
  return vfmaq_f32(c, a, b);
}
inline VecD fma(VecD a, VecD b, VecD c) {
  return vfmaq_f64(c, a, b);
}
#else
inline VecF fma(VecF a, VecF b, VecF c) {
  return a * b + c;
}  // two roundings: the target has no fused instruction
inline VecD fma(VecD a, VecD b, VecD c) {
  return a * b + c;
}
#endif

template <class T>
Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
void store(T* p, Vec<T> v) {
  std::memcpy(p, &v, sizeof v);
}

template <class T>
Vec<T> splat(T x) {
  return x - Vec<T>{};  // every lane is x - 0 == x, signs of zero and NaN included
}

/// The n <= lanes elements at p, then zeros. Reads nothing beyond them.
template <class T>
Vec<T> load_first(const T* p, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
  if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
#else
  Vec<T> v{};
  std::memcpy(&v, p, static_cast<size_t>(n) * sizeof(T));
  return v;
#endif
}

/// Writes the first n <= lanes elements of v, and nothing beyond them.
template <class T>
void store_first(T* p, Vec<T> v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
  if constexpr (sizeof(T) == 8) _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), v);
#else
  std::memcpy(p, &v, static_cast<size_t>(n) * sizeof(T));
#endif
}

/// The first (second) halves of a and b, lane by lane in turn: low(a, b) = a0 b0 a1 b1 …
template <class V>
V low(V a, V b) {
  constexpr int n = sizeof(a) / sizeof(a[0]);
  if constexpr (n == 2) return __builtin_shufflevector(a, b, 0, 2);
  if constexpr (n == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  if constexpr (n == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  if constexpr (n == 16) return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

template <class V>
V high(V a, V b) {
  constexpr int n = sizeof(a) / sizeof(a[0]);
  if constexpr (n == 2) return __builtin_shufflevector(a, b, 1, 3);
  if constexpr (n == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  if constexpr (n == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  if constexpr (n == 16)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Transposes a square of lanes x lanes: v[i][j] and v[j][i] change places. Each round shuffles rows i and i + half
/// into rows 2i and 2i + 1, as one shuffles cards; after log2(lanes) perfect shuffles the square is transposed.
template <class T>
void transpose(Vec<T>* v) {
  constexpr int n = kLanes<T>;
  Vec<T> w[n];
#pragma GCC unroll 16
  for (int round = 1; round < n; round *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; ++i) w[2 * i] = low(v[i], v[i + n / 2]), w[2 * i + 1] = high(v[i], v[i + n / 2]);
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) v[i] = w[i];
  }
}

/// Lane i of the result is the sum of the lanes of v[i], for lanes vectors at once; v is used up.
template <class T>
Vec<T> sums(Vec<T>* v) {
#pragma GCC unroll 16
  for (int half = kLanes<T> / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; ++i) v[i] = low(v[i], v[i + half]) + high(v[i], v[i + half]);
  return v[0];
}

}  // namespace tantu::cpu::simd
