#include <tantu/core/gpu/blocking.h>

#include <tantu/core/gpu/check.h>
#include <tantu/core/gpu/index_report.h>

#include <cstdlib>
#include <cstring>

namespace tantu::gpu {

namespace {

Device device_of(int index) {
  return {kGpuDeviceType, index};
}

}  // namespace

bool launch_blocking() {
  static const bool on = [] {
    const char* text = std::getenv("CUDA_LAUNCH_BLOCKING");
    return text && std::strcmp(text, "1") == 0;
  }();
  return on;
}

void wait_for_device(int device) {
  {
    const SyncScope scope(SyncReason::Device, device_of(device));
    TANTU_CUDA_TRY(cudaDeviceSynchronize());
  }
  throw_reported_index(device);
}

void wait_for_memory(SyncReason reason, int device) noexcept {
  const SyncScope scope(reason, device_of(device));
  if (cudaDeviceSynchronize() != cudaSuccess) cudaGetLastError();
}

void wait_for_stream(SyncReason reason, int device, void* stream, int64_t bytes) {
  {
    const SyncScope scope(reason, device_of(device), bytes);
    TANTU_CUDA_TRY(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  }
  throw_reported_index(device);
}

void wait_for_event(int device, void* event) {
  {
    const SyncScope scope(SyncReason::Event, device_of(device));
    TANTU_CUDA_TRY(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
  }
  throw_reported_index(device);
}

cudaError_t wait_for_launch(int device, void* stream) {
  const SyncScope scope(SyncReason::LaunchBlocking, device_of(device));
  return cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
}

// Pageable memory: the driver may wait inside the copy already, so the scope stands around both.
void copy_to_host(SyncReason reason, const GpuContextBase& ctx, void* to, const void* from, int64_t bytes) {
  {
    const SyncScope scope(reason, device_of(ctx.device), bytes);
    const auto stream = static_cast<cudaStream_t>(ctx.stream);
    TANTU_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream));
    TANTU_CUDA_TRY(cudaStreamSynchronize(stream));
  }
  throw_reported_index(ctx.device);
}

void copy_to_device(const GpuContextBase& ctx, void* to, const void* from, int64_t bytes) {
  const SyncScope scope(SyncReason::CopyToDevice, device_of(ctx.device), bytes);
  const auto stream = static_cast<cudaStream_t>(ctx.stream);
  TANTU_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream));
  TANTU_CUDA_TRY(cudaStreamSynchronize(stream));
}

void free_memory(int device, void* block) noexcept {
  const SyncScope scope(SyncReason::FreeMemory, device_of(device));
  if (cudaFree(block) != cudaSuccess) cudaGetLastError();
}

}  // namespace tantu::gpu
