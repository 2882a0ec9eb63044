#pragma once

#include <tantu/core/allocator.h>
#include <tantu/core/backend.h>
#include <tantu/core/current.h>

/// The GPUs of this process. `gpu` functions take any device, virtual ones included (the CPU too, where that means
/// something); `cuda` functions are the same for silicon, with PyTorch's signatures.
namespace tantu {

namespace gpu {

/// Whether this process has a device of a type.
bool is_available(DeviceType type);
/// Why it has none, in a sentence: the build lacks it, there is no driver, no device. Empty if it has.
std::string unavailable_reason(DeviceType type);
/// Waits until all work of a device is done. Throws what failed on the way: an IndexError that a kernel met, an
/// AcceleratorError. Returns at once for the CPU. DeviceError for a device that is not there.
void synchronize(Device device, Site at = Site::here());

/// DeviceError for the CPU, and for a device that is not there.
DeviceProperties get_device_properties(Device device, Site at = Site::here());
/// Bytes that tensors hold of a device, now and at most since the start or the last reset.
int64_t memory_allocated(Device device);
int64_t max_memory_allocated(Device device);
/// Bytes that the allocator has from the driver, in use or not.
int64_t memory_reserved(Device device);
void reset_peak_memory_stats(Device device);
/// Gives memory that no tensor holds back to the driver.
void empty_cache(Device device);
/// Bytes that the driver can still give, of all the device has.
struct MemoryInfo {
  int64_t free = 0, total = 0;
};
MemoryInfo mem_get_info(Device device, Site at = Site::here());

}  // namespace gpu

namespace cuda {

/// The device meant by an index: the current one where it is negative.
inline Device device(int index = -1) {
  return index < 0 ? gpu::current_device(DeviceType::CUDA) : Device(DeviceType::CUDA, index);
}

inline bool is_available() {
  return gpu::is_available(DeviceType::CUDA);
}
inline std::string unavailable_reason() {
  return gpu::unavailable_reason(DeviceType::CUDA);
}
inline int device_count() {
  return tantu::device_count(DeviceType::CUDA);
}
inline int current_device() {
  return gpu::current_device(DeviceType::CUDA).index();
}
inline void set_device(int index, Site at = Site::here()) {
  gpu::set_device(Device(DeviceType::CUDA, index), at);
}
inline void synchronize(int index = -1, Site at = Site::here()) {
  gpu::synchronize(device(index), at);
}
inline Stream current_stream(int index = -1) {
  return gpu::current_stream(device(index));
}
inline Stream default_stream(int index = -1) {
  return Stream::default_stream(device(index));
}
inline DeviceProperties get_device_properties(int index = -1, Site at = Site::here()) {
  return gpu::get_device_properties(device(index), at);
}
inline std::string get_device_name(int index = -1, Site at = Site::here()) {
  return get_device_properties(index, at).name;
}
inline int64_t memory_allocated(int index = -1) {
  return gpu::memory_allocated(device(index));
}
inline int64_t max_memory_allocated(int index = -1) {
  return gpu::max_memory_allocated(device(index));
}
inline int64_t memory_reserved(int index = -1) {
  return gpu::memory_reserved(device(index));
}
inline void reset_peak_memory_stats(int index = -1) {
  gpu::reset_peak_memory_stats(device(index));
}
inline void empty_cache(int index = -1) {
  gpu::empty_cache(device(index));
}

}  // namespace cuda

}  // namespace tantu
