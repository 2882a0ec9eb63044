#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// What dropout multiplies by: 1 / keep with probability keep, else 0; from the default generator. No tape.
Tensor dropout_mask(const char* op, const Shape& sizes, const TensorOptions& options, double keep);

}  // namespace tantu
