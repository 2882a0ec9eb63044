/// Atomics on global and shared memory: host atomics, relaxed, so also right between worker threads.
/// `_block` and `_system` scopes are the same thing here.
#pragma once
#include <vgpu/abi.h>

#include <bit>
#include <cstdint>
#include <type_traits>

inline namespace vgpu_abi {

namespace vgpu {
template <class T>
using AtomicWord = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

/// old = *ptr; *ptr = f(old), atomically, by compare and swap of the word. Returns old.
template <class T, class F>
VGPU_INLINE T atomic_update(T* ptr, F f) {
  using W = AtomicWord<T>;
  W* word = reinterpret_cast<W*>(ptr);
  W old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T value;
    __builtin_memcpy(&value, &old, sizeof(T));
    T next = f(value);
    W bits;
    __builtin_memcpy(&bits, &next, sizeof(T));
    if (__atomic_compare_exchange_n(word, &old, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return value;
  }
}
template <class T>
concept AtomicInt = std::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);
}  // namespace vgpu

template <vgpu::AtomicInt T>
VGPU_INLINE T atomicAdd(T* ptr, std::type_identity_t<T> v) {
  return __atomic_fetch_add(ptr, v, __ATOMIC_RELAXED);
}
VGPU_INLINE float atomicAdd(float* ptr, float v) {
  return vgpu::atomic_update(ptr, [v](float old) { return old + v; });
}
VGPU_INLINE double atomicAdd(double* ptr, double v) {
  return vgpu::atomic_update(ptr, [v](double old) { return old + v; });
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicSub(T* ptr, std::type_identity_t<T> v) {
  return __atomic_fetch_sub(ptr, v, __ATOMIC_RELAXED);
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicAnd(T* ptr, std::type_identity_t<T> v) {
  return __atomic_fetch_and(ptr, v, __ATOMIC_RELAXED);
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicOr(T* ptr, std::type_identity_t<T> v) {
  return __atomic_fetch_or(ptr, v, __ATOMIC_RELAXED);
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicXor(T* ptr, std::type_identity_t<T> v) {
  return __atomic_fetch_xor(ptr, v, __ATOMIC_RELAXED);
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicMax(T* ptr, std::type_identity_t<T> v) {
  return vgpu::atomic_update(ptr, [v](T old) { return old > v ? old : v; });
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicMin(T* ptr, std::type_identity_t<T> v) {
  return vgpu::atomic_update(ptr, [v](T old) { return old < v ? old : v; });
}
template <vgpu::AtomicInt T>
VGPU_INLINE T atomicExch(T* ptr, std::type_identity_t<T> v) {
  return __atomic_exchange_n(ptr, v, __ATOMIC_RELAXED);
}
VGPU_INLINE float atomicExch(float* ptr, float v) {
  return std::bit_cast<float>(
      __atomic_exchange_n(reinterpret_cast<uint32_t*>(ptr), std::bit_cast<uint32_t>(v), __ATOMIC_RELAXED));
}
template <class T>
requires vgpu::AtomicInt<T> || std::is_same_v<T, unsigned short> VGPU_INLINE T
atomicCAS(T* ptr, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  __atomic_compare_exchange_n(ptr, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
/// CUDA's wrapping counters.
VGPU_INLINE unsigned atomicInc(unsigned* ptr, unsigned limit) {
  return vgpu::atomic_update(ptr, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
}
VGPU_INLINE unsigned atomicDec(unsigned* ptr, unsigned limit) {
  return vgpu::atomic_update(ptr, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

template <class T>
VGPU_INLINE T atomicAdd_block(T* ptr, std::type_identity_t<T> v) {
  return atomicAdd(ptr, v);
}
template <class T>
VGPU_INLINE T atomicSub_block(T* ptr, std::type_identity_t<T> v) {
  return atomicSub(ptr, v);
}
template <class T>
VGPU_INLINE T atomicAnd_block(T* ptr, std::type_identity_t<T> v) {
  return atomicAnd(ptr, v);
}
template <class T>
VGPU_INLINE T atomicOr_block(T* ptr, std::type_identity_t<T> v) {
  return atomicOr(ptr, v);
}
template <class T>
VGPU_INLINE T atomicXor_block(T* ptr, std::type_identity_t<T> v) {
  return atomicXor(ptr, v);
}
template <class T>
VGPU_INLINE T atomicMax_block(T* ptr, std::type_identity_t<T> v) {
  return atomicMax(ptr, v);
}
template <class T>
VGPU_INLINE T atomicMin_block(T* ptr, std::type_identity_t<T> v) {
  return atomicMin(ptr, v);
}
template <class T>
VGPU_INLINE T atomicExch_block(T* ptr, std::type_identity_t<T> v) {
  return atomicExch(ptr, v);
}
template <class T>
VGPU_INLINE T atomicCAS_block(T* ptr, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return atomicCAS(ptr, expected, desired);
}
template <class T>
VGPU_INLINE T atomicAdd_system(T* ptr, std::type_identity_t<T> v) {
  return atomicAdd(ptr, v);
}
template <class T>
VGPU_INLINE T atomicSub_system(T* ptr, std::type_identity_t<T> v) {
  return atomicSub(ptr, v);
}
template <class T>
VGPU_INLINE T atomicAnd_system(T* ptr, std::type_identity_t<T> v) {
  return atomicAnd(ptr, v);
}
template <class T>
VGPU_INLINE T atomicOr_system(T* ptr, std::type_identity_t<T> v) {
  return atomicOr(ptr, v);
}
template <class T>
VGPU_INLINE T atomicXor_system(T* ptr, std::type_identity_t<T> v) {
  return atomicXor(ptr, v);
}
template <class T>
VGPU_INLINE T atomicMax_system(T* ptr, std::type_identity_t<T> v) {
  return atomicMax(ptr, v);
}
template <class T>
VGPU_INLINE T atomicMin_system(T* ptr, std::type_identity_t<T> v) {
  return atomicMin(ptr, v);
}
template <class T>
VGPU_INLINE T atomicExch_system(T* ptr, std::type_identity_t<T> v) {
  return atomicExch(ptr, v);
}
template <class T>
VGPU_INLINE T atomicCAS_system(T* ptr, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return atomicCAS(ptr, expected, desired);
}

}  // namespace vgpu_abi
