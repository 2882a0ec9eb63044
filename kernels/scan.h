#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y[k] = x[0] + … + x[k] along dimension `axis`; with `reverse` the sum from k to the end. x and y of one shape, any
/// strides; y may be x. Floating types add in float64 and round each result once, integers and bool add in int64,
/// wrapping around. Deterministic. Does not synchronize.
TANTU_KERNEL(cumsum, ConstView x, View y, int axis, bool reverse);

/// dx = g times the product of all the other elements of its row: the gradient of a product, right with any number of
/// zeros. x and dx (kept…, reduced…), g (kept…); floating, any strides. Computes in float32 (float64 for doubles). On a
/// GPU the workspace holds as many numbers as x.
TANTU_KERNEL(prod_backward_last, ConstView g, ConstView x, View dx, int reduced);

}  // namespace tantu
