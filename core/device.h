#pragma once

#include <tantu/core/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tantu {

/// `CUDA` is always silicon; `VGPU` is the same GPU code run by fibers on the CPU.
enum class DeviceType : uint8_t { CPU, CUDA, VGPU };

/// "cpu", "cuda" or "vgpu".
std::string_view name(DeviceType type);

/// A place where tensors live: a type and an index among the devices of that type.
class Device {
 public:
  constexpr Device() = default;  // the CPU
  constexpr Device(DeviceType type, int index = 0) : type_(type), index_(index) {}
  /// "cpu", "cuda:1", "vgpu:0"; without a number the current device of the type (core/current.h). DeviceError listing
  /// what exists here for any other text or a device that is absent.
  Device(std::string_view text);
  Device(const char* text) : Device(std::string_view(text)) {}
  Device(const std::string& text) : Device(std::string_view(text)) {}

  constexpr DeviceType type() const { return type_; }
  constexpr int index() const { return index_; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  /// "cpu", "cuda:1".
  std::string to_string() const;

  friend constexpr bool operator==(Device a, Device b) { return a.type_ == b.type_ && a.index_ == b.index_; }

 private:
  DeviceType type_ = DeviceType::CPU;
  int index_ = 0;
};

/// No type has more devices in one process.
inline constexpr int kMostDevices = 64;

inline constexpr Device kCPU{DeviceType::CPU};

/// How many devices of a type exist in this process: 1 for the CPU, 0 where a backend is absent or has no device.
int device_count(DeviceType type);
/// Every device of this process: {"cpu", "vgpu:0", ...}.
std::vector<Device> devices();
/// The current CUDA device (`cuda:0` unless `set_device` chose) if there is one, else the CPU; TANTU_DEVICE overrides.
/// A virtual GPU is never chosen silently.
Device default_device();

}  // namespace tantu

template <>
struct TANTU_API fmt::formatter<tantu::Device> : fmt::formatter<std::string_view> {
  auto format(tantu::Device d, fmt::format_context& ctx) const -> fmt::format_context::iterator;
};
