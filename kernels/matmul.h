#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// y = alpha * a b + beta * y for each of B matrices: a (B, M, K), b (B, K, N), y (B, M, N), one dtype. Any strides of
/// a and b (0 in the batch repeats a matrix), y row-major. beta == 0 does not read y; K == 0 gives beta * y. Half types
/// compute in float32 and round once; integers in their own width (they wrap); bool is refused by the caller. Does not
/// synchronize.
TANTU_KERNEL(matmul, ConstView a, ConstView b, View y, double alpha, double beta);

}  // namespace tantu
