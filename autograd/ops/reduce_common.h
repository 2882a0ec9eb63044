#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// A reduction's dimensions sorted out: `x` with the reduced dimensions last, and the result's shapes.
struct ReducedDims {
  Tensor x;           ///< a view of the input outside of the tape, kept dimensions first
  int reduced = 0;    ///< how many dimensions of `x` are reduced
  int64_t count = 1;  ///< how many elements go into one result
  Dims dims;          ///< the reduced dimensions, wrapped, ascending
  Shape kept;         ///< the result's shape without keepdim
  Shape kept_dim;     ///< the result's shape with keepdim

  /// IndexError for a dimension outside of x or named twice.
  ReducedDims(const char* op, const Tensor& input, const Axes& axes);
  const Shape& shape(bool keepdim) const { return keepdim ? kept_dim : kept; }
  /// A fresh result, with the reduced dimensions or without, as kernels take it: (kept…).
  View out(Tensor& y) const;
  /// For reductions without a value of nothing. IndexError if a reduced dimension is empty.
  void check_not_empty(const char* op, const Axes& axes) const;
};

/// The gradient of the elements at `indices` along `dim` of a tensor of `sizes`, from that of a reduction to them.
Tensor selected_backward(const Tensor& g, const Tensor& indices, int dim, const Shape& sizes, bool keepdim);
/// The gradient of a maximum, minimum or median over `dims`: `g` shared equally by the elements of x that equal y. Both
/// have the reduced dimensions with size 1.
Tensor shared_backward(const Tensor& g, const Tensor& x, const Tensor& y, const Dims& dims);

/// `t` outside of the tape with dimension `dim` last; a 0-dim tensor is a line of one element.
Tensor with_last(const Tensor& t, int dim);

}  // namespace tantu
