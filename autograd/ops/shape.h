#pragma once

#include <tantu/core/tensor.h>

#include <vector>

/// Views: tensors that share x's elements. All are differentiable to any order; none copies, except `reshape` and
/// `flatten` where they must. Dimensions and positions may be negative: they count from the end. IndexError for a
/// dimension or position outside of x, ShapeError for sizes that do not fit.
namespace tantu {

/// The same elements as `shape`; one size may be -1. ShapeError if the sizes do not fit or the strides do not allow a
/// view.
Tensor view(const Tensor& x, const Shape& shape, Site at = Site::here());
/// A view if the strides allow one, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape, Site at = Site::here());
/// Dimensions start_dim … end_dim as one.
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1, Site at = Site::here());
/// Dimension `dim` as several, of these sizes; one may be -1.
Tensor unflatten(const Tensor& x, int64_t dim, const Shape& sizes, Site at = Site::here());
/// Two dimensions exchanged.
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1, Site at = Site::here());
/// Dimension i of the result is dimension dims[i] of x.
Tensor permute(const Tensor& x, const Dims& dims, Site at = Site::here());
/// Dimension source[i] of x becomes dimension destination[i]; the others keep their order.
Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination, Site at = Site::here());
/// x repeated without copying: sizes of 1 become those of `shape` (-1 keeps one), new dimensions go in front.
Tensor expand(const Tensor& x, const Shape& shape, Site at = Site::here());
/// Without the dimensions of size 1.
Tensor squeeze(const Tensor& x, Site at = Site::here());
/// Without `dim` if its size is 1.
Tensor squeeze(const Tensor& x, int64_t dim, Site at = Site::here());
/// With a new dimension of size 1 before dimension `dim`.
Tensor unsqueeze(const Tensor& x, int64_t dim, Site at = Site::here());

/// Elements start, start + step, … before end of one dimension; negative positions count from the end, excess is cut.
/// ValueError unless step > 0.
Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
             int64_t step = 1, Site at = Site::here());
/// `length` elements from `start`. IndexError outside of the dimension.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length, Site at = Site::here());
/// One index of a dimension, which disappears. IndexError outside of it.
Tensor select(const Tensor& x, int64_t dim, int64_t index, Site at = Site::here());
/// Elements (i, i + offset) of two dimensions as a new last one.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1, Site at = Site::here());
/// Pieces of `size` elements of one dimension; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0, Site at = Site::here());
/// Pieces of these sizes, which sum to the dimension's.
std::vector<Tensor> split_with_sizes(const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim = 0,
                                     Site at = Site::here());
/// At most `chunks` pieces of one size; the last may be smaller.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0, Site at = Site::here());
/// One tensor per index of a dimension, which disappears.
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0, Site at = Site::here());

/// Any strided picture of x's storage; strides are not negative. ShapeError if it leaves the storage.
Tensor as_strided(const Tensor& x, const Shape& sizes, const Strides& strides, int64_t offset, Site at = Site::here());

}  // namespace tantu
