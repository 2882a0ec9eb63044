#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = x, converted to y's dtype (floats round to nearest even; float → integer truncates). Same sizes, same device,
/// any strides (x's may be negative: `flip`); x and y do not overlap unless they are the same view. An empty tensor is
/// a no-op. Does not synchronize.
TANTU_KERNEL(copy, ConstView x, View y);

}  // namespace tantu
