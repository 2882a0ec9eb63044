#pragma once

#include <tantu/core/tensor.h>

/// Reductions over all dimensions (`dims` empty) or some; negative ones count from the end. With `keepdim` the reduced
/// dimensions stay with size 1. Results are deterministic: neither threads nor layouts of equal strides change a bit.
namespace tantu {

/// The sum; integers and bool sum in int64, float16 and bfloat16 in float32. 0 for nothing. With `dtype` the elements
/// are converted first.
Tensor sum(const Tensor& x, const Axes& dims = {}, bool keepdim = false, std::optional<DType> dtype = {},
           Site at = Site::here());
/// x summed down to `sizes`, the reverse of broadcasting to x's shape.
Tensor sum_to_size(const Tensor& x, const Shape& sizes, Site at = Site::here());
/// The mean of a floating tensor, or of one converted to `dtype`. NaN for nothing.
Tensor mean(const Tensor& x, const Axes& dims = {}, bool keepdim = false, std::optional<DType> dtype = {},
            Site at = Site::here());
/// The product of all elements; integers and bool multiply in int64. 1 for nothing. The gradient is right with any
/// number of zeros, of every order.
Tensor prod(const Tensor& x, Site at = Site::here());
/// The products along one dimension.
Tensor prod(const Tensor& x, int64_t dim, bool keepdim = false, Site at = Site::here());
/// Whether all elements are not zero (NaN is not); bool, of uint8 uint8. True for nothing.
Tensor all(const Tensor& x, const Axes& dims = {}, bool keepdim = false, Site at = Site::here());
/// Whether one element is not zero. False for nothing.
Tensor any(const Tensor& x, const Axes& dims = {}, bool keepdim = false, Site at = Site::here());

/// The largest element. NaN if one is. Equal ones share the gradient. Throws for nothing, as all of the next ones.
Tensor max(const Tensor& x, Site at = Site::here());
/// The smallest element.
Tensor min(const Tensor& x, Site at = Site::here());
/// The largest elements along `dim` and where they are: the first of equal ones, the first NaN if there is one. The
/// gradient goes to that element alone.
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false, Site at = Site::here());
/// The smallest elements along `dim` and where they are.
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false, Site at = Site::here());
/// The largest elements over some dimensions; equal ones share the gradient.
Tensor amax(const Tensor& x, const Axes& dims = {}, bool keepdim = false, Site at = Site::here());
/// The smallest elements over some dimensions; equal ones share the gradient.
Tensor amin(const Tensor& x, const Axes& dims = {}, bool keepdim = false, Site at = Site::here());
/// Where the largest element is (int64), of equal ones the first: along `dim`, or in x in row-major order.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false, Site at = Site::here());
/// Where the smallest element is.
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false, Site at = Site::here());

/// Σ (x - mean)² / max(n - correction, 0): correction 1 is the unbiased variance, 0 the population's. Computed from
/// distances (on the CPU in float64), so it survives means of 1e7 and values of 1e30.
Tensor var(const Tensor& x, const Axes& dims = {}, double correction = 1, bool keepdim = false, Site at = Site::here());
/// The square root of `var`.
Tensor std(const Tensor& x, const Axes& dims = {}, double correction = 1, bool keepdim = false, Site at = Site::here());
/// The variance and the mean.
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& dims = {}, double correction = 1, bool keepdim = false,
                                   Site at = Site::here());
/// The standard deviation and the mean.
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& dims = {}, double correction = 1, bool keepdim = false,
                                   Site at = Site::here());
/// (Σ |x|^p)^(1/p); p = 0 counts what is not zero, ±infinity is the largest or smallest |x|. Squares do not
/// overflow.
Tensor norm(const Tensor& x, double p = 2, const Axes& dims = {}, bool keepdim = false, Site at = Site::here());

/// y[k] = x[0] + … + x[k] along `dim`; integers and bool add in int64, floating types in float64, each result rounded
/// once.
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, Site at = Site::here());

}  // namespace tantu
