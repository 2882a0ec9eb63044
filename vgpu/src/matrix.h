/// Matrix instructions of a whole warp: ldmatrix and mma, computed once by the last lane that arrives.
#pragma once
#include "worker.h"

inline namespace vgpu_abi {
namespace vgpu::rt {
void compute_matrix(Rendezvous& r);
}
}  // namespace vgpu_abi
