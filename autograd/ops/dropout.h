#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// In training each element becomes 0 with probability p, else x / (1 - p); otherwise x itself. One draw per element
/// from the default generator, none for p == 0, p == 1 (zeros) or an empty x. ValueError unless 0 ≤ p ≤ 1. Source: N.
/// Srivastava et al., "Dropout", JMLR 15, 2014.
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Site at = Site::here());
/// The same for whole channels of x (N,C,L) or (C,L): one draw per channel.
Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true, Site at = Site::here());
/// The same for (N,C,H,W), or (N,C,L).
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true, Site at = Site::here());
/// The same for (N,C,D,H,W) or (C,D,H,W).
Tensor dropout3d(const Tensor& x, double p = 0.5, bool training = true, Site at = Site::here());

}  // namespace tantu
