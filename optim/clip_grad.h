#pragma once

#include <tantu/autograd/node.h>

namespace tantu::optim {

/// Scales all gradients together so that their norm is at most `max_norm`, and returns the norm before (a 0-dim
/// tensor). `norm_type` may be infinity. Always multiplies by min(1, max_norm / (norm + 1e-6)), as PyTorch does. With
/// `error_if_nonfinite` a norm of inf or NaN throws Error and leaves the gradients alone.
Tensor clip_grad_norm_(const TensorList& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false, Site at = Site::here());

/// Clamps every gradient element to [-clip_value, clip_value].
void clip_grad_value_(const TensorList& parameters, double clip_value, Site at = Site::here());

}  // namespace tantu::optim
