#pragma once

#include <tantu/core/tensor.h>

/// Picking and writing along one dimension by an index tensor (int64 or int32). IndexError names a position outside of
/// the dimension; unlike in `index`, negative positions are outside. Gradients of every order; sums in a fixed order,
/// so bits repeat. Functions with `_` write in place; those without work on a copy.
namespace tantu {

/// Slices index[0], index[1], … of dimension `dim`; index is 1-D (or 0-D).
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index, Site at = Site::here());
/// Slice index[i] of x += alpha · slice i of source (of x's dtype and, but for `dim`, shape).
Tensor& index_add_(Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, double alpha = 1,
                   Site at = Site::here());
/// The same on a copy of x.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, double alpha = 1,
                 Site at = Site::here());

/// y[i, j, k] = x[i, index[i, j, k], k] for dim = 1; y has index's shape, which but for `dim` is no larger than x's.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, Site at = Site::here());
/// gather with x and index broadcast together outside of `dim`, and negative positions counted from the end.
Tensor take_along_dim(const Tensor& x, const Tensor& index, int64_t dim, Site at = Site::here());
/// take_along_dim of both flattened.
Tensor take_along_dim(const Tensor& x, const Tensor& index, Site at = Site::here());
/// x[i, index[i, j, k], k] = source[i, j, k] for dim = 1; source is a number, or of x's dtype and no smaller than
/// index. Of a position met twice the last value stays (its gradient goes to all of them, as PyTorch's does).
Tensor& scatter_(Tensor& x, int64_t dim, const Tensor& index, const Operand& source, Site at = Site::here());
/// The same on a copy of x.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& source, Site at = Site::here());
/// x[i, index[i, j, k], k] += source[i, j, k] for dim = 1.
Tensor& scatter_add_(Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Site at = Site::here());
/// The same on a copy of x.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Site at = Site::here());

/// int64 x (…) → (…, num_classes) with 1 at [..., x[...]], else 0; num_classes is max + 1 when absent. IndexError for a
/// class outside.
Tensor one_hot(const Tensor& x, std::optional<int64_t> num_classes = {}, Site at = Site::here());

}  // namespace tantu
