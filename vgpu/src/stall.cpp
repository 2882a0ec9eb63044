#include "pool.h"
#include "runtime.h"

inline namespace vgpu_abi {
namespace vgpu::rt {
void stalled(Lock&, const std::function<void()>&, const bool&) {}
}  // namespace vgpu::rt
}  // namespace vgpu_abi
