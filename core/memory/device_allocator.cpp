#include <tantu/core/memory/device_allocator.h>

#include <fmt/format.h>

#include <algorithm>

namespace tantu::memory {

Driver::~Driver() = default;

namespace {

constexpr int kDrainPeriod = 64;  // allocations between two looks at pending frees
constexpr int64_t kHardLimit = Constants{}.hard_limit;

std::string size_text(int64_t bytes) {
  if (bytes < 0) return "unknown";
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "bytes";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return fmt::format("{:.2f} {}", value, unit);
}

}  // namespace

DeviceAllocator::DeviceAllocator(std::string label, Device device, std::unique_ptr<Policy> policy, Driver& driver,
                                 void* (*current_stream)(Device))
    : label_(std::move(label)),
      device_(device),
      policy_(std::move(policy)),
      driver_(driver),
      current_stream_(current_stream) {
  number_of(nullptr);
}

DeviceAllocator::~DeviceAllocator() = default;

StreamNumber DeviceAllocator::number_of(void* stream) {
  const auto found = numbers_.find(stream);
  if (found != numbers_.end()) return found->second;
  StreamNumber number = static_cast<StreamNumber>(streams_.size());
  if (!free_numbers_.empty()) {
    number = free_numbers_.back();
    numbers_.emplace(stream, number);
    free_numbers_.pop_back();
    streams_[static_cast<size_t>(number)] = {stream, 0, false};
    return number;
  }
  streams_.push_back({stream, 0, false});
  numbers_.emplace(stream, number);
  return number;
}

void* DeviceAllocator::finish(Block* block, int64_t bytes) {
  void* address = reinterpret_cast<void*>(block->address);
  try {
    blocks_.emplace(address, block);
  } catch (...) {
    policy_->release(block);
    throw;
  }
  stats_.allocated += block->size;
  stats_.requested += bytes;
  stats_.max_allocated = std::max(stats_.max_allocated, stats_.allocated);
  driver_.mark(address, bytes, true);
  return address;
}

void* DeviceAllocator::allocate(int64_t bytes) {
  if (bytes == 0) return nullptr;
  Lock lock(mutex_);
  TANTU_CHECK(bytes > 0 && bytes < kHardLimit, OutOfMemoryError, "{} out of memory. Tried to allocate {} bytes on {}",
              label_, bytes, device_);
  ++stats_.allocations;
  const Request request{bytes, number_of(current_stream_(device_))};
  if (until_drain_-- <= 0) drain();
  const Answer answer = policy_->place(request);
  if (!answer.block) return allocate_slowly(lock, request, answer.segment);
  ++stats_.hits;
  stats_.cross_stream_reuses += answer.choice == Choice::OtherStream;
  return finish(answer.block, bytes);
}

// In order: pending frees that are over, other streams' blocks that are past, the driver, and once more the driver
// after everything idle has been given back, by this thread or by another that is just doing so.
void* DeviceAllocator::allocate_slowly(Lock& lock, const Request& request, int64_t segment) {
  std::string refusal;
  for (const bool last : {false, true}) {
    drain();
    mark_streams();
    poll_marks();
    const Answer answer = policy_->place(request);
    if (answer.block) {
      stats_.cross_stream_reuses += answer.choice == Choice::OtherStream;
      return finish(answer.block, request.bytes);
    }
    lock.unlock();
    void* memory = driver_.allocate(segment);
    lock.lock();
    if (memory) return place_in(memory, request, segment);
    if (last) break;
    refusal = report(request.bytes, segment);
    lock.unlock();
    driver_.synchronize(SyncReason::OutOfMemory);
    lock.lock();
    drain();
    ++stats_.retries;
    trim(lock);
    trimmed_.wait(lock, [&] { return trims_ == 0; });
  }
  ++stats_.ooms;
  throw OutOfMemoryError(refusal);
}

void* DeviceAllocator::place_in(void* memory, const Request& request, int64_t segment) {
  Block* block = nullptr;
  try {
    block = policy_->granted(request, reinterpret_cast<uint64_t>(memory), segment);
  } catch (...) {
    driver_.free(memory);
    throw;
  }
  ++stats_.driver_allocs;
  stats_.reserved += segment;
  stats_.max_reserved = std::max(stats_.max_reserved, stats_.reserved);
  return finish(block, request.bytes);
}

void DeviceAllocator::deallocate(void* address, int64_t) noexcept {
  if (!address) return;
  const Lock lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  Block* block = found->second;
  blocks_.erase(found);
  stats_.allocated -= block->size;
  stats_.requested -= block->requested;
  driver_.mark(address, block->requested, false);
  const auto used = uses_.find(address);
  if (used == uses_.end()) return policy_->release(block);
  policy_->defer(block);
  stats_.pending += block->size;
  try {
    Use use{block, {}};
    for (void* stream : used->second) use.events.push_back(recorded(stream));
    pending_.push_back(std::move(use));
  } catch (const std::bad_alloc&) {  // no room to remember it: then its uses must be over
    driver_.synchronize(SyncReason::FreeMemory);
    stats_.pending -= block->size;
    policy_->release(block);
  }
  uses_.erase(used);
}

void DeviceAllocator::record_stream(const void* address, void* stream) {
  const Lock lock(mutex_);
  const auto found = blocks_.find(address);
  TANTU_CHECK(found != blocks_.end(), ValueError, "record_stream: {} is no block of {}", address, device_);
  if (number_of(stream) == found->second->stream) return;
  std::vector<void*>& streams = uses_[address];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

// An event at what the stream holds now; null where the driver has none.
void* DeviceAllocator::recorded(void* stream) {
  void* event = nullptr;
  if (!spare_events_.empty()) {
    event = spare_events_.back();
    spare_events_.pop_back();
  } else {
    event = driver_.create_event();
  }
  if (event && driver_.record(event, stream)) return event;
  if (event) spare_events_.push_back(event);
  driver_.synchronize(SyncReason::FreeMemory);  // then the point is past
  return nullptr;
}

// Blocks whose foreign uses are over become idle.
void DeviceAllocator::drain() {
  until_drain_ = kDrainPeriod;
  for (auto use = pending_.begin(); use != pending_.end();) {
    while (!use->events.empty() && (!use->events.back() || driver_.is_done(use->events.back()))) {
      if (use->events.back()) spare_events_.push_back(use->events.back());
      use->events.pop_back();
    }
    if (!use->events.empty()) {
      ++use;
      continue;
    }
    stats_.pending -= use->block->size;
    policy_->release(use->block);
    use = pending_.erase(use);
  }
}

// One event on each stream that has released blocks since its last mark.
void DeviceAllocator::mark_streams() {
  for (size_t s = 0; s < streams_.size(); ++s) {
    Stream& stream = streams_[s];
    const StreamNumber number = static_cast<StreamNumber>(s);
    const uint64_t released = policy_->last_release(number);
    if (stream.ended || released == stream.marked) continue;
    marks_.push_back({recorded(stream.handle), number, released, false});
    stream.marked = released;
  }
}

void DeviceAllocator::poll_marks() {
  for (auto mark = marks_.begin(); mark != marks_.end();) {
    if (mark->event && !driver_.is_done(mark->event)) {
      ++mark;
      continue;
    }
    if (mark->ends) {
      policy_->retire(mark->stream);
      free_numbers_.push_back(mark->stream);
    } else {
      policy_->done(mark->stream, mark->released);
    }
    if (mark->event) spare_events_.push_back(mark->event);
    mark = marks_.erase(mark);
  }
}

void DeviceAllocator::stream_ends(void* stream) {
  const Lock lock(mutex_);
  const auto found = numbers_.find(stream);
  if (!stream || found == numbers_.end()) return;
  const StreamNumber number = found->second;
  numbers_.erase(found);
  bool foreign = false;  // whether live blocks wait for it
  for (auto& [block, streams] : uses_) foreign = std::erase(streams, stream) > 0 || foreign;
  if (foreign) driver_.synchronize(SyncReason::FreeMemory);
  marks_.push_back({recorded(stream), number, policy_->last_release(number), true});
  streams_[static_cast<size_t>(number)].ended = true;
}

void DeviceAllocator::trim(Lock& lock) {
  ++trims_;
  for (Segment* segment : policy_->trim()) {
    void* address = reinterpret_cast<void*>(segment->address);
    lock.unlock();
    driver_.free(address);
    lock.lock();
    ++stats_.driver_frees;
    stats_.reserved -= segment->size;
    policy_->gone(segment);
  }
  if (--trims_ == 0) trimmed_.notify_all();
}

void DeviceAllocator::empty_cache() {
  driver_.synchronize(SyncReason::FreeMemory);
  Lock lock(mutex_);
  drain();
  poll_marks();
  trim(lock);
}

MemoryStats DeviceAllocator::stats() const {
  const Lock lock(mutex_);
  return {stats_.allocated, stats_.max_allocated, stats_.reserved, stats_.allocations};
}

void DeviceAllocator::reset_peak() {
  const Lock lock(mutex_);
  stats_.max_allocated = stats_.allocated;
  stats_.max_reserved = stats_.reserved;
}

DeviceStats DeviceAllocator::device_stats() const {
  const Lock lock(mutex_);
  return stats_;
}

std::string DeviceAllocator::check() const {
  const Lock lock(mutex_);
  const std::string broken = policy_->check();
  if (!broken.empty()) return broken;
  const PolicyTotals t = policy_->totals();
  if (t.live != stats_.allocated) return fmt::format("{} bytes live, counted {}", t.live, stats_.allocated);
  if (t.pending != stats_.pending) return fmt::format("{} bytes pending, counted {}", t.pending, stats_.pending);
  if (t.reserved != stats_.reserved) return fmt::format("{} bytes reserved, counted {}", t.reserved, stats_.reserved);
  if (stats_.requested > stats_.allocated) return "more is requested than allocated";
  return "";
}

std::string DeviceAllocator::report(int64_t bytes, int64_t segment) const {
  int64_t free = -1, total = -1;
  driver_.memory(free, total);
  const PolicyTotals t = policy_->totals();
  std::string text = fmt::format("{} out of memory. Tried to allocate {} on {}.", label_, size_text(bytes), device_);
  text += fmt::format("\n  needs      a new segment of {}; the driver refused", size_text(segment));
  text += fmt::format("\n  device     {}, {} free", size_text(total), size_text(free));
  text += fmt::format("\n  reserved   {} = {} live + {} waiting on streams + {} idle", size_text(t.reserved),
                      size_text(t.live), size_text(t.pending), size_text(t.idle));
  if (t.idle > 0)
    text += fmt::format("\n  idle       in {} blocks, the largest {}", t.idle_blocks, size_text(t.largest_idle));
  return text;
}

}  // namespace tantu::memory
