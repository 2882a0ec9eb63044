/// The virtual GPU's stand-in for CUDA's header of this name. Arithmetic is done in float and rounded once per
/// operation.
#pragma once
#include <vgpu/atomics.h>
#include <vgpu/float16.h>
#include <vgpu/vector_types.h>

#include <cmath>
#include <concepts>

inline namespace vgpu_abi {

struct __half {
  uint16_t bits;
  __half() = default;
  VGPU_INLINE __half(float v) : bits(vgpu::half_bits(v)) {}
  VGPU_INLINE __half(double v) : bits(vgpu::half_bits_soft(v)) {}
  template <std::integral I>
  VGPU_INLINE __half(I v) : __half(static_cast<double>(v)) {}
  VGPU_INLINE operator float() const { return vgpu::half_value(bits); }
  VGPU_INLINE __half& operator+=(__half o) { return *this = __half(float(*this) + float(o)); }
  VGPU_INLINE __half& operator-=(__half o) { return *this = __half(float(*this) - float(o)); }
  VGPU_INLINE __half& operator*=(__half o) { return *this = __half(float(*this) * float(o)); }
  VGPU_INLINE __half& operator/=(__half o) { return *this = __half(float(*this) / float(o)); }
};
static_assert(sizeof(__half) == 2 && std::is_trivially_copyable_v<__half>);
using half = __half;

struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

VGPU_INLINE __half operator+(__half a, __half b) {
  return a += b;
}
VGPU_INLINE __half operator-(__half a, __half b) {
  return a -= b;
}
VGPU_INLINE __half operator*(__half a, __half b) {
  return a *= b;
}
VGPU_INLINE __half operator/(__half a, __half b) {
  return a /= b;
}
VGPU_INLINE __half operator-(__half a) {
  a.bits ^= 0x8000u;
  return a;
}
VGPU_INLINE bool operator==(__half a, __half b) {
  return float(a) == float(b);
}
VGPU_INLINE bool operator!=(__half a, __half b) {
  return float(a) != float(b);
}
VGPU_INLINE bool operator<(__half a, __half b) {
  return float(a) < float(b);
}
VGPU_INLINE bool operator>(__half a, __half b) {
  return float(a) > float(b);
}
VGPU_INLINE bool operator<=(__half a, __half b) {
  return float(a) <= float(b);
}
VGPU_INLINE bool operator>=(__half a, __half b) {
  return float(a) >= float(b);
}

VGPU_INLINE __half __float2half(float v) {
  return __half(v);
}
VGPU_INLINE __half __float2half_rn(float v) {
  return __half(v);
}
VGPU_INLINE __half __double2half(double v) {
  return __half(v);
}
VGPU_INLINE float __half2float(__half v) {
  return float(v);
}
VGPU_INLINE __half __int2half_rn(int v) {
  return __half(v);
}
VGPU_INLINE __half __ushort_as_half(unsigned short bits) {
  return std::bit_cast<__half>(bits);
}
VGPU_INLINE unsigned short __half_as_ushort(__half v) {
  return v.bits;
}
VGPU_INLINE __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
VGPU_INLINE __half2 make_half2(__half x, __half y) {
  return {x, y};
}
VGPU_INLINE __half2 __half2half2(__half v) {
  return {v, v};
}
VGPU_INLINE __half2 __float2half2_rn(float v) {
  return {__half(v), __half(v)};
}
VGPU_INLINE __half2 __floats2half2_rn(float x, float y) {
  return {__half(x), __half(y)};
}
VGPU_INLINE __half2 __float22half2_rn(float2 v) {
  return {__half(v.x), __half(v.y)};
}
VGPU_INLINE float2 __half22float2(__half2 v) {
  return {float(v.x), float(v.y)};
}
VGPU_INLINE float __low2float(__half2 v) {
  return float(v.x);
}
VGPU_INLINE float __high2float(__half2 v) {
  return float(v.y);
}
VGPU_INLINE __half __low2half(__half2 v) {
  return v.x;
}
VGPU_INLINE __half __high2half(__half2 v) {
  return v.y;
}

VGPU_INLINE __half __hadd(__half a, __half b) {
  return a + b;
}
VGPU_INLINE __half __hsub(__half a, __half b) {
  return a - b;
}
VGPU_INLINE __half __hmul(__half a, __half b) {
  return a * b;
}
VGPU_INLINE __half __hdiv(__half a, __half b) {
  return a / b;
}
VGPU_INLINE __half __hneg(__half a) {
  return -a;
}
VGPU_INLINE __half __habs(__half a) {
  return std::bit_cast<__half>(static_cast<uint16_t>(a.bits & 0x7fffu));
}
/// One rounding: the product and sum of 11-bit significands are exact in double up to a value that rounds alike.
VGPU_INLINE __half __hfma(__half a, __half b, __half c) {
  return __half(::fma(double(float(a)), double(float(b)), double(float(c))));
}
VGPU_INLINE __half __hmax(__half a, __half b) {
  return __half(::fmaxf(a, b));
}
VGPU_INLINE __half __hmin(__half a, __half b) {
  return __half(::fminf(a, b));
}
VGPU_INLINE bool __hisnan(__half a) {
  return (a.bits & 0x7fffu) > 0x7c00u;
}
VGPU_INLINE int __hisinf(__half a) {
  return (a.bits & 0x7fffu) == 0x7c00u ? (a.bits & 0x8000u ? -1 : 1) : 0;
}
VGPU_INLINE bool __heq(__half a, __half b) {
  return a == b;
}
VGPU_INLINE bool __hlt(__half a, __half b) {
  return a < b;
}
VGPU_INLINE bool __hgt(__half a, __half b) {
  return a > b;
}
VGPU_INLINE __half2 __hadd2(__half2 a, __half2 b) {
  return {a.x + b.x, a.y + b.y};
}
VGPU_INLINE __half2 __hsub2(__half2 a, __half2 b) {
  return {a.x - b.x, a.y - b.y};
}
VGPU_INLINE __half2 __hmul2(__half2 a, __half2 b) {
  return {a.x * b.x, a.y * b.y};
}
VGPU_INLINE __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
VGPU_INLINE __half2 __hmax2(__half2 a, __half2 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
VGPU_INLINE __half2 __hmin2(__half2 a, __half2 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
VGPU_INLINE __half hexp(__half a) {
  return __half(::expf(a));
}
VGPU_INLINE __half hlog(__half a) {
  return __half(::logf(a));
}
VGPU_INLINE __half hsqrt(__half a) {
  return __half(::sqrtf(a));
}
VGPU_INLINE __half hrsqrt(__half a) {
  return __half(1.0f / ::sqrtf(a));
}

VGPU_INLINE __half atomicAdd(__half* ptr, __half v) {
  return vgpu::atomic_update(ptr, [v](__half old) { return old + v; });
}
VGPU_INLINE __half2 atomicAdd(__half2* ptr, __half2 v) {
  return vgpu::atomic_update(ptr, [v](__half2 old) { return __hadd2(old, v); });
}

}  // namespace vgpu_abi
