#pragma once

#include <cuda_runtime.h>
#include <vgpu/control.h>

#include <string>

// What a virtual GPU's runtime does otherwise than silicon's: the file of the same name in ../cuda has that.
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

/// The event's state, without running anything.
inline cudaError_t peek_event(cudaEvent_t event) {
  return vgpu::peek_event(event);
}

/// Tells a memory checker which bytes of a segment somebody owns.
inline void mark_block(const void* block, size_t bytes, bool live) {
  vgpu::mark_block(block, bytes, live);
}

/// Whether blocks must come straight from the driver for the memory checker to see their ends.
inline bool is_checked() {
  return vgpu::under_asan();
}

}  // namespace tantu::gpu
