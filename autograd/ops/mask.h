#pragma once

#include <tantu/core/tensor.h>

/// Operations steered by a bool mask, which broadcasts with x.
namespace tantu {

/// x with `value`, a number or a 0-dim tensor, where the mask holds; keeps x's dtype. DTypeError for a mask that is not
/// bool, ValueError for a number that x's dtype cannot hold. Differentiable in x and value.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value, Site at = Site::here());
/// The same in place; the mask must fit into x's shape.
Tensor& masked_fill_(Tensor& x, const Tensor& mask, const Operand& value, Site at = Site::here());
/// The elements where the mask holds, in row-major order, as a vector. Differentiable. Synchronizes.
Tensor masked_select(const Tensor& x, const Tensor& mask, Site at = Site::here());
/// The indices of the elements that are not zero: (count, x.dim()) int64, in row-major order. Synchronizes.
Tensor nonzero(const Tensor& x, Site at = Site::here());

}  // namespace tantu
