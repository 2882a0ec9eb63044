#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <gpu_target.h>

namespace tantu {

/// kernels/matmul.h's product of floating types by our own kernels: what `set_matmul_backend("tantu")` chooses. float32
/// and float64 sum in themselves, in ascending k where y has more than one row and column; half types sum in float32.
/// Bits repeat: the partition depends on sizes and strides only. Nothing is packed; y is not empty.
void own_matmul(GpuContext& ctx, const ConstView& a, const ConstView& b, const View& y, double alpha, double beta);

}  // namespace tantu
