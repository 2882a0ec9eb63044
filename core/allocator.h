#pragma once

#include <tantu/core/device.h>

#include <cstdint>
#include <new>
#include <stdexcept>

namespace tantu {

/// Bytes that live tensors hold, now and at most, and bytes the allocator keeps from the system for them.
struct MemoryStats {
  int64_t allocated = 0;
  int64_t max_allocated = 0;
  int64_t reserved = 0;
  int64_t allocations = 0;  ///< calls answered since the start
};

/// Gives and takes back blocks of one device's memory. Any thread may call it.
class TANTU_API Allocator {
 public:
  virtual ~Allocator();
  /// At least `bytes` bytes, 64-byte aligned; null for 0 bytes. OutOfMemoryError when the device has no more.
  virtual void* allocate(int64_t bytes) = 0;
  /// Takes back a block of `allocate(bytes)`. Never throws.
  virtual void deallocate(void* block, int64_t bytes) noexcept = 0;

  /// The block is used by work that `stream` (a handle of its device) holds now or gets before the block is freed:
  /// freed, it waits for that work.
  virtual void record_stream(const void*, void*) {}
  virtual MemoryStats stats() const { return {}; }
  /// Starts `max_allocated` anew at what is allocated now.
  virtual void reset_peak() {}
  /// Gives every idle block back to the system.
  virtual void empty_cache() {}
};

/// `allocator.allocate(bytes)`; the text of its OutOfMemoryError is led by `op` and ends with the caller's line.
TANTU_API void* allocate_for(const char* op, Allocator& allocator, int64_t bytes);

/// The allocator of host memory. Unless replaced it caches: freed blocks wait in lists by size class and serve the next
/// request of their class.
Allocator& cpu_allocator();
/// Replaces it for what is allocated from now on (null: the caching one again). It must outlive its blocks.
void set_cpu_allocator(Allocator* allocator);

/// Throws OutOfMemoryError for an operation whose containers found no memory.
[[noreturn]] TANTU_API void no_host_memory(const char* op);

/// Runs `f()`. Memory that its containers do not find (std::bad_alloc, or std::length_error where they would be longer
/// than any memory) is an OutOfMemoryError that names `op`. `on_device` runs every kernel so; an operation that fills a
/// container outside of a kernel asks for it itself.
template <class F>
decltype(auto) in_host_memory(const char* op, F&& f) {
  try {
    return static_cast<F&&>(f)();
  } catch (const std::bad_alloc&) {
    no_host_memory(op);
  } catch (const std::length_error&) {
    no_host_memory(op);
  }
}

}  // namespace tantu
