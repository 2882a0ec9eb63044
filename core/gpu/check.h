#pragma once

#include <tantu/core/error.h>

#include <cuda_runtime.h>

#include <string>

/// Checks of runtime calls, for files that are compiled for both GPU targets.
namespace tantu::gpu {
namespace {

/// Throws for a failed runtime call: OutOfMemoryError where memory is what lacked, else Error with the call, file, line
/// and CUDA's own words. A recoverable error is cleared, so that the next call starts clean.
[[noreturn]] inline void fail(cudaError_t error, const char* call, const char* file, int line) {
  cudaGetLastError();
  const std::string text =
      fmt::format("{}: {} ({}) at {}:{}", call, cudaGetErrorString(error), cudaGetErrorName(error), file, line);
  if (error == cudaErrorMemoryAllocation) throw OutOfMemoryError(text);
  throw Error(text);
}

}  // namespace
}  // namespace tantu::gpu

#define TANTU_CUDA_TRY(call)                                                                    \
  do {                                                                                          \
    const cudaError_t tantu_error = (call);                                                     \
    if (tantu_error != cudaSuccess) ::tantu::gpu::fail(tantu_error, #call, __FILE__, __LINE__); \
  } while (false)
