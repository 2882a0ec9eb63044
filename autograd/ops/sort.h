#pragma once

#include <tantu/core/tensor.h>

/// Order along one dimension. NaN is above every number; +0 and -0 are equal. Indices are int64 and count along the
/// dimension.
namespace tantu {

/// The elements in order and where they were. Stable: equal elements keep their order, descending too.
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false, Site at = Site::here());
/// Where the elements of the sorted line were.
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false, Site at = Site::here());
/// The k largest (or smallest) elements in order and where they are; of equal ones the first. They come sorted whether
/// asked or not.
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true,
                               Site at = Site::here());
/// The k-th smallest elements, from 1, and where they are.
std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false,
                                   Site at = Site::here());
/// The median of all elements; of an even number the lower one. NaN if one is, and for nothing. Equal ones share the
/// gradient.
Tensor median(const Tensor& x, Site at = Site::here());
/// The medians along `dim` and where they are: the first NaN of a line that has one. The gradient goes to that element.
std::pair<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false, Site at = Site::here());

}  // namespace tantu
