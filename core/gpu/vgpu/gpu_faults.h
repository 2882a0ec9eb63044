#pragma once

#include <vgpu/control.h>

#include <string>

// What a virtual GPU can do after a fault; the file of the same name in ../cuda says what silicon can.
namespace tantu::gpu {

/// The runtime's own account of what went wrong, once; empty if it gave none.
inline std::string device_report() {
  std::string text = vgpu::last_report();
  vgpu::clear_report();
  return text;
}

/// Makes a device usable after a fault, its memory kept. False where that can't be.
inline bool recover(int device) {
  return vgpu::clear_error(device);
}

}  // namespace tantu::gpu
