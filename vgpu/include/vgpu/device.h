/// What a kernel sees of its place in the grid, barriers, fences and shared memory.
#pragma once
#include <vgpu/vector_types.h>

#include <cstddef>
#include <cstdint>

inline namespace vgpu_abi {

extern VGPU_API constinit thread_local uint3 threadIdx VGPU_TLS;
extern VGPU_API constinit thread_local uint3 blockIdx VGPU_TLS;
extern VGPU_API constinit thread_local dim3 blockDim VGPU_TLS;
extern VGPU_API constinit thread_local dim3 gridDim VGPU_TLS;
constexpr int warpSize = 32;

namespace vgpu {
extern VGPU_API constinit thread_local void* tl_dynamic_smem VGPU_TLS;

/// The block's dynamic shared memory: 128-byte aligned, as many bytes as the launch asked for.
/// Only `dynamic_smem<T>()` of arch.cuh calls this.
VGPU_INLINE void* dynamic_shared() {
  return tl_dynamic_smem;
}

enum class Barrier : int { plain, count, all, any };
VGPU_API int block_barrier(Barrier kind, int predicate, const char* file, int line);
/// bar.sync: `threads` (a multiple of 32) of the block meet at barrier `id` (1..15).
VGPU_API void named_barrier(int id, int threads, bool wait, const char* file, int line);
/// A fence between the threads that run blocks. Out of line: the race checker has no word for fences, and g++ refuses
/// them in code that it instruments.
VGPU_API void thread_fence();
/// Ends the launch with a CUDA error; never returns.
[[noreturn]] VGPU_API void device_fault(int cuda_error, const char* what, const char* file, int line);
/// Reports a pointer that a vector access of `bytes` may not use (error 716).
VGPU_API void check_alignment(const void* ptr, size_t bytes, const char* file, int line);
/// %laneid.
VGPU_INLINE unsigned lane_id() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u;
}
}  // namespace vgpu

VGPU_INLINE void __syncthreads(VGPU_HERE) {
  vgpu::block_barrier(vgpu::Barrier::plain, 0, file, line);
}
VGPU_INLINE int __syncthreads_count(int predicate, VGPU_HERE) {
  return vgpu::block_barrier(vgpu::Barrier::count, predicate, file, line);
}
VGPU_INLINE int __syncthreads_and(int predicate, VGPU_HERE) {
  return vgpu::block_barrier(vgpu::Barrier::all, predicate, file, line);
}
VGPU_INLINE int __syncthreads_or(int predicate, VGPU_HERE) {
  return vgpu::block_barrier(vgpu::Barrier::any, predicate, file, line);
}

VGPU_INLINE void __threadfence_block() {
  vgpu::thread_fence();
}
VGPU_INLINE void __threadfence() {
  vgpu::thread_fence();
}
VGPU_INLINE void __threadfence_system() {
  vgpu::thread_fence();
}
[[noreturn]] VGPU_INLINE void __trap(VGPU_HERE) {
  vgpu::device_fault(719, "trap", file, line);
}
VGPU_INLINE void __nanosleep(unsigned) {}
VGPU_API long long clock64();

template <class T>
VGPU_INLINE T __ldg(const T* ptr) {
  return *ptr;
}
template <class T>
VGPU_INLINE T __ldcg(const T* ptr) {
  return *ptr;
}
template <class T>
VGPU_INLINE T __ldcs(const T* ptr) {
  return *ptr;
}
template <class T>
VGPU_INLINE void __stcs(T* ptr, T value) {
  *ptr = value;
}
template <class T>
VGPU_INLINE void __stcg(T* ptr, T value) {
  *ptr = value;
}

}  // namespace vgpu_abi
