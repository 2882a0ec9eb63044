#include <tantu/core/backend.h>
#include <tantu/core/current.h>
#include <tantu/core/site.h>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace tantu {

namespace {

Backend* g_backends[3] = {};

std::string available() {
  return fmt::format("{}", fmt::join(devices(), ", "));
}

}  // namespace

Allocator::~Allocator() = default;

void* allocate_for(const char* op, Allocator& allocator, int64_t bytes) {
  try {
    return allocator.allocate(bytes);
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(fmt::format("{}: {}{}", op, error.what(), called_at()));
  }
}

Backend::~Backend() = default;

std::string_view name(DeviceType type) {
  constexpr std::string_view names[] = {"cpu", "cuda", "vgpu"};
  return names[static_cast<int>(type)];
}

Device::Device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  int index = 0;
  bool ok = true;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    ok = error == std::errc{} && end == digits.data() + digits.size() && index >= 0;
  }
  if (word == "cpu") type_ = DeviceType::CPU;
  else if (word == "cuda") type_ = DeviceType::CUDA;
  else if (word == "vgpu") type_ = DeviceType::VGPU;
  else ok = false;
  TANTU_CHECK(ok, DeviceError, "device: \"{}\" is not a device string; this process has: {}", text, available());
  index_ = colon == std::string_view::npos ? gpu::current_device(type_).index() : index;
  TANTU_CHECK(index_ < device_count(type_), DeviceError, "device: there is no \"{}\" here; this process has: {}", text,
              available());
}

std::string Device::to_string() const {
  return is_cpu() ? std::string("cpu") : fmt::format("{}:{}", name(type_), index_);
}

int device_count(DeviceType type) {
  if (type == DeviceType::CPU) return 1;
  Backend* backend = find_backend(type);
  return backend ? backend->device_count() : 0;
}

std::vector<Device> devices() {
  std::vector<Device> all;
  for (DeviceType type : {DeviceType::CPU, DeviceType::CUDA, DeviceType::VGPU})
    for (int i = 0; i < device_count(type); ++i) all.emplace_back(type, i);
  return all;
}

Device default_device() {
  if (const char* text = std::getenv("TANTU_DEVICE"); text && *text) return Device(text);
  return device_count(DeviceType::CUDA) > 0 ? gpu::current_device(DeviceType::CUDA) : kCPU;
}

void register_backend(DeviceType type, Backend* backend) {
  g_backends[static_cast<int>(type)] = backend;
}

Backend* find_backend(DeviceType type) {
  return g_backends[static_cast<int>(type)];
}

Backend& backend_of(const char* op, Device device) {
  Backend* backend = find_backend(device.type());
  TANTU_CHECK(backend, DeviceError, "{}: this build has no {} (configure with -DTANTU_{}=ON)", op,
              device.type() == DeviceType::CUDA ? "CUDA" : "virtual GPU",
              device.type() == DeviceType::CUDA ? "CUDA" : "VGPU");
  return *backend;
}

Backend& checked_backend(const char* op, Device device) {
  Backend& backend = backend_of(op, device);
  TANTU_CHECK(device.index() >= 0 && device.index() < backend.device_count(), DeviceError,
              "{}: there is no {}:{}; this process has {} of them", op, name(device.type()), device.index(),
              backend.device_count());
  return backend;
}

Allocator& allocator_of(const char* op, Device device) {
  if (device.is_cpu()) return cpu_allocator();
  return backend_of(op, device).allocator(device.index());
}

}  // namespace tantu

auto fmt::formatter<tantu::Device>::format(tantu::Device d, fmt::format_context& ctx) const
    -> fmt::format_context::iterator {
  return fmt::formatter<std::string_view>::format(d.to_string(), ctx);
}
