#include <tantu/core/storage.h>

#include <tantu/core/backend.h>
#include <tantu/core/trace.h>

namespace tantu {

Storage::Storage(const char* op, int64_t bytes, Device device)
    : bytes_(bytes), device_(device), allocator_(&allocator_of(op, device)) {
  data_ = allocate_for(op, *allocator_, bytes);
  if (trace::enabled()) trace::record({trace::Kind::Alloc, op, device, bytes, data_});
}

Storage::Storage(void* data, int64_t bytes, Device device, void (*deleter)(void*), void* context)
    : data_(data), bytes_(bytes), device_(device), deleter_(deleter), context_(context) {}

void Storage::record_stream(void* stream) const {
  if (allocator_ && data_) allocator_->record_stream(data_, stream);
}

Storage::~Storage() {
  if (trace::enabled() && allocator_) trace::record({trace::Kind::Free, "", device_, bytes_, data_});
  if (allocator_) allocator_->deallocate(data_, bytes_);
  else if (deleter_) deleter_(context_);
}

}  // namespace tantu
