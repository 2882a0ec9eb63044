#pragma once

#include <tantu/core/allocator.h>
#include <tantu/core/memory/driver.h>
#include <tantu/core/memory/policy.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tantu::memory {

/// Counts since the start; bytes where not said otherwise.
struct DeviceStats {
  int64_t allocated = 0, max_allocated = 0;  ///< of live blocks
  int64_t requested = 0;                     ///< of live blocks, as asked
  int64_t reserved = 0, max_reserved = 0;    ///< from the driver
  int64_t pending = 0;                       ///< freed, still used by another stream
  int64_t allocations = 0, hits = 0;         ///< number of calls; of those that needed no driver
  int64_t driver_allocs = 0, driver_frees = 0, retries = 0, ooms = 0, cross_stream_reuses = 0;  ///< numbers
};

/// The memory of one device, in layers: a policy decides where blocks go, a driver gives segments, and this class joins
/// them: it knows streams, pending frees, counts and what to do when memory runs out. A block belongs to the stream
/// that was current when it was asked for (`current_stream`): work put there after the free may use it again at once.
/// Other streams that use it are told with `record_stream`. Any thread may call; while the driver gives or takes
/// a segment others go on.
class TANTU_API DeviceAllocator final : public Allocator {
 public:
  /// `label` leads the text of OutOfMemoryError: "CUDA" or "vgpu". `current_stream(context)` is the calling thread's
  /// stream.
  DeviceAllocator(std::string label, Device device, std::unique_ptr<Policy> policy, Driver& driver,
                  void* (*current_stream)(Device));
  ~DeviceAllocator() override;

  void* allocate(int64_t bytes) override;
  void deallocate(void* block, int64_t bytes) noexcept override;
  MemoryStats stats() const override;
  void reset_peak() override;
  /// Gives every segment back that no tensor uses; waits for the device first.
  void empty_cache() override;

  /// The block is used by work that `stream` holds now or gets before the block is freed: freed, it waits for that
  /// work.
  void record_stream(const void* block, void* stream) override;
  /// A stream ends: what belongs to it is free for others once its work is done.
  void stream_ends(void* stream);
  DeviceStats device_stats() const;
  /// What is broken in its own state; empty if nothing is. For tests.
  std::string check() const;

 private:
  struct Stream {
    void* handle = nullptr;
    uint64_t marked = 0;  // the last release that has a mark
    bool ended = false;
  };
  struct Use {
    Block* block;
    std::vector<void*> events;
  };
  struct Mark {
    void* event;
    StreamNumber stream;
    uint64_t released;
    bool ends = false;  // of the stream's end
  };
  using Lock = std::unique_lock<std::mutex>;

  StreamNumber number_of(void* stream);
  void* finish(Block* block, int64_t bytes);
  void* allocate_slowly(Lock& lock, const Request& request, int64_t segment);
  void* recorded(void* stream);
  void drain();
  void mark_streams();
  void poll_marks();
  void* place_in(void* memory, const Request& request, int64_t segment);
  void trim(Lock& lock);
  std::string report(int64_t bytes, int64_t segment) const;

  const std::string label_;
  const Device device_;
  const std::unique_ptr<Policy> policy_;
  Driver& driver_;
  void* (*const current_stream_)(Device);

  mutable std::mutex mutex_;
  std::unordered_map<const void*, Block*> blocks_;            // live ones, by address
  std::unordered_map<const void*, std::vector<void*>> uses_;  // streams recorded for live blocks
  std::unordered_map<void*, StreamNumber> numbers_;
  std::vector<Stream> streams_;  // by number
  std::vector<StreamNumber> free_numbers_;
  int trims_ = 0;  // under way, without the lock
  std::condition_variable trimmed_;
  std::vector<void*> spare_events_;
  std::deque<Use> pending_;
  std::deque<Mark> marks_;
  DeviceStats stats_;
  int until_drain_ = 0;
};

}  // namespace tantu::memory
