#pragma once

#include <tantu/autograd/tape.h>
#include <tantu/kernels/pointwise.h>

/// What the generated functions of autograd/ops/pointwise.h call.
namespace tantu::pointwise {

/// y = row(operands…) with promotion, broadcasting and the tape.
Tensor apply(Row row, const Operand* operands, const Params& params, Site at);
/// The same written into `y`, which is also operand 0.
Tensor& apply_(Row row, Tensor& y, const Operand* operands, const Params& params, Site at);
/// d = the derivative of the row for input `which`; operands g, a, b, c, y, undefined where the row does not use them.
/// Under create_graph the row's text runs as tensor operations, else as one fused kernel.
Tensor derivative(Row row, int which, const Tensor (&operands)[5], const Params& params);
/// The derivative as differentiable tensor operations.
Tensor derivative_expression(Row row, int which, const Tensor (&operands)[5], const Params& params);

}  // namespace tantu::pointwise
