#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <vector>

namespace tantu {

/// counts[i] = how many of x's elements [i·chunk, (i + 1)·chunk), in row-major order, are not zero (NaN is not zero);
/// the chunk is kNonzeroChunk on the CPU, kNonzeroGpuChunk on a GPU. Any dtype and strides. Waits for the device, for
/// the size of what follows depends on the values.
TANTU_KERNEL(nonzero_counts, ConstView x, std::vector<int64_t>& counts);
inline constexpr int64_t kNonzeroChunk = 65536, kNonzeroGpuChunk = 2048;

/// positions = the row-major flat positions of those elements, ascending; contiguous int64, as many as `counts` sum to.
TANTU_KERNEL(nonzero_positions, ConstView x, const std::vector<int64_t>& counts, View positions);

/// y[n, d] = coordinate d, in `sizes`, of the flat position positions[n]; both contiguous int64.
TANTU_KERNEL(unravel, ConstView positions, const Shape& sizes, View y);

}  // namespace tantu
