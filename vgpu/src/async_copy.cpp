#include "fault.h"
#include "matrix.h"

#include <vgpu/device.h>

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {
void abandon_copies(Worker&) {}
void compute_matrix(Rendezvous&) {}
}  // namespace rt
}  // namespace vgpu
long long clock64() {
  return static_cast<long long>(__builtin_ia32_rdtsc());
}
}  // namespace vgpu_abi
