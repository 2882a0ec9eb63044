#pragma once

#include <tantu/core/sync.h>

#include <cstdint>

namespace tantu::memory {

/// The few calls that the allocator makes of a device's driver: CUDA, the virtual GPU, or a simulation in tests.
/// Streams and events are the driver's handles. Any thread may call it.
class TANTU_API Driver {
 public:
  virtual ~Driver();
  /// A segment at a multiple of 256, or null if the device has no more. Throws for any other failure.
  virtual void* allocate(int64_t bytes) = 0;
  /// May wait for the device. Errors belong to earlier work and are told by the next call that waits.
  virtual void free(void* segment) noexcept = 0;
  /// Waits until the device has done all that was asked of it. Errors as for `free`.
  virtual void synchronize(SyncReason reason) noexcept = 0;
  /// Bytes that the device can still give, of all; both -1 where they are unknown.
  virtual void memory(int64_t& free, int64_t& total) noexcept = 0;

  /// Null if none can be had.
  virtual void* create_event() noexcept = 0;
  /// False if that can't be.
  virtual bool record(void* event, void* stream) noexcept = 0;
  /// Whether the work before the event is done; true where that can't be told any more, since the device has failed.
  virtual bool is_done(void* event) noexcept = 0;
  /// Tells a memory checker which bytes somebody owns.
  virtual void mark(void* block, int64_t bytes, bool live) noexcept = 0;
};

}  // namespace tantu::memory
