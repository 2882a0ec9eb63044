#include <tantu/core/stream.h>

#include <tantu/core/backend.h>
#include <tantu/core/current.h>

namespace tantu {

struct StreamImpl {
  Device device;
  void* handle = nullptr;
  Backend* backend = nullptr;  // null for the CPU

  ~StreamImpl() {
    if (handle) backend->destroy_stream(device.index(), handle);
  }
};

struct EventImpl {
  Device device;
  void* handle = nullptr;      // made when it is first recorded
  Backend* backend = nullptr;  // null until then, and for the CPU
  bool timing = false, recorded = false;

  ~EventImpl() {
    if (handle) backend->destroy_event(device.index(), handle);
  }
};

namespace {

std::shared_ptr<StreamImpl> new_stream(Device device) {
  auto impl = std::make_shared<StreamImpl>();
  impl->device = device;
  if (!device.is_cpu()) impl->backend = &checked_backend("Stream", device);
  return impl;
}

}  // namespace

Stream::Stream(std::shared_ptr<StreamImpl> impl) : impl_(std::move(impl)) {}

Stream::Stream(Device device, int priority, Site at) {
  const SiteScope scope(at);
  impl_ = new_stream(device);
  if (impl_->backend) impl_->handle = impl_->backend->create_stream(device.index(), priority);
}

Stream Stream::default_stream(Device device) {
  return Stream(new_stream(device));
}

Device Stream::device() const {
  return impl_->device;
}

void* Stream::handle() const {
  return impl_->handle;
}

bool Stream::query() const {
  return !impl_->backend || impl_->backend->stream_done(device().index(), handle());
}

void Stream::synchronize(Site at) const {
  const SiteScope scope(at);
  if (impl_->backend) impl_->backend->synchronize_stream(device().index(), handle());
}

void Stream::wait_event(const Event& event, Site at) const {
  const SiteScope scope(at);
  const EventImpl& e = *event.impl_;
  if (!e.backend) return;  // never recorded, or on the CPU: it is past
  TANTU_CHECK(impl_->backend == e.backend, DeviceError, "wait_event: a stream of {} cannot wait for an event of {}",
              device(), e.device);
  impl_->backend->stream_waits(device().index(), handle(), e.handle);
}

void Stream::wait_stream(const Stream& other, Site at) const {
  const SiteScope scope(at);
  wait_event(other.record_event());
}

Event Stream::record_event(Site at) const {
  const SiteScope scope(at);
  Event event;
  event.record(*this);
  return event;
}

Event::Event(bool enable_timing) : impl_(std::make_shared<EventImpl>()) {
  impl_->timing = enable_timing;
}

void Event::record(const Stream& stream, Site at) {
  const SiteScope scope(at);
  const Device device = stream.device();
  TANTU_CHECK(!impl_->recorded || impl_->device == device, DeviceError,
              "record: this event belongs to {} and cannot be recorded on a stream of {}", impl_->device, device);
  if (!impl_->recorded && !device.is_cpu()) {
    Backend& backend = checked_backend("record", device);
    impl_->handle = backend.create_event(device.index(), impl_->timing);
    impl_->backend = &backend;
  }
  impl_->device = device;
  if (impl_->backend) impl_->backend->record_event(device.index(), impl_->handle, stream.handle());
  impl_->recorded = true;
}

void Event::record(Site at) {
  record(gpu::current_stream(gpu::current_device()), at);
}

bool Event::query() const {
  return !impl_->backend || impl_->backend->event_done(impl_->device.index(), impl_->handle);
}

void Event::synchronize(Site at) const {
  const SiteScope scope(at);
  if (impl_->backend) impl_->backend->synchronize_event(impl_->device.index(), impl_->handle);
}

double Event::elapsed_time(const Event& end, Site at) const {
  const SiteScope scope(at);
  TANTU_CHECK(impl_->timing && end.impl_->timing, ValueError,
              "elapsed_time: Both events must be created with argument 'enable_timing=True'.");
  TANTU_CHECK(recorded() && end.recorded(), ValueError,
              "elapsed_time: Both events must be recorded before calculating elapsed time.");
  TANTU_CHECK(impl_->device == end.impl_->device, ValueError,
              "elapsed_time: one event was recorded on {}, the other on {}", impl_->device, end.impl_->device);
  if (!impl_->backend) return 0;
  TANTU_CHECK(query() && end.query(), ValueError,
              "elapsed_time: Both events must be completed before calculating elapsed time.");
  return impl_->backend->milliseconds_between(impl_->device.index(), impl_->handle, end.impl_->handle);
}

bool Event::recorded() const {
  return impl_->recorded;
}

Device Event::device() const {
  return impl_->device;
}

}  // namespace tantu
