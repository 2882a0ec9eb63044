#pragma once

#include <tantu/core/backend.h>

#include <gpu_target.h>

namespace tantu {
namespace {

/// Device memory for the length of a launcher: kernels of the context's stream may use it, the next ones there may too.
class Workspace {
 public:
  Workspace(const GpuContext& ctx, const char* op, int64_t bytes)
      : allocator_(allocator_of(op, Device(kGpuDeviceType, ctx.device))),
        bytes_(bytes),
        data_(allocate_for(op, allocator_, bytes)) {}
  ~Workspace() { allocator_.deallocate(data_, bytes_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  template <class T = void>
  T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  Allocator& allocator_;
  int64_t bytes_;
  void* data_;
};

}  // namespace
}  // namespace tantu
