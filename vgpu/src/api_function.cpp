#include "launch.h"
#include "runtime.h"

inline namespace vgpu_abi {
using namespace vgpu::rt;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attr, int value) {
  Entry entry("cudaFuncSetAttribute", cudaErrorInvalidValue);
  if (entry) return done(entry.error);
  if (!kernel) return done(cudaErrorInvalidDeviceFunction);
  if (attr == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return done(cudaErrorInvalidValue);
  if (value < 0 || static_cast<size_t>(value) > config().profile->shared_optin)
    return done(reject(cudaErrorInvalidValue, "cudaFuncSetAttribute: " + std::to_string(value) +
                                                  " bytes of dynamic shared memory; profile " + config().profile->name +
                                                  " allows " + std::to_string(config().profile->shared_optin)));
  Lock lock(runtime().mutex);
  runtime().max_dynamic_smem[kernel] = value;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  Entry entry("cudaFuncGetAttributes");
  if (entry) return done(entry.error);
  if (!kernel) return done(cudaErrorInvalidDeviceFunction);
  if (!attributes) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  auto& limits = runtime().max_dynamic_smem;
  auto it = limits.find(kernel);
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = attributes->ptxVersion = config().profile->major * 10 + config().profile->minor;
  attributes->maxDynamicSharedSizeBytes = it == limits.end() ? 48 << 10 : it->second;
  return cudaSuccess;
}

/// By threads, blocks and shared memory; registers are not known here.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                          size_t dynamic_smem) {
  Entry entry("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (entry) return done(entry.error);
  if (!kernel) return done(cudaErrorInvalidDeviceFunction);
  if (!blocks || block_size < 1 || block_size > 1024) return done(cudaErrorInvalidValue);
  const Profile& p = *config().profile;
  int by_threads = p.threads_sm / ((block_size + 31) / 32 * 32);
  int by_shared = static_cast<int>(p.shared_sm / (dynamic_smem + 1024));
  *blocks = std::min({p.blocks_sm, by_threads, by_shared});
  return cudaSuccess;
}

}  // namespace vgpu_abi
