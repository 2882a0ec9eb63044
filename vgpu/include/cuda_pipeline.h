/// The virtual GPU's stand-in for CUDA's header of this name.
#pragma once
#include <vgpu/async_copy.h>

inline namespace vgpu_abi {

inline void __pipeline_memcpy_async(void* dst, const void* src, size_t bytes, size_t zero_fill = 0, VGPU_HERE) {
  vgpu::cp_async(dst, src, static_cast<int>(bytes), static_cast<int>(bytes - zero_fill), file, line);
}
VGPU_INLINE void __pipeline_commit() {
  vgpu::cp_async_commit();
}
VGPU_INLINE void __pipeline_wait_prior(size_t pending) {
  vgpu::cp_async_wait(static_cast<int>(pending));
}

}  // namespace vgpu_abi
