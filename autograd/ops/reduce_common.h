#pragma once

#include <tantu/autograd/ops/shape.h>
#include <tantu/core/tensor.h>

namespace tantu {

/// A reduction's dimensions sorted out: `x` with the reduced dimensions last, and the result's shapes.
struct Reduction {
  Tensor x;         ///< a view of the input outside of the tape, kept dimensions first
  int reduced = 0;  ///< how many dimensions of `x` are reduced
  Dims dims;        ///< the reduced dimensions, wrapped, ascending
  Shape kept;       ///< the result's shape without keepdim
  Shape kept_dim;   ///< the result's shape with keepdim

  /// IndexError for a dimension outside of x or named twice.
  Reduction(const char* op, const Tensor& input, const Axes& axes);
  const Shape& shape(bool keepdim) const { return keepdim ? kept_dim : kept; }
};

}  // namespace tantu
