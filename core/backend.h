#pragma once

#include <tantu/core/allocator.h>
#include <tantu/core/sync.h>

#include <string>

namespace tantu {

/// What a GPU is. Names as PyTorch's `get_device_properties`.
struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int64_t total_memory = 0;  ///< bytes
  int multi_processor_count = 0;
  int max_threads_per_multi_processor = 0;
  int64_t shared_memory_per_block_optin = 0;  ///< bytes
  int64_t l2_cache_size = 0;                  ///< bytes
  int pci_bus_id = 0;
};

/// What core needs of a GPU library. `tantu_vgpu` and `tantu_cuda` each register one when they are loaded. Streams and
/// events are the driver's handles; a null stream is the device's default stream. What the host waits for goes through
/// SyncScope.
class TANTU_API Backend {
 public:
  virtual ~Backend();
  /// ValueError if the settings that say so (the virtual GPU's environment) are malformed.
  virtual int device_count() = 0;
  /// Why `device_count()` is 0, in a sentence; empty otherwise.
  virtual std::string unavailable_reason() = 0;
  virtual DeviceProperties properties(int index) = 0;
  /// Bytes that the driver can still give, of all.
  virtual void memory(int index, int64_t& free, int64_t& total) = 0;
  virtual Allocator& allocator(int index) = 0;

  /// Copies `bytes` bytes on the current stream; at least one side is on a device of this backend. With the host on one
  /// side it is done on return; else it is only put into the stream (of the source's device, and that of the target's
  /// waits for it).
  virtual void copy(void* to, Device to_device, const void* from, Device from_device, int64_t bytes) = 0;
  /// The host waits until all work of the device is done; throws what failed asynchronously. So do the next two.
  virtual void synchronize(int index) = 0;
  virtual void synchronize_stream(int index, void* stream) = 0;
  virtual void synchronize_event(int index, void* event) = 0;

  virtual void* create_stream(int index, int priority) = 0;
  virtual void destroy_stream(int index, void* stream) noexcept = 0;
  virtual bool stream_done(int index, void* stream) = 0;
  virtual void stream_waits(int index, void* stream, void* event) = 0;

  virtual void* create_event(int index, bool timing) = 0;
  virtual void destroy_event(int index, void* event) noexcept = 0;
  virtual void record_event(int index, void* event, void* stream) = 0;
  virtual bool event_done(int index, void* event) = 0;
  virtual double milliseconds_between(int index, void* start, void* end) = 0;
};

/// Called by a GPU library while it is loaded. The backend lives as long as the process.
TANTU_API void register_backend(DeviceType type, Backend* backend);
/// The registered backend, or null: this process has no such library.
TANTU_API Backend* find_backend(DeviceType type);
/// The backend of a device; DeviceError naming `op` and how to get it where there is none.
TANTU_API Backend& backend_of(const char* op, Device device);
/// The same, and DeviceError if the backend has no device of this index.
TANTU_API Backend& checked_backend(const char* op, Device device);
/// The allocator that serves a device.
TANTU_API Allocator& allocator_of(const char* op, Device device);

}  // namespace tantu
