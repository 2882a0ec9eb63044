#pragma once

#include <tantu/core/tensor.h>

/// Normalizations. Inputs are of a floating type; weight and bias share it. Statistics are taken in float64: they
/// survive means of 1e7 and values of 1e30. All have gradients of every order.
namespace tantu {

/// (x - mean) / sqrt(var + eps) · weight + bias, mean and (biased) variance over the last dimensions, whose sizes are
/// `normalized_shape`, as are those of weight and bias; these may be undefined. ShapeError with the shapes.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5, Site at = Site::here());
/// x / sqrt(mean of x² + eps) · weight over the last dimensions; unless given, eps is the smallest step at 1 of the
/// type computed in (float64, else float32).
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {}, Site at = Site::here());
/// x (N,C) or (N,C,…) normalized per channel. `training`, or no running values: by the batch's own mean and biased
/// variance; running_mean and running_var, (C) each, then become (1 - momentum) · running + momentum · batch, the
/// variance over n - 1. Else by the running values. ValueError in training for one value per channel.
Tensor batch_norm(const Tensor& x, Tensor running_mean, Tensor running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, bool training = false, double momentum = 0.1, double eps = 1e-5,
                  Site at = Site::here());
/// x (N,C,…): each sample's channels in `num_groups` groups, each group normalized as one; weight and bias are (C).
/// Source: Y. Wu, K. He, "Group Normalization", ECCV 2018.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5, Site at = Site::here());
/// x (N,C,…): each channel of each sample normalized by itself; weight and bias are (C).
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5,
                     Site at = Site::here());

}  // namespace tantu
