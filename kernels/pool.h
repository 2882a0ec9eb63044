#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>
#include <tantu/kernels/host_device.h>

namespace tantu {

/// Which elements of a plane one output gathers; each pair is (height, width).
struct PoolRule {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool adaptive = false;          ///< windows cut the plane evenly; the four pairs above do not count
  bool count_include_pad = true;  ///< of averages: the padding counts as elements of value 0
  int64_t divisor = 0;            ///< of averages: divide by it instead of by the count, unless 0
};

/// y (B,P,Q): the largest element of each window of x (B,H,W), and where it is: h · W + w, int64 (B,P,Q). A NaN wins,
/// the first one; of equal elements the first one. Padding never wins. One floating dtype, contiguous. Does not
/// synchronize.
TANTU_KERNEL(max_pool_forward, ConstView x, View y, View indices, const PoolRule& rule);
/// dx (B,H,W): at each element the g (B,P,Q) of the windows it won, added up in their order. Deterministic.
TANTU_KERNEL(max_pool_backward, ConstView g, ConstView indices, View dx, const PoolRule& rule);
/// y (B,P,Q): the mean of each window of x (B,H,W), in float64 for float64, else in float32.
TANTU_KERNEL(avg_pool_forward, ConstView x, View y, const PoolRule& rule);
/// dx (B,H,W): the adjoint, each window's g spread evenly over its elements, added up in the windows' order.
TANTU_KERNEL(avg_pool_backward, ConstView g, View dx, const PoolRule& rule);

/// The elements first, first + step … below `last` of one dimension (d = 0 or 1, `in` elements) that output o of `out`
/// gathers, and how many it would be were the padding real.
struct PoolWindow {
  int64_t first, last, step, padded;

  TANTU_HD PoolWindow(const PoolRule& rule, int d, int64_t o, int64_t in, int64_t out) {
    if (rule.adaptive) {
      first = o * in / out;
      last = ((o + 1) * in + out - 1) / out;
      step = 1;
      padded = last - first;
      return;
    }
    step = rule.dilation[d];
    const int64_t start = o * rule.stride[d] - rule.padding[d], end = start + (rule.kernel[d] - 1) * step + 1;
    first = start < 0 ? start + (-start + step - 1) / step * step : start;
    last = end < in ? end : in;
    padded = (end < in + rule.padding[d] ? end : in + rule.padding[d]) - start;
  }
};

/// The outputs [first, last) of one dimension whose windows can hold element i (with dilation, not all of them do).
struct PoolOutputs {
  int64_t first, last;

  TANTU_HD PoolOutputs(const PoolRule& rule, int d, int64_t i, int64_t in, int64_t out) {
    if (rule.adaptive) {
      first = i * out / in;
      last = ((i + 1) * out + in - 1) / in;
      return;
    }
    const int64_t s = rule.stride[d], at = i + rule.padding[d], reach = (rule.kernel[d] - 1) * rule.dilation[d];
    first = at < reach ? 0 : (at - reach + s - 1) / s;
    last = at / s + 1 < out ? at / s + 1 : out;
  }
};

/// What the sum of a window is divided by.
TANTU_HD inline int64_t pool_divisor(const PoolRule& rule, const PoolWindow& h, const PoolWindow& w) {
  if (rule.divisor != 0) return rule.divisor;
  if (rule.count_include_pad) return h.padded * w.padded;
  return (h.last - h.first) * (w.last - w.first);
}

}  // namespace tantu
