#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

/// Normalization per channel of x (N, C, S), contiguous, of a floating type. weight, bias and the running values are
/// (C), or without data. stats (C, 2) float64 holds each channel's mean and 1 / sqrt(var + eps). Sums are in float64,
/// on a GPU in the compute type, scaled so that squares of any float do not overflow, and in an order that is a
/// function of the shape alone. None synchronizes. Source: S. Ioffe, C. Szegedy, "Batch Normalization", ICML 2015.
namespace tantu {

/// Fills `stats` from x, by the corrected two-pass algorithm, var the mean of (x - mean)². Running values, where there
/// are any, become (1 - momentum) · running + momentum · batch, with the variance over count - 1 (N S ≥ 2, the caller
/// has checked).
TANTU_KERNEL(batch_norm_statistics, ConstView x, View stats, double eps, double momentum, View running_mean,
             View running_var);

/// Fills `stats` from running values.
TANTU_KERNEL(batch_norm_from_running, ConstView running_mean, ConstView running_var, double eps, View stats);

/// y = (x - mean) · rstd · weight + bias, of x's dtype.
TANTU_KERNEL(batch_norm_forward, ConstView x, ConstView stats, ConstView weight, ConstView bias, View y);

/// dx (N, C, S), dweight (C), dbias (C), contiguous, of x's dtype; those without data are not computed. `training`: the
/// statistics are x's own and carry gradient.
TANTU_KERNEL(batch_norm_backward, ConstView g, ConstView x, ConstView stats, ConstView weight, bool training, View dx,
             View dweight, View dbias);

}  // namespace tantu
