#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

enum class Reduction { None, Mean, Sum };

/// What is lost where class t was wanted of the scores x (C), with class weights w (1 where there are none):
///
///     q_c  = (1 - smoothing) w_t [c = t] + smoothing / C · w_c
///     loss = Σ_c q_c · (log Σ_k e^{x_k} - x_c)      with softmax
///     loss = Σ_c q_c · (-x_c)                       without: x holds log-probabilities
///
/// and 0 where t is `ignore_index`. The mean divides by the sum of the w_t that count; it is NaN when none do.
struct ClassLoss {
  const char* op = "cross_entropy";  ///< named in errors
  bool softmax = true;
  int64_t ignore_index = -100;
  double smoothing = 0;
  Reduction reduction = Reduction::Mean;
};

/// What an IndexError says of {0} op, {1} target, {2} position, {3} classes.
inline constexpr const char* kTargetOutOfBounds =
    "{0}: Target {1} is out of bounds: position {2} of the targets, {3} classes";

/// x (P…, C) of a floating type, any strides; target (P…) int64 or uint8, any strides; weight (C) of x's dtype,
/// contiguous, or without data. Writes loss, contiguous, of x's dtype: (P…), or () unless the reduction is None.
/// `stats`, contiguous, of the compute type (float64 for float64, else float32), 2 numel(P) + 1 elements, is what
/// backward needs: each row's largest score and sum of exponentials, and the sum of the weights that count. Half types
/// compute in float32. Deterministic. IndexError for a target outside of [0, C) that is not ignore_index, naming the
/// first; on a GPU thrown by the next call that waits for the device, naming one of them, and their rows count as
/// ignored. Does not synchronize. Source of the two-step log-sum-exp: subtracting the largest score, N. J. Higham et
/// al., "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41 (4), 2021.
TANTU_KERNEL(class_loss_forward, ConstView x, ConstView target, ConstView weight, View loss, View stats,
             const ClassLoss& rule);

/// The gradient of x: scale_p (Σ_c q_c · softmax(x)_c - q_c), 0 in ignored rows; scale is g, divided by the sum of
/// weights for the mean. g: as loss, contiguous, x's dtype. dx: (P…, C), any strides, x's dtype.
TANTU_KERNEL(class_loss_backward, ConstView g, ConstView x, ConstView target, ConstView weight, ConstView stats,
             View dx, const ClassLoss& rule);

}  // namespace tantu
