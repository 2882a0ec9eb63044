#pragma once

#include <tantu/autograd/ops/conv.h>
#include <tantu/core/tensor.h>

/// Pooling of x (N,C,H,W) or (C,H,W), and of (N,C,L) or (C,L) in the forms for one dimension; floating types, gradients
/// of every order. A window that is not given a stride moves by its own size. With `ceil_mode` a last window may begin
/// in the input and hang over its end. ValueError for a kernel, stride or dilation below 1 or a padding above half of
/// the kernel, ShapeError where nothing would be left.
namespace tantu {

/// The largest element of each window. A NaN wins; of equal elements the first one gets the gradient.
Tensor max_pool1d(const Tensor& x, int64_t kernel_size, std::optional<int64_t> stride = {}, int64_t padding = 0,
                  int64_t dilation = 1, bool ceil_mode = false, Site at = Site::here());
/// The same in two dimensions.
Tensor max_pool2d(const Tensor& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  Pair dilation = 1, bool ceil_mode = false, Site at = Site::here());
/// The largest elements and where they are: h · W + w in their plane, int64.
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, Pair kernel_size, std::optional<Pair> stride = {},
                                                  Pair padding = 0, Pair dilation = 1, bool ceil_mode = false,
                                                  Site at = Site::here());
/// The mean of each window; `count_include_pad` counts the padding as zeros.
Tensor avg_pool1d(const Tensor& x, int64_t kernel_size, std::optional<int64_t> stride = {}, int64_t padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true, Site at = Site::here());
/// The same in two dimensions; a `divisor_override` divides instead of the count.
Tensor avg_pool2d(const Tensor& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true, std::optional<int64_t> divisor_override = {},
                  Site at = Site::here());
/// The means of `output_size` windows that cut x evenly: output o of n gathers the elements from floor(o · in / n) up
/// to ceil((o + 1) · in / n).
Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output_size, Site at = Site::here());
/// The same in two dimensions.
Tensor adaptive_avg_pool2d(const Tensor& x, Pair output_size, Site at = Site::here());
/// The largest elements of the windows of adaptive_avg_pool1d.
Tensor adaptive_max_pool1d(const Tensor& x, int64_t output_size, Site at = Site::here());
/// The same in two dimensions.
Tensor adaptive_max_pool2d(const Tensor& x, Pair output_size, Site at = Site::here());

}  // namespace tantu
