#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <vector>

namespace tantu {

/// counts[i] = how many of x's elements [i·kNonzeroChunk, (i + 1)·kNonzeroChunk), in row-major order, are not zero (NaN
/// is not zero). Any dtype and strides.
TANTU_CPU_KERNEL(nonzero_counts, ConstView x, std::vector<int64_t>& counts);
inline constexpr int64_t kNonzeroChunk = 65536;

/// positions = the row-major flat positions of those elements, ascending; contiguous int64, as many as `counts` sum to.
TANTU_CPU_KERNEL(nonzero_positions, ConstView x, const std::vector<int64_t>& counts, View positions);

/// y[n, d] = coordinate d, in `sizes`, of the flat position positions[n]; both contiguous int64.
TANTU_CPU_KERNEL(unravel, ConstView positions, const Shape& sizes, View y);

}  // namespace tantu
