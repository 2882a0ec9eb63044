/// Marks of the virtual GPU's binary interface. Every name of the shadow headers lives in the inline namespace
/// `vgpu_abi`, so that nothing here ever equals a symbol of the real CUDA libraries in the same process.
#pragma once
#ifdef __CUDACC__
#error "these headers stand in for CUDA's own; nvcc must never see them: remove vgpu/include from the include path"
#endif

#define __VGPU__ 1
/// On functions that the runtime library exports; everything else stays hidden.
#define VGPU_API __attribute__((visibility("default")))
#define VGPU_TLS __attribute__((tls_model("initial-exec")))
#define VGPU_INLINE inline __attribute__((always_inline))
/// Default arguments that carry the caller's place in the source.
#define VGPU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#if defined(__SANITIZE_ADDRESS__)
#define VGPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VGPU_ASAN 1
#endif
#endif
#ifndef VGPU_ASAN
#define VGPU_ASAN 0
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
/// One block at a time runs on a worker thread, so thread-local storage is the block's shared memory. Address
/// sanitizer places no red zones round thread-locals, so its lane (one worker) uses plain statics.
#if VGPU_ASAN
#define __shared__ static
#else
#define __shared__ static thread_local
#endif
