#pragma once

#include <tantu/autograd/node.h>

namespace tantu {

/// fn(inputs), whose saved tensors are not kept: backward runs `fn` again to have them. Memory for time; the gradients
/// are bit equal, because the default generator is put back to where it stood (dropout draws the same mask). Source:
/// Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
///
/// `fn` may use other tensors too (parameters); it must do the same both times. `grad()`, create_graph and nesting
/// work. AutogradError where the second run saves other tensors than the first.
TensorList checkpoint(std::function<TensorList(const TensorList&)> fn, const TensorList& inputs,
                      Site at = Site::here());
/// The same for a function with one result.
Tensor checkpoint(std::function<Tensor(const Tensor&)> fn, const Tensor& input, Site at = Site::here());

}  // namespace tantu
