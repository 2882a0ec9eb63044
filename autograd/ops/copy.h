#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// A row-major copy with its own storage. Differentiable.
Tensor clone(const Tensor& x, Site at = Site::here());
/// Makes the handle `t`, with all its copies, show `source`'s elements: PyTorch's `t.data = source`. Outside of the
/// tape; gradients and `requires_grad` stay. DTypeError if a tensor that requires a gradient would lose its floating
/// dtype.
void set_data(Tensor& t, const Tensor& source, Site at = Site::here());
/// Whether both have the same shape and every element of them is equal (NaN is not).
bool equal(const Tensor& a, const Tensor& b, Site at = Site::here());

}  // namespace tantu
