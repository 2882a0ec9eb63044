#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = exp(x - max) / Σ exp(x - max) along dimension `axis`, or with `log` the logarithm of that, x - max - log Σ exp(x
/// - max). x and y of one shape, floating, any strides; y may be x. Computes in float32 (float64 for doubles) and
/// rounds once. A line of -inf alone or with a +inf gives NaN. Deterministic. Does not synchronize. On a GPU lines
/// without gaps that fit into a block's registers (16384 elements, 8192 of float64) are read once, others twice.
TANTU_KERNEL(softmax_forward, ConstView x, View y, int axis, bool log);

/// dx from y, the result of softmax_forward, and g, its gradient: y (g - Σ g y), or with `log` g - exp(y) Σ g. All of
/// one shape; dx has y's strides. Computes as softmax_forward does.
TANTU_KERNEL(softmax_backward, ConstView g, ConstView y, View dx, int axis, bool log);

/// y = log Σ exp(x) over the last `reduced` dimensions: x (kept…, reduced…) → y (kept…), floating, any strides, without
/// overflow. -inf of no elements and of -inf alone. Computes as softmax_forward does.
TANTU_KERNEL(logsumexp_last, ConstView x, View y, int reduced);

}  // namespace tantu
