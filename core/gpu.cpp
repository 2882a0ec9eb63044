#include <tantu/core/gpu.h>

#include <tantu/core/backend.h>

namespace tantu::gpu {

bool is_available(DeviceType type) {
  return device_count(type) > 0;
}

std::string unavailable_reason(DeviceType type) {
  if (is_available(type)) return "";
  Backend* backend = find_backend(type);
  if (backend) return backend->unavailable_reason();
  return type == DeviceType::CUDA ? "this build has no CUDA (configure with -DTANTU_CUDA=ON)"
                                  : "this build has no virtual GPU (configure with -DTANTU_VGPU=ON)";
}

void synchronize(Device device, Site at) {
  const SiteScope scope(at);
  if (device.is_cpu()) return;
  Backend& backend = backend_of("synchronize", device);
  TANTU_CHECK(device.index() >= 0 && device.index() < backend.device_count(), DeviceError,
              "synchronize: there is no {}:{}; this process has {} of them", name(device.type()), device.index(),
              backend.device_count());
  backend.synchronize(device.index());
}

}  // namespace tantu::gpu
