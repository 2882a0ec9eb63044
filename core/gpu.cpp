#include <tantu/core/gpu.h>

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
  if (!device.is_cpu()) checked_backend("synchronize", device).synchronize(device.index());
}

DeviceProperties get_device_properties(Device device, Site at) {
  const SiteScope scope(at);
  TANTU_CHECK(!device.is_cpu(), DeviceError, "get_device_properties: cpu is not a GPU{}", called_at());
  return checked_backend("get_device_properties", device).properties(device.index());
}

int64_t memory_allocated(Device device) {
  return allocator_of("memory_allocated", device).stats().allocated;
}

int64_t max_memory_allocated(Device device) {
  return allocator_of("max_memory_allocated", device).stats().max_allocated;
}

int64_t memory_reserved(Device device) {
  return allocator_of("memory_reserved", device).stats().reserved;
}

void reset_peak_memory_stats(Device device) {
  allocator_of("reset_peak_memory_stats", device).reset_peak();
}

void empty_cache(Device device) {
  allocator_of("empty_cache", device).empty_cache();
}

MemoryInfo mem_get_info(Device device, Site at) {
  const SiteScope scope(at);
  TANTU_CHECK(!device.is_cpu(), DeviceError, "mem_get_info: cpu is not a GPU{}", called_at());
  MemoryInfo info;
  checked_backend("mem_get_info", device).memory(device.index(), info.free, info.total);
  return info;
}

}  // namespace tantu::gpu
