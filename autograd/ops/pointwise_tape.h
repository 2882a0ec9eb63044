#pragma once

#include <tantu/autograd/ops/pointwise.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/pointwise.h>

namespace tantu {

/// The words of kernels/math.h that are no public functions, for tensors.
inline Tensor mul_add(const Operand& a, const Operand& b, const Operand& c) {
  return addcmul(c, a, b);
}

}  // namespace tantu

/// What the generated functions of autograd/ops/pointwise.h call.
namespace tantu::pointwise {

/// y = row(operands…) with promotion, broadcasting and the tape.
Tensor apply(Row row, const Operand* operands, const Params& params, Site at);
/// The same written into `y`, which is also operand 0.
Tensor& apply_(Row row, Tensor& y, const Operand* operands, const Params& params, Site at);
/// What a derivative is computed from: g, a, b, c, y. Each is a tensor, or a number, or absent where the row does not
/// use it.
struct Values {
  Tensor tensors[5];
  const double* numbers[5] = {};
};
/// d = the derivative of the row for input `which`. Under create_graph the row's text runs as tensor operations, else
/// as one fused kernel.
Tensor derivative(Row row, int which, const Values& values, const Params& params);
/// The derivative as differentiable tensor operations.
Tensor derivative_expression(Row row, int which, const Tensor (&operands)[5], const Params& params);

}  // namespace tantu::pointwise
