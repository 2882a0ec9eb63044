#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// A row-major copy with its own storage. Differentiable.
Tensor clone(const Tensor& x, Site at = Site::here());
/// Whether both have the same shape and every element of them is equal (NaN is not).
bool equal(const Tensor& a, const Tensor& b, Site at = Site::here());

}  // namespace tantu
