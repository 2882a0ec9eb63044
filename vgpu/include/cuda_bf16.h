/// The virtual GPU's stand-in for CUDA's header of this name. Arithmetic is done in float and rounded once per
/// operation.
#pragma once
#include <vgpu/atomics.h>
#include <vgpu/float16.h>
#include <vgpu/vector_types.h>

#include <cmath>
#include <concepts>

inline namespace vgpu_abi {

struct __nv_bfloat16 {
  uint16_t bits;
  __nv_bfloat16() = default;
  VGPU_INLINE __nv_bfloat16(float v) : bits(vgpu::bfloat16_bits(v)) {}
  VGPU_INLINE __nv_bfloat16(double v) : bits(vgpu::bfloat16_bits(vgpu::odd_float(v))) {}
  template <std::integral I>
  VGPU_INLINE __nv_bfloat16(I v) : __nv_bfloat16(static_cast<double>(v)) {}
  VGPU_INLINE operator float() const { return vgpu::bfloat16_value(bits); }
  VGPU_INLINE __nv_bfloat16& operator+=(__nv_bfloat16 o) { return *this = __nv_bfloat16(float(*this) + float(o)); }
  VGPU_INLINE __nv_bfloat16& operator-=(__nv_bfloat16 o) { return *this = __nv_bfloat16(float(*this) - float(o)); }
  VGPU_INLINE __nv_bfloat16& operator*=(__nv_bfloat16 o) { return *this = __nv_bfloat16(float(*this) * float(o)); }
  VGPU_INLINE __nv_bfloat16& operator/=(__nv_bfloat16 o) { return *this = __nv_bfloat16(float(*this) / float(o)); }
};
static_assert(sizeof(__nv_bfloat16) == 2 && std::is_trivially_copyable_v<__nv_bfloat16>);
using nv_bfloat16 = __nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;

VGPU_INLINE __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a += b;
}
VGPU_INLINE __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a -= b;
}
VGPU_INLINE __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a *= b;
}
VGPU_INLINE __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a /= b;
}
VGPU_INLINE __nv_bfloat16 operator-(__nv_bfloat16 a) {
  a.bits ^= 0x8000u;
  return a;
}
VGPU_INLINE bool operator==(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) == float(b);
}
VGPU_INLINE bool operator!=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) != float(b);
}
VGPU_INLINE bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) < float(b);
}
VGPU_INLINE bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) > float(b);
}
VGPU_INLINE bool operator<=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) <= float(b);
}
VGPU_INLINE bool operator>=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) >= float(b);
}

VGPU_INLINE __nv_bfloat16 __float2bfloat16(float v) {
  return __nv_bfloat16(v);
}
VGPU_INLINE __nv_bfloat16 __float2bfloat16_rn(float v) {
  return __nv_bfloat16(v);
}
VGPU_INLINE __nv_bfloat16 __double2bfloat16(double v) {
  return __nv_bfloat16(v);
}
VGPU_INLINE float __bfloat162float(__nv_bfloat16 v) {
  return float(v);
}
VGPU_INLINE __nv_bfloat16 __int2bfloat16_rn(int v) {
  return __nv_bfloat16(v);
}
VGPU_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return std::bit_cast<__nv_bfloat16>(bits);
}
VGPU_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) {
  return v.bits;
}
VGPU_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
VGPU_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
VGPU_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 v) {
  return {v, v};
}
VGPU_INLINE __nv_bfloat162 __float2bfloat162_rn(float v) {
  return {__nv_bfloat16(v), __nv_bfloat16(v)};
}
VGPU_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
VGPU_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}
VGPU_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) {
  return {float(v.x), float(v.y)};
}
VGPU_INLINE float __low2float(__nv_bfloat162 v) {
  return float(v.x);
}
VGPU_INLINE float __high2float(__nv_bfloat162 v) {
  return float(v.y);
}
VGPU_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) {
  return v.x;
}
VGPU_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) {
  return v.y;
}

VGPU_INLINE __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a + b;
}
VGPU_INLINE __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a - b;
}
VGPU_INLINE __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a * b;
}
VGPU_INLINE __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a / b;
}
VGPU_INLINE __nv_bfloat16 __hneg(__nv_bfloat16 a) {
  return -a;
}
VGPU_INLINE __nv_bfloat16 __habs(__nv_bfloat16 a) {
  return std::bit_cast<__nv_bfloat16>(static_cast<uint16_t>(a.bits & 0x7fffu));
}
/// One rounding: the product and sum of 8-bit significands are exact in double up to a value that rounds alike.
VGPU_INLINE __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __nv_bfloat16(::fma(double(float(a)), double(float(b)), double(float(c))));
}
VGPU_INLINE __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(::fmaxf(a, b));
}
VGPU_INLINE __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(::fminf(a, b));
}
VGPU_INLINE bool __hisnan(__nv_bfloat16 a) {
  return (a.bits & 0x7fffu) > 0x7f80u;
}
VGPU_INLINE int __hisinf(__nv_bfloat16 a) {
  return (a.bits & 0x7fffu) == 0x7f80u ? (a.bits & 0x8000u ? -1 : 1) : 0;
}
VGPU_INLINE bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a == b;
}
VGPU_INLINE bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a < b;
}
VGPU_INLINE bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a > b;
}
VGPU_INLINE __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x + b.x, a.y + b.y};
}
VGPU_INLINE __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x - b.x, a.y - b.y};
}
VGPU_INLINE __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x * b.x, a.y * b.y};
}
VGPU_INLINE __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
VGPU_INLINE __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
VGPU_INLINE __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
VGPU_INLINE __nv_bfloat16 hexp(__nv_bfloat16 a) {
  return __nv_bfloat16(::expf(a));
}
VGPU_INLINE __nv_bfloat16 hlog(__nv_bfloat16 a) {
  return __nv_bfloat16(::logf(a));
}
VGPU_INLINE __nv_bfloat16 hsqrt(__nv_bfloat16 a) {
  return __nv_bfloat16(::sqrtf(a));
}
VGPU_INLINE __nv_bfloat16 hrsqrt(__nv_bfloat16 a) {
  return __nv_bfloat16(1.0f / ::sqrtf(a));
}

VGPU_INLINE __nv_bfloat16 atomicAdd(__nv_bfloat16* ptr, __nv_bfloat16 v) {
  return vgpu::atomic_update(ptr, [v](__nv_bfloat16 old) { return old + v; });
}
VGPU_INLINE __nv_bfloat162 atomicAdd(__nv_bfloat162* ptr, __nv_bfloat162 v) {
  return vgpu::atomic_update(ptr, [v](__nv_bfloat162 old) { return __hadd2(old, v); });
}

}  // namespace vgpu_abi
