#pragma once

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/node.h>

namespace tantu {

/// Computes the gradients of all leaves `roots` depend on and adds them to their `grad()`.
/// `gradients` gives each root's own gradient; an undefined one is 1 for a root of one element.
/// AutogradError: a root without history, a graph already freed, a wrong gradient.
void backward(const TensorList& roots, const TensorList& gradients = {}, bool retain_graph = false,
              bool create_graph = false);

/// The gradients of `outputs` with respect to `inputs`, returned instead of accumulated. An input that the outputs do not
/// depend on is an AutogradError, or an undefined tensor with `allow_unused`.
TensorList grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients = {},
                bool retain_graph = false, bool create_graph = false, bool allow_unused = false);

/// `hook(gradient)` runs when the gradient of `t` is known; a defined result replaces it.
void register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook);
/// `hook(leaf)` runs each time backward has finished accumulating into the leaf's `grad()`.
void register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook);

}  // namespace tantu
