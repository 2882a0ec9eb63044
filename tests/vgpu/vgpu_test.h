/// What the virtual GPU's tests share: launching, device buffers, seeds, and planted bugs that run in a child process.
#pragma once
#include <tantu/tests/catch.h>

#include <cuda_runtime.h>
#include <vgpu/control.h>

#include <functional>
#include <string>
#include <vector>

namespace vgpu_test {

/// Success, or the test fails with the runtime's own report.
#define CUDA_OK(call)                              \
  do {                                             \
    cudaError_t cuda_ok_error = (call);            \
    INFO(#call << ": " << vgpu::last_report());    \
    REQUIRE(static_cast<int>(cuda_ok_error) == 0); \
  } while (0)
#define CUDA_IS(call, number) REQUIRE(static_cast<int>(call) == (number))

template <class... P, class... A>
cudaError_t launch_on(cudaStream_t stream, void (*kernel)(P...), dim3 grid, dim3 block, size_t smem, const A&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = smem;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, args...);
}
template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, const A&... args) {
  return launch_on(nullptr, kernel, grid, block, 0, args...);
}

/// A device array. Its destructor gives the memory back if the device still works.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { CUDA_OK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { set(values); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  operator T*() const { return data_; }
  void set(const std::vector<T>& v) {
    CUDA_OK(cudaMemcpy(data_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> get() const {
    std::vector<T> v(count_);
    CUDA_OK(cudaMemcpy(v.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

/// Runs the body for seeds 0 to `seeds`-1 with 1 to `workers` worker threads, then restores both.
void each_schedule(int seeds, int workers, const std::function<void()>& body);
/// Fresh values in [-1, 1), different at every call of the process, the same in every run.
std::vector<float> random_values(size_t count);
bool has(const std::string& text, const std::string& part);
/// After a fault: the device works again.
void reset_device();

/// A bug that a sanitizer must see is a hidden test, run in a process of its own by run_planted.
#define PLANTED(name) TEST_CASE("planted " #name, "[.]")

struct Child {
  int status;          ///< exit status; 128 + signal
  std::string output;  ///< stdout and stderr
};
/// Runs a planted bug with more environment, e.g. "TANTU_VGPU_SEED=3".
Child run_planted(const std::string& name, const std::string& environment = "");

}  // namespace vgpu_test
