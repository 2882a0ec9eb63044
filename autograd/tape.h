#pragma once

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/node.h>
#include <tantu/core/dispatch.h>
#include <tantu/core/trace.h>

#include <initializer_list>

/// How an operation records itself. The pattern, as in every file of autograd/ops:
///
///     Tensor y = make_tensor(...);
///     on_device(x.device(), "softmax", [&](auto& ctx) { softmax_forward(ctx, x.in(), y.out(), axis); });
///     if (tape::wants(x))
///       tape::record("SoftmaxBackward0", {&y}, {x}, {tape::Saved::output(y)}, [axis](tape::Backward& b) {
///         Tensor g = b.grad(), y = b.saved(0);
///         return TensorList{y * (g - sum(g * y, axis, true))};   // differentiable ops: higher order comes free
///       });
namespace tantu::tape {

/// Whether an operation on these inputs must be recorded: grad mode is on and one of them requires a gradient.
template <class... Tensors>
bool wants(const Tensors&... inputs) {
  return is_grad_enabled() && ((inputs.defined() && inputs.requires_grad()) || ...);
}
inline bool wants_any(const TensorList& inputs) {
  if (!is_grad_enabled()) return false;
  for (const Tensor& t : inputs)
    if (t.defined() && t.requires_grad()) return true;
  return false;
}

/// What a backward closure sees.
class Backward {
 public:
  Backward(Node& node, TensorList& grads) : node_(node), grads_(grads) {}
  /// The gradient of output `slot`; zeros where none arrived.
  Tensor grad(int slot = 0) { return node_.materialized(grads_, slot); }
  /// Whether a gradient of output `slot` arrived at all.
  bool has_grad(int slot) const { return grads_[static_cast<size_t>(slot)].defined(); }
  Tensor saved(int i) { return node_.saved(i); }
  /// Whether anybody asked for the gradient of input `i`.
  bool needs(int i) const { return node_.needs(i); }

 private:
  Node& node_;
  TensorList& grads_;
};

template <class F>
class ClosureNode final : public Node {
 public:
  ClosureNode(const char* name, F f) : Node(name), f_(std::move(f)) {}
  TensorList apply(TensorList& grads) override {
    Backward b(*this, grads);
    return f_(b);
  }

 private:
  F f_;
};

/// Joins a node to its inputs and outputs: edges, saved tensors, `requires_grad` and `grad_fn` of the outputs.
void attach(Ref<Node> node, std::initializer_list<Tensor*> outputs, const Tensor* inputs, size_t input_count,
            std::initializer_list<Saved> saved);

/// Records an operation whose outputs are fresh tensors. `backward(Backward&)` returns one gradient per input.
template <class F>
void record(const char* name, std::initializer_list<Tensor*> outputs, std::initializer_list<Tensor> inputs,
            std::initializer_list<Saved> saved, F backward) {
  attach(Ref<Node>(new ClosureNode<F>(name, std::move(backward))), outputs, inputs.begin(), inputs.size(), saved);
}
template <class F>
void record(const char* name, std::initializer_list<Tensor*> outputs, const TensorList& inputs,
            std::initializer_list<Saved> saved, F backward) {
  attach(Ref<Node>(new ClosureNode<F>(name, std::move(backward))), outputs, inputs.data(), inputs.size(), saved);
}

/// Makes output `slot` of a numbered node the history of `y`.
void set_history(const Ref<Node>& node, Tensor& y, int slot);
/// Makes `node`, whose edges and saved tensors are set, the history of the fresh tensor `y`.
void adopt(const Ref<Node>& node, Tensor& y);
/// The same after an in-place write to `y`, whose edge is the node's first: bumps the version; the base of a view gets
/// the history too.
void adopt_inplace(const Ref<Node>& node, Tensor& y);

/// Before an in-place write: AutogradError for a leaf that requires grad (or a view of one) while grad mode is on,
/// ShapeError for an expanded tensor, whose elements are one memory cell, unless the write gives all elements one
/// value.
void check_inplace(const char* op, const Tensor& y, bool one_value = false);
/// After an in-place write that needs no history: bumps the version.
void written(Tensor& y);
/// After an in-place write: bumps the version and makes `node` the history of `y`, and of its base if it is a view.
void attach_inplace(Ref<Node> node, Tensor& y, const Tensor* inputs, size_t input_count,
                    std::initializer_list<Saved> saved);
/// Records an in-place operation on `y`; `inputs[0]` is y as it was before.
template <class F>
void record_inplace(const char* name, Tensor& y, std::initializer_list<Tensor> inputs,
                    std::initializer_list<Saved> saved, F backward) {
  attach_inplace(Ref<Node>(new ClosureNode<F>(name, std::move(backward))), y, inputs.begin(), inputs.size(), saved);
}

/// Notes that `y` is a view of `x`; call it for every view, recorded or not.
void note_view(Tensor& y, const Tensor& x);

/// Opens a public operation: its site, and its event when tracing. First line of every public function.
class Op {
 public:
  Op(const char*, Site at) : scope_(at) {}

 private:
  SiteScope scope_;
};

/// The device that all of these share. DeviceError with PyTorch's first sentence, each argument's shape, dtype and
/// device, and the `.to()` that mends it. Undefined tensors do not count.
Device common_device(const char* op, std::initializer_list<std::pair<const char*, const Tensor*>> arguments);

}  // namespace tantu::tape
