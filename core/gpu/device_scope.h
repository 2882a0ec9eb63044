#pragma once

#include <tantu/core/gpu/check.h>

namespace tantu::gpu {
namespace {

/// Makes a device current for the runtime while it is alive; does nothing if it is already.
class DeviceScope {
 public:
  explicit DeviceScope(int index) {
    TANTU_CUDA_TRY(cudaGetDevice(&saved_));
    if (saved_ != index) TANTU_CUDA_TRY(cudaSetDevice(index));
    else saved_ = -1;
  }
  ~DeviceScope() {
    if (saved_ >= 0) cudaSetDevice(saved_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int saved_ = -1;
};

}  // namespace
}  // namespace tantu::gpu
