#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// What `reduce_last` makes of a row.
enum class Reduce { Prod, Max, Min, Any, All };

/// y = the reduction of x over its last `reduced` dimensions: x (kept…, reduced…) → y (kept…), any strides and dtypes
/// of both. Products are kept in float32 (float64 for doubles, int64 wrapping around for integers) over a fixed tree.
/// Max and Min keep a NaN wherever it stands; Any and All count it as true. Deterministic: neither threads nor grids
/// matter. Of no elements: Prod 1, Any 0, All 1, Max and Min the type's lowest and highest. Does not synchronize.
TANTU_KERNEL(reduce_last, ConstView x, View y, int reduced, Reduce what);

}  // namespace tantu
