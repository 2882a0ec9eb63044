#include <tantu/core/backend.h>
#include <tantu/core/gpu/device_scope.h>
#include <tantu/core/gpu/index_report.h>

#include <gpu_target.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

// The backend of a GPU target: compiled once for each. Memory passes straight through to the driver so far.
namespace tantu {
namespace {

class PassThroughAllocator final : public Allocator {
 public:
  explicit PassThroughAllocator(int index) : index_(index) {}

  void* allocate(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    gpu::DeviceScope scope(index_);
    void* block = nullptr;
    const cudaError_t error = cudaMalloc(&block, static_cast<size_t>(bytes));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemoryError(fmt::format("{} out of memory. Tried to allocate {} bytes on {}",
                                         kGpuDeviceType == DeviceType::CUDA ? "CUDA" : "vgpu", bytes,
                                         Device(kGpuDeviceType, index_).to_string()));
    }
    TANTU_CUDA_TRY(error);
    return block;
  }

  void deallocate(void* block, int64_t) noexcept override {
    if (block) cudaFree(block);  // an error here belongs to an earlier launch: the next checked call reports it
  }

 private:
  int index_;
};

class GpuBackend final : public Backend {
 public:
  int device_count() override {
    int count = 0;
    if (first_call(count) != cudaSuccess) {
      cudaGetLastError();
      return 0;
    }
    return count;
  }

  std::string unavailable_reason() override {
    int count = 0;
    const cudaError_t error = first_call(count);
    if (error == cudaSuccess) return count > 0 ? "" : "there is no device";
    cudaGetLastError();
    return cudaGetErrorString(error);
  }

  Allocator& allocator(int index) override {
    const int count = device_count();
    TANTU_CHECK(index >= 0 && index < count, DeviceError, "device: there is no {}:{}; this process has {} of them",
                name(kGpuDeviceType), index, count);
    std::lock_guard lock(mutex_);
    while (static_cast<int>(allocators_.size()) <= index)
      allocators_.push_back(std::make_unique<PassThroughAllocator>(static_cast<int>(allocators_.size())));
    return *allocators_[static_cast<size_t>(index)];
  }

  void copy(void* to, Device to_device, const void* from, Device from_device, int64_t bytes) override {
    const size_t n = static_cast<size_t>(bytes);
    if (!to_device.is_cpu() && !from_device.is_cpu()) {
      if (to_device == from_device) {
        gpu::DeviceScope scope(to_device.index());
        TANTU_CUDA_TRY(cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice));
      } else {
        TANTU_CUDA_TRY(cudaMemcpyPeerAsync(to, to_device.index(), from, from_device.index(), n, nullptr));
        synchronize(from_device.index());
      }
      return;
    }
    gpu::DeviceScope scope(to_device.is_cpu() ? from_device.index() : to_device.index());
    TANTU_CUDA_TRY(cudaMemcpy(to, from, n, to_device.is_cpu() ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice));
    if (to_device.is_cpu()) gpu::throw_reported_index(from_device.index());
  }

  void synchronize(int index) override {
    gpu::DeviceScope scope(index);
    TANTU_CUDA_TRY(cudaDeviceSynchronize());
    gpu::throw_reported_index(index);
  }

 private:
  // Whatever a process does with a device, it counts them first. The virtual GPU reads its settings then, and throws an
  // exception of its own where they are wrong.
  static cudaError_t first_call(int& count) {
    try {
      return cudaGetDeviceCount(&count);
    } catch (const std::exception& error) {
      throw ValueError(fmt::format("{}: {}", name(kGpuDeviceType), error.what()));
    }
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<PassThroughAllocator>> allocators_;
};

// Leaked on purpose: tensors may outlive static destruction.
[[maybe_unused]] const bool g_registered = [] {
  register_backend(kGpuDeviceType, new GpuBackend);
  return true;
}();

}  // namespace
}  // namespace tantu
