#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// What an in-place operation does about an operand x that shares memory with the tensor y it writes (of the same size
/// once broadcast): an undefined tensor if x may be read during the write, a copy of x where the two interleave,
/// ShapeError naming `op` where they show one cell in different places.
Tensor apart_from(const char* op, const Tensor& y, const Tensor& x);

}  // namespace tantu
