#pragma once

#include <tantu/core/site.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// The only file that names a target or holds PTX. Every function here has a twin for the virtual GPU beside it.
namespace tantu::arch {
namespace {

/// Whether matrix units take bfloat16 in the pass that is being compiled. Turing's take half only.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr bool kBfloat16Mma = false;
#else
inline constexpr bool kBfloat16Mma = true;
#endif

/// The block's dynamic shared memory: as many bytes as the launch asked for, 128-byte aligned.
template <class T>
__device__ __forceinline__ T* dynamic_smem() {
#ifdef __VGPU__
  return static_cast<T*>(vgpu::dynamic_shared());
#else
  extern __shared__ __align__(128) unsigned char tantu_dynamic_smem[];
  return reinterpret_cast<T*>(tantu_dynamic_smem);
#endif
}

/// Host: tells a runtime that can name it where the next launch is written, and which call asked for it. Silicon
/// cannot.
inline void launch_site([[maybe_unused]] const char* file, [[maybe_unused]] int line, [[maybe_unused]] const char* op,
                        [[maybe_unused]] Site caller) {
#ifdef __VGPU__
  vgpu::set_launch_site(file, line, {op, caller.file, caller.line});
#endif
}

}  // namespace
}  // namespace tantu::arch
