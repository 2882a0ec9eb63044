#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// The largest (or smallest) element of each row of x (kept…, reduced…) and where it is, counted in row-major order of
/// the reduced dimensions. values (kept…) of x's dtype, its data null if not wanted; indices (kept…) int64, with the
/// strides of values. Any strides. A NaN wins over every number, the first NaN over the next; equal elements (+0 and -0
/// too): the first one. x must have reduced elements. Deterministic. Does not synchronize.
TANTU_KERNEL(arg_reduce_last, ConstView x, View values, View indices, int reduced, bool largest);

}  // namespace tantu
