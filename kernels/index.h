#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <array>

namespace tantu {

/// What an IndexError says of {0} op, {1} value, {2} position, {3} size, {4} dim.
inline constexpr const char* kIndexOutOfBounds =
    "{0}: index {1} is out of bounds for dimension {4} with size {3} (at position {2} of the index)";

/// Where blocks of a tensor are: position n of the index shape leads to the element offset
///
///     Σ_d base[d] · n_d  +  Σ_i picks[i].index[n] · picks[i].stride
///
/// which serves `index`, `index_select`, `gather` and their kin alike. At every offset lies one block: the dimensions
/// that the index leaves alone.
struct IndexPlan {
  /// One index tensor (int64 or int32, any strides, shown as `sizes`) and the dimension it walks.
  struct Pick {
    ConstView index;
    int64_t size = 0;    ///< of that dimension
    int64_t stride = 0;  ///< of that dimension, in elements
    int dim = 0;         ///< its number, for error texts
  };

  const char* op = "index";
  const char* text = kIndexOutOfBounds;  ///< of errors
  Shape sizes;                           ///< of the index
  Strides base;                          ///< one per dimension of the index; not negative
  int count = 0;                         ///< of picks, may be 0
  std::array<Pick, kMaxDims> picks = {};
  int before = 0;      ///< how many dimensions of a block stand before the index dimensions in the other operand
  bool wraps = false;  ///< negative indices count from the end

  void add(const ConstView& index, int64_t size, int64_t stride, int dim) {
    picks[static_cast<size_t>(count++)] = {index, size, stride, dim};
  }
};

/// y[before…, n…, after…] = block of x at n. x: the block (before…, after…) at offset 0, any strides; y: the same
/// dtype, fresh, sizes (before…, plan.sizes…, after…), any strides. IndexError names the index value, its position and
/// the dimension; on a GPU the block of a bad index is zero and the next call that waits for the device throws, naming
/// one of the bad indices.
TANTU_KERNEL(index_take, const IndexPlan& plan, ConstView x, View y);

/// Block of y at n = values[before…, n…, after…], or += with `accumulate`; the same dtype; `values` does not overlap y,
/// and may repeat (stride 0). Blocks met more than once are written, or added to, in the order of n, whatever the
/// number of threads: bits repeat. All indices are checked before the first write. With `accumulate` y is not a half
/// type (the caller sums these in float32); bool adds as "or".
/// On a GPU: bad indices are skipped and the others written; the next call that waits for the device throws. What meets
/// at one element is added one after the other in pieces of 32, in the order of n, then the pieces, in an order that
/// their number alone determines: bits repeat. Does not synchronize.
TANTU_KERNEL(index_put, const IndexPlan& plan, ConstView values, View y, bool accumulate);

}  // namespace tantu
