#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = sum of x over the last `reduced` dimensions of x: x (kept…, reduced…) → y (kept…), contiguous. Any strides of x.
/// Sums float16, bfloat16 and float32 in float32 over a fixed tree (deterministic), float64 in float64, integers and
/// bool in int64; y's dtype may be wider than x's. An empty sum is 0. Does not synchronize. On
/// a GPU long rows go through the workspace in pieces; the tree is a function of sizes, strides and dtype alone.
TANTU_KERNEL(sum_last, ConstView x, View y, int reduced);

}  // namespace tantu
