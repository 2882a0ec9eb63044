#pragma once

#include <tantu/core/error.h>
#include <tantu/core/site.h>

#include <gpu_target.h>

#include <cuda_runtime.h>

// Errors of runtime calls, for files that are compiled for both GPU targets. A text holds the call, CUDA's words and
// number, the virtual GPU's report, and after a fault inside a kernel what this thread launched last.
namespace tantu::gpu {

/// One launch, as errors tell it.
struct LaunchNote {
  const char* kernel = nullptr;
  const char* op = nullptr;
  int device = 0;
  int64_t blocks = 0;
  int threads = 0;
  size_t smem = 0;        ///< bytes of dynamic shared memory
  const char* file = "";  ///< where the launch is written
  int line = 0;
  Site site;  ///< the caller's line
};

/// Remembers a launch for the errors that follow it on this thread.
void note_launch(const LaunchNote& launch);

/// Throws OutOfMemoryError where memory is what lacked, else AcceleratorError. The runtime is left without a pending
/// error, and a virtual GPU able to work.
[[noreturn]] void fail(cudaError_t error, const char* call, const char* file, int line);
/// The same for a launch that was refused, or that failed while it was waited for.
[[noreturn]] void fail_launch(cudaError_t error, const LaunchNote& launch);

}  // namespace tantu::gpu

#define TANTU_CUDA_TRY(call)                                                                    \
  do {                                                                                          \
    const cudaError_t tantu_error = (call);                                                     \
    if (tantu_error != cudaSuccess) ::tantu::gpu::fail(tantu_error, #call, __FILE__, __LINE__); \
  } while (false)
