#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = (Σ |x|^p)^(1/p) over the last `reduced` dimensions of x: x (kept…, reduced…) → y (kept…), floating, any strides.
/// p = 0 counts what is not zero, p = ±infinity is the largest or smallest |x|. NaN stays NaN (p = 0 counts it).
/// Sums are kept over a fixed tree, on the CPU in float64 whatever the dtype, on a GPU in float32 (float64 for float64
/// and for other p), squares with a scale: deterministic, and |x| = 1e30 does not overflow.
/// Of no elements: 0, or infinity for p < 0. Does not synchronize.
TANTU_KERNEL(vector_norm_last, ConstView x, View y, int reduced, double p);

}  // namespace tantu
