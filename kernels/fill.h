#pragma once

#include <tantu/core/context.h>
#include <tantu/core/scalar.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = value, converted to y's dtype. Any strides; an empty tensor is a no-op. Does not synchronize.
TANTU_KERNEL(fill, View y, Scalar value);

}  // namespace tantu
