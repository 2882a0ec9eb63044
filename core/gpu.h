#pragma once

#include <tantu/core/device.h>
#include <tantu/core/site.h>

/// The GPUs of this process. `cuda` functions ask for silicon, `gpu` functions for any GPU, virtual ones included.
namespace tantu {

namespace gpu {

/// Whether this process has a device of a type.
bool is_available(DeviceType type);
/// Why it has none, in a sentence: the build lacks it, there is no driver, no device. Empty if it has.
std::string unavailable_reason(DeviceType type);
/// Waits until all work of a device is done. Throws what failed on the way: an IndexError that a kernel met, a launch's
/// error. Returns at once for the CPU. DeviceError for a device that is not there.
void synchronize(Device device, Site at = Site::here());

}  // namespace gpu

namespace cuda {

inline bool is_available() {
  return gpu::is_available(DeviceType::CUDA);
}
inline std::string unavailable_reason() {
  return gpu::unavailable_reason(DeviceType::CUDA);
}
inline int device_count() {
  return tantu::device_count(DeviceType::CUDA);
}
inline void synchronize(int index = 0, Site at = Site::here()) {
  gpu::synchronize(Device(DeviceType::CUDA, index), at);
}

}  // namespace cuda

}  // namespace tantu
