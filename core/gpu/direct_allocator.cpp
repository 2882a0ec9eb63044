#include <tantu/core/gpu/direct_allocator.h>

#include <tantu/core/gpu/blocking.h>
#include <tantu/core/gpu/device_scope.h>

namespace tantu::gpu {

void* DirectAllocator::allocate(int64_t bytes) {
  if (bytes == 0) return nullptr;
  const DeviceScope scope(index_);
  void* block = nullptr;
  const cudaError_t error = cudaMalloc(&block, static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemoryError(fmt::format("{} out of memory. Tried to allocate {} bytes on {} ({} bytes are allocated)",
                                       kGpuDeviceType == DeviceType::CUDA ? "CUDA" : "vgpu", bytes,
                                       Device(kGpuDeviceType, index_).to_string(), allocated_.load()));
  }
  if (error != cudaSuccess) fail(error, "cudaMalloc", __FILE__, __LINE__);
  calls_.fetch_add(1, std::memory_order_relaxed);
  const int64_t now = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return block;
}

void DirectAllocator::deallocate(void* block, int64_t bytes) noexcept {
  if (!block) return;
  free_memory(index_, block);
  allocated_.fetch_sub(bytes, std::memory_order_relaxed);
}

MemoryStats DirectAllocator::stats() const {
  const int64_t allocated = allocated_.load();
  return {allocated, peak_.load(), allocated, calls_.load()};
}

}  // namespace tantu::gpu
