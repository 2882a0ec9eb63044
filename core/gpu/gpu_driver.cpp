#include <tantu/core/gpu/gpu_driver.h>

#include <tantu/core/gpu/blocking.h>
#include <tantu/core/gpu/device_scope.h>

#include <gpu_runtime.h>

namespace tantu::gpu {

namespace {

// DeviceScope for functions that must not throw.
class QuietScope {
 public:
  explicit QuietScope(int index) {
    cudaGetDevice(&saved_);
    cudaSetDevice(index);
  }
  ~QuietScope() { cudaSetDevice(saved_); }
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  int saved_ = 0;
};

}  // namespace

void* GpuDriver::allocate(int64_t bytes) {
  const DeviceScope scope(index_);
  void* segment = nullptr;
  const cudaError_t error = cudaMalloc(&segment, static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  if (error != cudaSuccess) fail(error, "cudaMalloc", __FILE__, __LINE__);
  return segment;
}

void GpuDriver::free(void* segment) noexcept {
  free_memory(index_, segment);
}

void GpuDriver::synchronize(SyncReason reason) noexcept {
  const QuietScope scope(index_);
  wait_for_memory(reason, index_);
}

void GpuDriver::memory(int64_t& free, int64_t& total) noexcept {
  const QuietScope scope(index_);
  size_t f = 0, t = 0;
  const bool known = cudaMemGetInfo(&f, &t) == cudaSuccess;
  free = known ? static_cast<int64_t>(f) : -1;
  total = known ? static_cast<int64_t>(t) : -1;
}

void* GpuDriver::create_event() noexcept {
  const QuietScope scope(index_);
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess) return event;
  cudaGetLastError();
  return nullptr;
}

bool GpuDriver::record(void* event, void* stream) noexcept {
  const QuietScope scope(index_);
  if (cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)) == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

bool GpuDriver::is_done(void* event) noexcept {
  const QuietScope scope(index_);
  const bool done = peek_event(static_cast<cudaEvent_t>(event)) != cudaErrorNotReady;
  cudaGetLastError();  // that it is not ready is nobody's error
  return done;
}

void GpuDriver::mark(void* block, int64_t bytes, bool live) noexcept {
  mark_block(block, static_cast<size_t>(bytes), live);
}

}  // namespace tantu::gpu
