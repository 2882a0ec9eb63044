#pragma once

#include <tantu/core/tensor.h>

namespace tantu::tape {

/// The gradients of one tensor as they arrive, added up: in place where nobody else sees the memory and no graph is
/// made.
class GradientSum {
 public:
  void add(Tensor g, bool create_graph);
  Tensor take() { return std::exchange(value_, Tensor()); }

 private:
  Tensor value_;
};

/// What a leaf without a gradient keeps of its first one: `g` itself where nobody else sees it and it lies in memory as
/// PyTorch would have it (with the leaf's strides if those leave no gaps and do not overlap, else row-major); a copy
/// otherwise.
Tensor first_gradient(const Tensor& leaf, Tensor g, bool create_graph);

}  // namespace tantu::tape
