#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <cstdint>

namespace tantu {

/// y = x * (1 / keep where dropout keeps the element, else 0), x and y floating, of one shape and dtype, any strides; y
/// may be x. Which elements are kept follows from (seed, offset) and the element's row-major number alone
/// (`philox_keep` of kernels/philox.h, compared in float32): no mask is stored, and the gradient is this kernel again.
/// Computes in float32 (float64 for itself) and rounds once; what is dropped of NaN or inf is NaN, as a product is.
/// Deterministic; does not synchronize. 0 < keep < 1.
TANTU_KERNEL(dropout_from, ConstView x, View y, double keep, uint64_t seed, uint64_t offset);

}  // namespace tantu
