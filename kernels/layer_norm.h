#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// Row by row: y = (x - mean) · rstd · weight + bias, rstd = 1 / sqrt(var + eps), var the mean of (x - mean)²;
/// `centered` false: mean is 0 (rms_norm). x, y (rows, n) contiguous, of one floating type; weight, bias (n)
/// contiguous, of x's dtype, or without data. stats (rows, 2) float64 receives mean and rstd, which are taken from
/// differences, in float64 or, on a GPU, in float32 scaled by a power of two (float64 for float64): spread survives any
/// mean, squares of any float do not overflow. Half types compute in
/// float32 and round once. Deterministic; does not synchronize. Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer
/// Normalization", arXiv:1607.06450, 2016; B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019;
/// T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for Computing the Sample Variance", Am. Stat. 37 (3), 1983.
TANTU_KERNEL(layer_norm_forward, ConstView x, ConstView weight, ConstView bias, View y, View stats, double eps,
             bool centered);

/// Its gradients: dx (rows, n), dweight (n), dbias (n), contiguous, of x's dtype; those without data are not computed.
/// The sums over rows are in float64, on a GPU in the compute type, over a cut that is a function of the shape alone.
TANTU_KERNEL(layer_norm_backward, ConstView g, ConstView x, ConstView weight, ConstView stats, View dx, View dweight,
             View dbias, bool centered);

}  // namespace tantu
