#pragma once

#include <tantu/autograd/node.h>
#include <tantu/core/index.h>
#include <tantu/kernels/index.h>

/// An index taken apart: what views can do, and what index tensors must do.
namespace tantu {

/// Index tensors by dimension of a tensor; undefined where a whole dimension is taken.
struct Picks {
  TensorList by_dim;
  std::vector<int> names;  ///< what error texts call these dimensions

  bool empty() const;
  void set(int dim, Tensor index, int name);
};

/// `x[indices]` = `view` picked by `picks`. `view` is x itself where nothing but index tensors is named.
struct Selection {
  Tensor view;
  Picks picks;  ///< of the view's dimensions, named as x's; int64 or int32, for masks are positions already

  Selection(const char* op, const Tensor& x, const IndexList& indices);
};

/// The row-major flat positions of x's elements that are not zero: int64 (count). No tape.
Tensor flat_nonzero(const Tensor& x);

/// The index tensors laid over the dimensions of one tensor.
struct PickPlan {
  IndexPlan plan;
  Shape block;            ///< sizes of the dimensions that no index tensor names
  Strides block_strides;  ///< their strides in the tensor
  Shape result;           ///< sizes of what is picked

  /// IndexError unless the index tensors broadcast together.
  PickPlan(const char* op, const Tensor& x, const Picks& picks);
  /// `whole`, a view of the tensor, as the block at offset 0.
  template <class V>
  V block_of(V whole) const {
    whole.sizes = block;
    whole.strides = block_strides;
    return whole;
  }

 private:
  TensorList kept_;  // the index tensors, broadcast
};

}  // namespace tantu
