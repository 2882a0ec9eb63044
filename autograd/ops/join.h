#pragma once

#include <tantu/autograd/node.h>

/// Several tensors as one. dtypes are promoted together; all on one device. Differentiable to any order.
namespace tantu {

/// The tensors one after another along `dim`; their other sizes agree (ShapeError). Vectors of no elements are skipped
/// whatever the others' shape, as in PyTorch. ValueError for an empty list.
Tensor cat(const TensorList& tensors, int64_t dim = 0, Site at = Site::here());
/// The tensors, all of one shape, side by side in a new dimension `dim`.
Tensor stack(const TensorList& tensors, int64_t dim = 0, Site at = Site::here());

}  // namespace tantu
