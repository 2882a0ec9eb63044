#pragma once

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/node.h>

namespace tantu {

/// Computes the gradients of all leaves `roots` depend on and adds them to their `grad()`.
/// `gradients` gives each root's own gradient; an undefined one is 1 for a root of one element.
/// AutogradError: a root without history, a graph already freed, a wrong gradient.
void backward(const TensorList& roots, const TensorList& gradients = {}, bool retain_graph = false,
              bool create_graph = false, Site at = Site::here());

/// The gradients of `outputs` with respect to `inputs`, returned instead of accumulated. An input that the outputs do
/// not depend on is an AutogradError, or an undefined tensor with `allow_unused`.
TensorList grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients = {},
                bool retain_graph = false, bool create_graph = false, bool allow_unused = false,
                Site at = Site::here());

/// Takes a hook away again. Copies of a handle mean the same hook; it may outlive the tensor.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(const std::shared_ptr<bool>& on) : on_(on) {}
  /// The hook is not run any more; nothing happens the second time.
  void remove();

 private:
  std::weak_ptr<bool> on_;
};

/// `hook(gradient)` runs when the gradient of `t` is known, before anything else sees it; a defined result, which must
/// have the same shape, dtype and device, replaces it. Hooks of a tensor run in the order of their registration.
HookHandle register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook);
/// `hook(leaf)` runs each time backward has finished accumulating into the leaf's `grad()`.
HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook);

}  // namespace tantu
