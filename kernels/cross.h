#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = a × b in every line of 3 elements along dimension `axis`: y[k] = a[i] b[j] - a[j] b[i] with i, j the next two
/// of 0, 1, 2 in a circle. a, b and y have one shape and one dtype but bool, any strides; y overlaps neither. float16
/// and bfloat16 compute in float32 and round once, integers wrap around. Deterministic, of equal bits on every device.
TANTU_KERNEL(cross, ConstView a, ConstView b, View y, int axis);

}  // namespace tantu
