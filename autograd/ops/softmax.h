#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// exp(x - max) / Σ exp(x - max) along `dim`, of a floating tensor, or of one converted to `dtype` first. A line of
/// -inf alone, or with a +inf, gives NaN.
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, Site at = Site::here());
/// The logarithm of softmax, without its loss of figures: x - max - log Σ exp(x - max).
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, Site at = Site::here());
/// log Σ exp(x) over `dims`, without overflow; integers become float32. -inf for nothing.
Tensor logsumexp(const Tensor& x, const Axes& dims, bool keepdim = false, Site at = Site::here());

}  // namespace tantu
