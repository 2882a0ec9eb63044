#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// The variance of each row of x, or with `root` its standard deviation: Σ (x - mean)² / max(n - correction, 0) over
/// the last `reduced` dimensions. x (kept…, reduced…) → y (kept…), floating, any strides. Mean first, then
/// the squared distances, block by block, joined by Chan's rule (Chan, Golub, LeVeque 1979) in order: on the CPU in
/// float64 whatever the dtype, on a GPU in float32 (float64 for float64) with a mean of two numbers and squares of a
/// scale. So a mean of 1e7 and values of 1e30 do no harm, equal elements give exactly 0, and the threads do not matter.
/// On a GPU, distances beyond the largest float32 give infinity. n = 0, and n = correction with equal elements, give
/// NaN. Does not synchronize.
TANTU_KERNEL(variance_last, ConstView x, View y, int reduced, double correction, bool root);

}  // namespace tantu
