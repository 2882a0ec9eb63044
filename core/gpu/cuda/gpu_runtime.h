#pragma once

#include <cuda_runtime.h>

#include <string>

// What silicon's runtime does otherwise than the virtual GPU's: it tells an error's number only, and a context that had
// a fault is lost with all its memory.
namespace tantu::gpu {

inline std::string device_report() {
  return "";
}
inline bool recover(int) {
  return false;
}
inline cudaError_t peek_event(cudaEvent_t event) {
  return cudaEventQuery(event);
}
inline void mark_block(const void*, size_t, bool) {}
inline bool is_checked() {
  return false;
}

}  // namespace tantu::gpu
