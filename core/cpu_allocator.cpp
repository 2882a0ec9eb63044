#include <tantu/core/allocator.h>

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace tantu {

namespace {

// Size classes: multiples of 64 B below 256 B, then 4 steps per power of two up to 64 MiB, whole pages above.
// Example: 1200 B → between 1024 and 2048 the step is 256 B, so it takes the 1280 B class.
constexpr int64_t kAlign = 64, kLinearLimit = 256, kClassLimit = int64_t{64} << 20, kPage = 4096;
constexpr int kClasses = 4 + 4 * 18 + 1;
constexpr int64_t kCacheLimit = int64_t{1} << 30;

int64_t rounded(int64_t bytes) {
  if (bytes <= kLinearLimit) return (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes > kClassLimit) return (bytes + kPage - 1) / kPage * kPage;
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes - 1))) / 4;
  return (bytes + step - 1) / step * step;
}

int class_of(int64_t size) {  // size is a rounded size ≤ kClassLimit
  if (size <= kLinearLimit) return static_cast<int>(size / kAlign) - 1;
  const uint64_t low = std::bit_floor(static_cast<uint64_t>(size - 1));
  const int octave = std::bit_width(low) - 9;  // 256 B → 0
  return 4 + 4 * octave + static_cast<int>((static_cast<uint64_t>(size) - low) / (low / 4)) - 1;
}

class CachingCpuAllocator final : public Allocator {
 public:
  void* allocate(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    TANTU_CHECK(bytes > 0 && bytes <= (int64_t{1} << 60), OutOfMemoryError,
                "CPU out of memory. Tried to allocate {} bytes", bytes);
    const int64_t size = rounded(bytes);
    void* block = take(size);
    if (!block) block = from_system(bytes, size);
    count(size);
    return block;
  }

  void deallocate(void* block, int64_t bytes) noexcept override {
    if (!block) return;
    const int64_t size = rounded(bytes);
    allocated_.fetch_sub(size, std::memory_order_relaxed);
    if (size <= kClassLimit && idle_.load(std::memory_order_relaxed) + size <= kCacheLimit && keep(block, size)) return;
    give_back(block, size);
  }

  void empty_cache() override {
    for (int c = 0; c < kClasses; ++c) {
      std::vector<void*> blocks;
      {
        std::lock_guard lock(lists_[c].mutex);
        blocks.swap(lists_[c].blocks);
        idle_.fetch_sub(lists_[c].size * static_cast<int64_t>(blocks.size()), std::memory_order_relaxed);
      }
      for (void* block : blocks) give_back(block, lists_[c].size);
    }
  }

  MemoryStats stats() const override { return {allocated_.load(), peak_.load(), reserved_.load(), calls_.load()}; }
  void reset_peak() override { peak_.store(allocated_.load()); }

 private:
  struct alignas(64) List {
    std::mutex mutex;
    std::vector<void*> blocks;
    int64_t size = 0;
  };

  void* take(int64_t size) {
    if (size > kClassLimit) return nullptr;
    List& list = lists_[class_of(size)];
    std::lock_guard lock(list.mutex);
    if (list.blocks.empty()) return nullptr;
    void* block = list.blocks.back();
    list.blocks.pop_back();
    idle_.fetch_sub(size, std::memory_order_relaxed);
    return block;
  }

  bool keep(void* block, int64_t size) noexcept {
    List& list = lists_[class_of(size)];
    std::lock_guard lock(list.mutex);
    list.size = size;
    try {
      list.blocks.push_back(block);
    } catch (...) {
      return false;
    }
    idle_.fetch_add(size, std::memory_order_relaxed);
    return true;
  }

  void* from_system(int64_t bytes, int64_t size) {
    void* block = std::aligned_alloc(kAlign, static_cast<size_t>(size));
    if (!block) {
      empty_cache();
      block = std::aligned_alloc(kAlign, static_cast<size_t>(size));
    }
    TANTU_CHECK(block, OutOfMemoryError, "CPU out of memory. Tried to allocate {} bytes ({} bytes are allocated)",
                bytes, allocated_.load());
    reserved_.fetch_add(size, std::memory_order_relaxed);
    return block;
  }

  void give_back(void* block, int64_t size) noexcept {
    std::free(block);
    reserved_.fetch_sub(size, std::memory_order_relaxed);
  }

  void count(int64_t size) {
    calls_.fetch_add(1, std::memory_order_relaxed);
    const int64_t now = allocated_.fetch_add(size, std::memory_order_relaxed) + size;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }

  List lists_[kClasses];
  std::atomic<int64_t> allocated_{0}, peak_{0}, reserved_{0}, idle_{0}, calls_{0};
};

// Leaked on purpose: tensors with static lifetime may be destroyed after everything else.
CachingCpuAllocator& instance() {
  static auto* allocator = new CachingCpuAllocator;
  return *allocator;
}

std::atomic<Allocator*> replacement{nullptr};

}  // namespace

Allocator& cpu_allocator() {
  Allocator* chosen = replacement.load(std::memory_order_acquire);
  return chosen ? *chosen : instance();
}
void set_cpu_allocator(Allocator* allocator) {
  replacement.store(allocator, std::memory_order_release);
}
void no_host_memory(const char* op) {
  throw OutOfMemoryError(
      fmt::format("{}: CPU out of memory. The operation's scratch memory could not be had ({} bytes "
                  "are allocated to tensors)",
                  op, instance().stats().allocated));
}

}  // namespace tantu
