#pragma once

#include <tantu/core/memory/driver.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace tantu::memory {

/// A device without memory: addresses are numbers, a stream is a counter of pieces of work that are done only when
/// told. Stream handle n + 1 stands for stream n; the null handle for the default stream, number 0.
class SimDriver final : public Driver {
 public:
  explicit SimDriver(int64_t capacity) : capacity(capacity) {}

  void* allocate(int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    ++calls;
    if (fail_next > 0 && --fail_next == 0) return nullptr;
    if (used + bytes > capacity) return nullptr;
    used += bytes;
    std::vector<uint64_t>& again = free_[bytes];
    const bool fresh = again.empty();
    const uint64_t address = fresh ? next_ : again.back();
    if (!fresh) again.pop_back();
    else next_ += static_cast<uint64_t>(bytes + (1 << 21)) / (1 << 21) * (1 << 21) + (1 << 21);
    sizes_[address] = bytes;
    return reinterpret_cast<void*>(address);
  }
  void free(void* segment) noexcept override {
    const std::lock_guard lock(mutex_);
    ++frees;
    const auto found = sizes_.find(reinterpret_cast<uint64_t>(segment));
    if (found == sizes_.end()) {
      wrong_free = true;
      return;
    }
    all_done();
    used -= found->second;
    free_[found->second].push_back(found->first);
    sizes_.erase(found);
  }
  void synchronize(SyncReason) noexcept override {
    const std::lock_guard lock(mutex_);
    all_done();
  }
  void memory(int64_t& free, int64_t& total) noexcept override {
    free = capacity - used;
    total = capacity;
  }
  void* create_event() noexcept override {
    const std::lock_guard lock(mutex_);
    events_.push_back({nullptr, 0});
    return reinterpret_cast<void*>(events_.size());
  }
  bool record(void* event, void* stream) noexcept override {
    const std::lock_guard lock(mutex_);
    events_[slot(event)] = {stream, work_[stream].issued};
    return true;
  }
  bool is_done(void* event) noexcept override {
    const std::lock_guard lock(mutex_);
    const Event& e = events_[slot(event)];
    return work_[e.stream].done >= e.at;
  }
  void mark(void*, int64_t, bool) noexcept override {}

  /// A piece of work is put into the stream; its number.
  uint64_t issue(void* stream) { return ++work_[stream].issued; }
  /// The stream does one piece.
  void advance(void* stream) {
    Work& w = work_[stream];
    if (w.done < w.issued) ++w.done;
  }
  bool past(void* stream, uint64_t number) { return work_[stream].done >= number; }

  int64_t capacity, used = 0, calls = 0, frees = 0, fail_next = 0;
  bool wrong_free = false;

 private:
  struct Work {
    uint64_t issued = 0, done = 0;
  };
  struct Event {
    void* stream;
    uint64_t at;
  };
  void all_done() {
    for (auto& [stream, work] : work_) work.done = work.issued;
  }
  static size_t slot(void* event) { return reinterpret_cast<size_t>(event) - 1; }

  uint64_t next_ = uint64_t{1} << 40;
  std::mutex mutex_;
  std::map<int64_t, std::vector<uint64_t>> free_;
  std::map<uint64_t, int64_t> sizes_;
  std::map<void*, Work> work_;
  std::vector<Event> events_;
};

}  // namespace tantu::memory
