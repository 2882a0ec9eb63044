#pragma once

#include <tantu/core/allocator.h>

#include <atomic>

namespace tantu::gpu {

/// Memory of one GPU, every block straight from the driver: right, simple and slow. `deallocate` waits for the device,
/// so a block never returns while a stream still works on it.
class DirectAllocator final : public Allocator {
 public:
  explicit DirectAllocator(int index) : index_(index) {}

  void* allocate(int64_t bytes) override;
  void deallocate(void* block, int64_t bytes) noexcept override;
  MemoryStats stats() const override;
  void reset_peak() override { peak_.store(allocated_.load()); }

 private:
  int index_;
  std::atomic<int64_t> allocated_{0}, peak_{0}, calls_{0};
};

}  // namespace tantu::gpu
