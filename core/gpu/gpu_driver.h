#pragma once

#include <tantu/core/memory/driver.h>

namespace tantu::gpu {

/// The driver's calls for the memory of one device.
class GpuDriver final : public memory::Driver {
 public:
  explicit GpuDriver(int index) : index_(index) {}

  void* allocate(int64_t bytes) override;
  void free(void* segment) noexcept override;
  void synchronize(SyncReason reason) noexcept override;
  void memory(int64_t& free, int64_t& total) noexcept override;
  void* create_event() noexcept override;
  bool record(void* event, void* stream) noexcept override;
  bool is_done(void* event) noexcept override;
  void mark(void* block, int64_t bytes, bool live) noexcept override;

 private:
  int index_;
};

}  // namespace tantu::gpu
