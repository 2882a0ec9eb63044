#pragma once

#include <tantu/core/allocator.h>
#include <tantu/core/ref.h>

#include <cstdint>

namespace tantu {

/// A block of one device's memory, shared by the tensors that view it, and the count of the writes made to it.
class Storage : public RefCounted {
 public:
  /// A fresh block; its contents are undefined. OutOfMemoryError, the allocator's text led by `op`.
  Storage(const char* op, int64_t bytes, Device device);
  /// Memory that somebody else owns; `deleter(context)` is called when the last tensor lets go.
  Storage(void* data, int64_t bytes, Device device, void (*deleter)(void*), void* context);
  ~Storage();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  /// `allocator.record_stream` of the block; nothing where the memory is somebody else's.
  void record_stream(void* stream) const;

  /// Grows by one with every in-place write through any view.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void* data_;
  int64_t bytes_;
  Device device_;
  std::atomic<uint32_t> version_{0};
  Allocator* allocator_ = nullptr;
  void (*deleter_)(void*) = nullptr;
  void* context_ = nullptr;
};

inline void destroy(Storage* storage) {
  delete storage;
}

}  // namespace tantu
