#pragma once

#include <tantu/core/context.h>
#include <tantu/core/device.h>

// The target that files compiled twice are being compiled for; the include path picks one of the two headers of this
// name.
namespace tantu {
using GpuContext = VgpuContext;
inline constexpr DeviceType kGpuDeviceType = DeviceType::VGPU;
}  // namespace tantu
