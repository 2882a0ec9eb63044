#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

/// Kernels that put the lines along the last dimension in order. Any strides and dtypes; values keep x's dtype, indices
/// are int64 and count along the line. NaN is above every number, all NaNs are equal, and so are +0 and -0; equal
/// elements keep their order, ascending and descending. values and indices have the same strides. Deterministic. None
/// synchronizes. On a GPU the workspace holds 8 bytes an element (16 for float64, int64), twice where lines are longer
/// than a tile (16 KiB); topk of few elements of a long line takes much less.
namespace tantu {

/// x (…, n) → values and indices (…, n).
TANTU_KERNEL(sort_last, ConstView x, View values, View indices, bool descending);

/// The k largest (or smallest) elements of each line, in order: x (…, n) → values and indices (…, k), k ≤ n.
TANTU_KERNEL(topk_last, ConstView x, View values, View indices, bool largest);

/// The element that stands at position k, from 0, of each sorted line: x (…, n) → value and index (…, 1), n > k. With
/// `nan_first` a line that has a NaN gives its first NaN.
TANTU_KERNEL(kth_last, ConstView x, View value, View index, int64_t k, bool nan_first);

}  // namespace tantu
