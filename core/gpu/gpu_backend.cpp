#include <tantu/core/backend.h>
#include <tantu/core/current.h>
#include <tantu/core/gpu/blocking.h>
#include <tantu/core/gpu/device_scope.h>
#include <tantu/core/gpu/direct_allocator.h>
#include <tantu/core/gpu/gpu_driver.h>
#include <tantu/core/memory/config.h>
#include <tantu/core/memory/device_allocator.h>
#include <tantu/core/memory/policy_segments.h>

#include <gpu_runtime.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

// The backend of a GPU target: compiled once for each.
namespace tantu {
namespace {

cudaStream_t as_stream(void* stream) {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t as_event(void* event) {
  return static_cast<cudaEvent_t>(event);
}

// One device's memory: caching, unless told otherwise or a memory checker wants to see every block.
struct DeviceMemory {
  explicit DeviceMemory(int index) : driver(index), direct(index) {
    if (memory::config().caching && !gpu::is_checked())
      caching = std::make_unique<memory::DeviceAllocator>(
          kGpuDeviceType == DeviceType::CUDA ? "CUDA" : "vgpu", Device(kGpuDeviceType, index),
          std::make_unique<memory::SegmentsPolicy>(), driver, gpu::current_stream_handle);
  }
  Allocator& allocator() { return caching ? static_cast<Allocator&>(*caching) : direct; }

  gpu::GpuDriver driver;
  gpu::DirectAllocator direct;
  std::unique_ptr<memory::DeviceAllocator> caching;
};

class GpuBackend final : public Backend {
 public:
  // Asked until it is known once: it never changes, and a device that has failed answers with its failure.
  int device_count() override {
    if (const int known = count_.load(std::memory_order_relaxed); known >= 0) return known;
    int count = 0;
    if (first_call(count) != cudaSuccess) {
      cudaGetLastError();
      return 0;
    }
    count_.store(std::min(count, kMostDevices), std::memory_order_relaxed);
    return std::min(count, kMostDevices);
  }

  std::string unavailable_reason() override {
    int count = 0;
    const cudaError_t error = first_call(count);
    if (error == cudaSuccess) return count > 0 ? "" : "there is no device";
    cudaGetLastError();
    return cudaGetErrorString(error);
  }

  DeviceProperties properties(int index) override {
    cudaDeviceProp p;
    TANTU_CUDA_TRY(cudaGetDeviceProperties(&p, index));
    return {p.name,
            p.major,
            p.minor,
            static_cast<int64_t>(p.totalGlobalMem),
            p.multiProcessorCount,
            p.maxThreadsPerMultiProcessor,
            static_cast<int64_t>(p.sharedMemPerBlockOptin),
            p.l2CacheSize,
            p.pciBusID};
  }

  void memory(int index, int64_t& free, int64_t& total) override {
    const gpu::DeviceScope scope(index);
    size_t f = 0, t = 0;
    TANTU_CUDA_TRY(cudaMemGetInfo(&f, &t));
    free = static_cast<int64_t>(f);
    total = static_cast<int64_t>(t);
  }

  Allocator& allocator(int index) override {
    const int count = device_count();
    TANTU_CHECK(index >= 0 && index < count, DeviceError, "device: there is no {}:{}; this process has {} of them",
                name(kGpuDeviceType), index, count);
    return memory_of(index).allocator();
  }

  void copy(void* to, Device to_device, const void* from, Device from_device, int64_t bytes) override {
    const Device here = from_device.is_cpu() ? to_device : from_device;
    const gpu::DeviceScope scope(here.index());
    const GpuContextBase ctx{here.index(), gpu::current_stream_handle(here), "copy"};
    if (to_device.is_cpu()) gpu::copy_to_host(SyncReason::CopyToHost, ctx, to, from, bytes);
    else if (from_device.is_cpu()) gpu::copy_to_device(ctx, to, from, bytes);
    else if (to_device == from_device)
      TANTU_CUDA_TRY(
          cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, as_stream(ctx.stream)));
    else copy_between(to, to_device.index(), from, ctx, gpu::current_stream_handle(to_device), bytes);
  }

  void synchronize(int index) override {
    const gpu::DeviceScope scope(index);
    gpu::wait_for_device(index);
  }
  void synchronize_stream(int index, void* stream) override {
    const gpu::DeviceScope scope(index);
    gpu::wait_for_stream(SyncReason::Stream, index, stream);
  }
  void synchronize_event(int index, void* event) override {
    const gpu::DeviceScope scope(index);
    gpu::wait_for_event(index, event);
  }

  void* create_stream(int index, int priority) override {
    memory_of(index);  // a bad configuration is told now
    const gpu::DeviceScope scope(index);
    int least = 0, greatest = 0;
    TANTU_CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t stream = nullptr;
    TANTU_CUDA_TRY(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, std::clamp(priority, greatest, least)));
    return stream;
  }
  void destroy_stream(int index, void* stream) noexcept override {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(index);
    if (auto& caching = memory_of(index).caching) caching->stream_ends(stream);
    cudaStreamDestroy(as_stream(stream));
    cudaSetDevice(before);
  }
  bool stream_done(int index, void* stream) override {
    const gpu::DeviceScope scope(index);
    return done(cudaStreamQuery(as_stream(stream)), "cudaStreamQuery");
  }
  void stream_waits(int index, void* stream, void* event) override {
    const gpu::DeviceScope scope(index);
    TANTU_CUDA_TRY(cudaStreamWaitEvent(as_stream(stream), as_event(event), 0));
  }

  void* create_event(int index, bool timing) override {
    const gpu::DeviceScope scope(index);
    cudaEvent_t event = nullptr;
    TANTU_CUDA_TRY(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming));
    return event;
  }
  void destroy_event(int, void* event) noexcept override { cudaEventDestroy(as_event(event)); }
  void record_event(int index, void* event, void* stream) override {
    const gpu::DeviceScope scope(index);
    TANTU_CUDA_TRY(cudaEventRecord(as_event(event), as_stream(stream)));
  }
  bool event_done(int index, void* event) override {
    const gpu::DeviceScope scope(index);
    return done(cudaEventQuery(as_event(event)), "cudaEventQuery");
  }
  double milliseconds_between(int index, void* start, void* end) override {
    const gpu::DeviceScope scope(index);
    float ms = 0;
    TANTU_CUDA_TRY(cudaEventElapsedTime(&ms, as_event(start), as_event(end)));
    return static_cast<double>(ms);
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

  static bool done(cudaError_t answer, const char* call) {
    if (answer == cudaErrorNotReady) {
      cudaGetLastError();  // nobody's error
      return false;
    }
    if (answer != cudaSuccess) gpu::fail(answer, call, __FILE__, __LINE__);
    return true;
  }

  // On the source's stream: it waits until the target's stream is done with the memory, which then waits for the copy.
  void copy_between(void* to, int to_index, const void* from, const GpuContextBase& ctx, void* to_stream,
                    int64_t bytes) {
    const OneUse target_free(*this, to_index), copied(*this, ctx.device);
    record_event(to_index, target_free.handle, to_stream);
    stream_waits(ctx.device, ctx.stream, target_free.handle);
    TANTU_CUDA_TRY(
        cudaMemcpyPeerAsync(to, to_index, from, ctx.device, static_cast<size_t>(bytes), as_stream(ctx.stream)));
    record_event(ctx.device, copied.handle, ctx.stream);
    stream_waits(to_index, to_stream, copied.handle);
  }

  // The driver keeps an event alive until what waits for it is done.
  struct OneUse {
    OneUse(GpuBackend& b, int index) : backend(b), handle(b.create_event(index, false)) {}
    ~OneUse() { backend.destroy_event(0, handle); }
    GpuBackend& backend;
    void* handle;
  };

  DeviceMemory& memory_of(int index) {
    std::lock_guard lock(mutex_);
    while (static_cast<int>(memories_.size()) <= index)
      memories_.push_back(std::make_unique<DeviceMemory>(static_cast<int>(memories_.size())));
    return *memories_[static_cast<size_t>(index)];
  }

  std::atomic<int> count_{-1};
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
};

// Leaked on purpose: tensors may outlive static destruction.
[[maybe_unused]] const bool g_registered = [] {
  register_backend(kGpuDeviceType, new GpuBackend);
  return true;
}();

}  // namespace
}  // namespace tantu
