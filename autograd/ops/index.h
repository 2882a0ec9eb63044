#pragma once

#include <tantu/core/index.h>

/// PyTorch's indexing: `index(x, {Slice(1, 3), None, Ellipsis, 2, positions, mask})`; core/index.h says what each entry
/// means. IndexError: too many entries, a position outside of its dimension (with position and value), index tensors
/// that do not broadcast, a mask of another shape. Differentiable to any order; positions met twice add their
/// gradients.
namespace tantu {

/// A view where only integers, slices, None, Ellipsis and 0-dim integer tensors are used; else fresh, row-major.
Tensor index(const Tensor& x, const IndexList& indices, Site at = Site::here());
/// Writes `value` (broadcast) where the index shows, or adds it with `accumulate`. Of a position met twice the last
/// value stays. A tensor written through an index tensor has x's dtype (DTypeError). Deterministic.
Tensor& index_put_(Tensor& x, const IndexList& indices, const Operand& value, bool accumulate = false,
                   Site at = Site::here());
/// The same on a copy.
Tensor index_put(const Tensor& x, const IndexList& indices, const Operand& value, bool accumulate = false,
                 Site at = Site::here());

}  // namespace tantu
