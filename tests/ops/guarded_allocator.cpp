#include <tantu/tests/ops/guarded_allocator.h>

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tantu::optest {

namespace {

constexpr int64_t kGuard = 64;
constexpr unsigned char kPattern = 0xa5, kPoison = 0xff;

class GuardedAllocator final : public Allocator {
 public:
  void* allocate(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    const int64_t size = (bytes + 2 * kGuard + 63) / 64 * 64;
    auto* start = static_cast<unsigned char*>(std::aligned_alloc(64, static_cast<size_t>(size)));
    TANTU_CHECK(start, OutOfMemoryError, "guarded allocator: no memory for {} bytes", bytes);
    std::memset(start, kPattern, static_cast<size_t>(size));
    std::memset(start + kGuard, kPoison, static_cast<size_t>(bytes));
    std::lock_guard lock(mutex_);
    live_[start + kGuard] = bytes;
    return start + kGuard;
  }

  void deallocate(void* block, int64_t bytes) noexcept override {
    if (!block) return;
    auto* data = static_cast<unsigned char*>(block);
    std::lock_guard lock(mutex_);
    inspect(data, bytes);
    live_.erase(data);
    std::free(data - kGuard);
  }

  std::string damage() {
    std::lock_guard lock(mutex_);
    for (const auto& [data, bytes] : live_) inspect(data, bytes);
    return std::exchange(damage_, "");
  }

 private:
  void inspect(unsigned char* data, int64_t bytes) {
    if (!damage_.empty()) return;
    for (int64_t i = -kGuard; i < bytes + kGuard; i = i == -1 ? bytes : i + 1)
      if (data[i] != kPattern) {
        damage_ = i < 0 ? fmt::format("byte {} before a block of {} bytes was written", -i, bytes)
                        : fmt::format("byte {} past a block of {} bytes was written", i - bytes, bytes);
        data[i] = kPattern;
        return;
      }
  }

  std::mutex mutex_;
  std::unordered_map<unsigned char*, int64_t> live_;
  std::string damage_;
};

// Leaked: tensors made under it may outlive every scope.
GuardedAllocator& instance() {
  static auto* allocator = new GuardedAllocator;
  return *allocator;
}

}  // namespace

GuardedMemory::GuardedMemory() {
  set_cpu_allocator(&instance());
}
GuardedMemory::~GuardedMemory() {
  set_cpu_allocator(nullptr);
}
std::string GuardedMemory::damage() {
  return instance().damage();
}

}  // namespace tantu::optest
