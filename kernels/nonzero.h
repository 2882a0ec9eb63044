#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <vector>

namespace tantu {

/// positions = the row-major flat positions of x's elements that are not zero (NaN is not zero), ascending. Any dtype and
/// strides.
TANTU_CPU_KERNEL(nonzero_flat, ConstView x, std::vector<int64_t>& positions);

/// y[n, d] = coordinate d, in `sizes`, of the flat position positions[n]; y (n, rank) int64, any strides.
TANTU_CPU_KERNEL(unravel, const std::vector<int64_t>& positions, const Shape& sizes, View y);

}  // namespace tantu
