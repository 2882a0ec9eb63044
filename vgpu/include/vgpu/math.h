/// CUDA's device maths names. Fast-math names give the accurate result; `fmaf` is one rounding.
#pragma once
#include <vgpu/vector_types.h>

#include <math.h>
#include <bit>
#include <cmath>

inline namespace vgpu_abi {

/// CUDA's max/min: a NaN operand is dropped.
constexpr int max(int a, int b) {
  return a > b ? a : b;
}
constexpr unsigned max(unsigned a, unsigned b) {
  return a > b ? a : b;
}
constexpr long max(long a, long b) {
  return a > b ? a : b;
}
constexpr unsigned long max(unsigned long a, unsigned long b) {
  return a > b ? a : b;
}
constexpr long long max(long long a, long long b) {
  return a > b ? a : b;
}
constexpr unsigned long long max(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}
inline float max(float a, float b) {
  return ::fmaxf(a, b);
}
inline double max(double a, double b) {
  return ::fmax(a, b);
}
constexpr int min(int a, int b) {
  return a < b ? a : b;
}
constexpr unsigned min(unsigned a, unsigned b) {
  return a < b ? a : b;
}
constexpr long min(long a, long b) {
  return a < b ? a : b;
}
constexpr unsigned long min(unsigned long a, unsigned long b) {
  return a < b ? a : b;
}
constexpr long long min(long long a, long long b) {
  return a < b ? a : b;
}
constexpr unsigned long long min(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
inline float min(float a, float b) {
  return ::fminf(a, b);
}
inline double min(double a, double b) {
  return ::fmin(a, b);
}

inline float __expf(float x) {
  return ::expf(x);
}
inline float __exp10f(float x) {
  return ::powf(10.0f, x);
}
inline float __logf(float x) {
  return ::logf(x);
}
inline float __log2f(float x) {
  return ::log2f(x);
}
inline float __log10f(float x) {
  return ::log10f(x);
}
inline float __sinf(float x) {
  return ::sinf(x);
}
inline float __cosf(float x) {
  return ::cosf(x);
}
inline float __tanf(float x) {
  return ::tanf(x);
}
inline float __powf(float x, float y) {
  return ::powf(x, y);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
inline float rsqrtf(float x) {
  return 1.0f / ::sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / ::sqrt(x);
}
inline float __frcp_rn(float x) {
  return 1.0f / x;
}
inline float __fsqrt_rn(float x) {
  return ::sqrtf(x);
}
inline float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / ::sqrt(static_cast<double>(x)));
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __fma_rn(double a, double b, double c) {
  return ::fma(a, b, c);
}
inline void sincospif(float x, float* s, float* c) {
  double r = 3.14159265358979323846 * std::remainder(static_cast<double>(x), 2.0);
  *s = static_cast<float>(::sin(r));
  *c = static_cast<float>(::cos(r));
}
inline void __sincosf(float x, float* s, float* c) {
  *s = ::sinf(x);
  *c = ::cosf(x);
}

constexpr int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
constexpr unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
constexpr float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
constexpr float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
constexpr long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
constexpr double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
constexpr int __popc(unsigned x) {
  return std::popcount(x);
}
constexpr int __popcll(unsigned long long x) {
  return std::popcount(x);
}
constexpr int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
constexpr int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
constexpr int __ffs(int x) {
  return __builtin_ffs(x);
}
constexpr int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
constexpr unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= ((x >> i) & 1u) << (31 - i);
  return r;
}
constexpr unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
constexpr int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}
constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
constexpr unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>((((static_cast<unsigned long long>(hi) << 32) | lo) << (shift & 31u)) >> 32);
}
constexpr unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(hi) << 32) | lo) >> (shift & 31u));
}
constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  unsigned long long v = (static_cast<unsigned long long>(y) << 32) | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned sel = (s >> (4 * i)) & 0xfu, b = static_cast<unsigned>(v >> (8 * (sel & 7u))) & 0xffu;
    r |= ((sel & 8u) ? ((b & 0x80u) ? 0xffu : 0u) : b) << (8 * i);
  }
  return r;
}

/// Conversions; out-of-range values saturate and NaN gives 0, as the hardware does.
inline int __float2int_rz(float x) {
  return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : static_cast<int>(x);
}
inline int __float2int_rn(float x) {
  return __float2int_rz(::nearbyintf(x));
}
inline int __float2int_rd(float x) {
  return __float2int_rz(::floorf(x));
}
inline int __float2int_ru(float x) {
  return __float2int_rz(::ceilf(x));
}
inline float __int2float_rn(int x) {
  return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x) {
  return static_cast<float>(x);
}

}  // namespace vgpu_abi
