#include <tantu/core/current.h>

#include <tantu/core/backend.h>

#include <array>
#include <map>

namespace tantu {

namespace {

// Streams that are not the default one are rare: handles in a flat table for every operation, their owners in a map.
struct Current {
  std::array<int, 3> index{};
  std::optional<Device> chosen;
  std::map<std::pair<DeviceType, int>, Stream> streams;
};

Current& mine() {
  static thread_local Current current;
  return current;
}

thread_local constinit void* t_handles[2][kMostDevices] = {};

void*& handle_of(Device device) {
  return t_handles[device.type() == DeviceType::CUDA ? 0 : 1][device.index()];
}

std::pair<DeviceType, int> key(Device device) {
  return {device.type(), device.index()};
}

void restore(Device device, const std::optional<Device>& chosen) {
  mine().index[static_cast<size_t>(device.type())] = device.index();
  mine().chosen = chosen;
}

}  // namespace

namespace gpu {

void set_device(Device device, Site at) {
  const SiteScope scope(at);
  if (!device.is_cpu()) checked_backend("set_device", device);
  restore(device, device);
}

Device current_device(DeviceType type) {
  return {type, mine().index[static_cast<size_t>(type)]};
}

Device current_device() {
  return mine().chosen ? *mine().chosen : default_device();
}

void* current_stream_handle(Device device) {
  return device.is_cpu() ? nullptr : handle_of(device);
}

Stream current_stream(Device device) {
  const auto found = mine().streams.find(key(device));
  return found == mine().streams.end() ? Stream::default_stream(device) : found->second;
}

void set_stream(const Stream& stream) {
  const Device device = stream.device();
  if (device.is_cpu()) return;
  if (stream.handle()) mine().streams.insert_or_assign(key(device), stream);
  else mine().streams.erase(key(device));
  handle_of(device) = stream.handle();
}

}  // namespace gpu

DeviceGuard::DeviceGuard(Device device, Site at)
    : before_(gpu::current_device(device.type())), chosen_before_(mine().chosen) {
  gpu::set_device(device, at);
}

DeviceGuard::~DeviceGuard() {
  restore(before_, chosen_before_);
}

StreamGuard::StreamGuard(const Stream& stream, Site at)
    : device_(stream.device(), at), before_(gpu::current_stream(stream.device())) {
  gpu::set_stream(stream);
}

StreamGuard::~StreamGuard() {
  gpu::set_stream(before_);
}

}  // namespace tantu
