#pragma once

#include <tantu/core/allocator.h>

#include <string>

namespace tantu {

/// What core needs of a GPU library. `tantu_vgpu` and `tantu_cuda` each register one when they are loaded.
class TANTU_API Backend {
 public:
  virtual ~Backend();
  /// ValueError if the settings that say so (the virtual GPU's environment) are malformed.
  virtual int device_count() = 0;
  /// Why `device_count()` is 0, in a sentence; empty otherwise.
  virtual std::string unavailable_reason() = 0;
  virtual Allocator& allocator(int index) = 0;
  /// Copies `bytes` bytes; at least one side is on a device of this backend. Complete on return when one side is the
  /// host.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device, int64_t bytes) = 0;
  /// Waits until all work of the device is done; throws what failed asynchronously.
  virtual void synchronize(int index) = 0;
};

/// Called by a GPU library while it is loaded. The backend lives as long as the process.
TANTU_API void register_backend(DeviceType type, Backend* backend);
/// The registered backend, or null: this process has no such library.
TANTU_API Backend* find_backend(DeviceType type);
/// The backend of a device; DeviceError naming `op` and how to get it where there is none.
TANTU_API Backend& backend_of(const char* op, Device device);
/// The allocator that serves a device.
TANTU_API Allocator& allocator_of(const char* op, Device device);

}  // namespace tantu
