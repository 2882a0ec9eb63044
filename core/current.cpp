#include <tantu/core/current.h>

#include <tantu/core/backend.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace tantu {

namespace {

// Streams that are not the default one are rare: handles in a flat table for every operation, their owners in a map.
struct Current {
  std::array<int, 3> index{};
  std::optional<Device> chosen;
  std::map<std::pair<DeviceType, int>, Stream> streams;
  gpu::ChosenStreams chosen_streams;  // the same, to be kept by others
};

thread_local constinit void* t_handles[2][kMostDevices] = {};
thread_local constinit Current* t_current = nullptr;
thread_local constinit bool t_over = false;

// A thread's end lets go of its streams; what still runs then, destructors of static objects for example, goes to the
// default streams.
struct End {
  ~End() {
    t_over = true;
    for (auto& handles : t_handles) std::fill(std::begin(handles), std::end(handles), nullptr);
    delete std::exchange(t_current, nullptr);
  }
};

Current& mine() {
  if (t_current) return *t_current;
  t_current = new Current;  // after the end: for ever
  if (!t_over) static thread_local const End end;
  return *t_current;
}

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
  else TANTU_CHECK(device.index() == 0, DeviceError, "set_device: there is no cpu:{}{}", device.index(), called_at());
  restore(device, device.is_cpu() ? mine().chosen : device);
}

Device current_device(DeviceType type) {
  return {type, mine().index[static_cast<size_t>(type)]};
}

Device current_device() {
  if (mine().chosen) return *mine().chosen;
  for (const DeviceType type : {DeviceType::CUDA, DeviceType::VGPU})
    if (device_count(type) > 0) return current_device(type);
  return kCPU;
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
  mine().chosen_streams.reset();
  if (mine().streams.empty()) return;
  std::vector<Stream> all;
  for (const auto& [place, chosen] : mine().streams) all.push_back(chosen);
  mine().chosen_streams = std::make_shared<const std::vector<Stream>>(std::move(all));
}

ChosenStreams chosen_streams() {
  return t_current ? t_current->chosen_streams : nullptr;
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
