#pragma once

#include <tantu/core/tensor.h>

/// Reductions over all dimensions (`dims` empty) or some; negative ones count from the end. With `keepdim` the reduced
/// dimensions stay with size 1.
namespace tantu {

/// The sum; integers and bool sum in int64. 0 for nothing.
Tensor sum(const Tensor& x, const Axes& dims = {}, bool keepdim = false, Site at = Site::here());
/// x summed down to `sizes`, the reverse of broadcasting to x's shape.
Tensor sum_to_size(const Tensor& x, const Shape& sizes, Site at = Site::here());

}  // namespace tantu
