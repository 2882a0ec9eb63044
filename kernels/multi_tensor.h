#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <vector>

/// Work on many tensors in as few launches as their number allows: what gradient clipping and loss scaling need. The
/// tensors are floating and contiguous, of any sizes (none, and 0 elements, are legal), dtypes may differ.
/// Deterministic; none synchronizes.
namespace tantu {

/// y[i] = the norm of order p of tensor i (vector_norm.h has the rule; sums in float64). y (number of tensors),
/// contiguous, floating.
TANTU_KERNEL(norm_each, const std::vector<ConstView>& tensors, double p, View y);

/// Every tensor *= factor, a floating tensor of one element on the same device, in float32 (float64 for itself),
/// rounded once.
TANTU_KERNEL(scale_each, const std::vector<View>& tensors, ConstView factor);

}  // namespace tantu
