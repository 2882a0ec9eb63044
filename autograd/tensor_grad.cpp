#include <tantu/autograd/autograd.h>
#include <tantu/autograd/tape.h>

// What a tensor says of its gradient: leaves, hooks, `grad`.
namespace tantu {

using tape::Meta;
using tape::Node;

namespace {

template <class F>
HookHandle handle_of(const std::shared_ptr<tape::Hooked<F>>& hook) {
  return HookHandle(std::shared_ptr<bool>(hook, &hook->on));
}

}  // namespace

void HookHandle::remove() {
  if (const auto on = on_.lock()) *on = false;
}

HookHandle register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook) {
  TANTU_CHECK(hook, ValueError, "register_hook: the function is empty");
  TANTU_CHECK(t.requires_grad(), AutogradError,
              "register_hook: cannot register a hook on a tensor that doesn't require gradient ({} {})", t.dtype(),
              t.sizes());
  auto entry = std::make_shared<tape::Hooked<tape::Hook>>(tape::Hooked<tape::Hook>{std::move(hook)});
  if (Ref<Node> node = tape::grad_fn(t)) node->hooks.emplace_back(tape::find_meta(t)->slot, entry);
  else tape::meta_of(t).hooks.push_back(entry);
  return handle_of(entry);
}

HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook) {
  TANTU_CHECK(hook, ValueError, "register_post_accumulate_grad_hook: the function is empty");
  TANTU_CHECK(leaf.requires_grad() && leaf.is_leaf(), AutogradError,
              "register_post_accumulate_grad_hook: post accumulate grad hooks cannot be registered on non-leaf tensors "
              "or on tensors "
              "that don't require gradient ({} {})",
              leaf.dtype(), leaf.sizes());
  auto entry = std::make_shared<tape::Hooked<tape::PostHook>>(tape::Hooked<tape::PostHook>{std::move(hook)});
  tape::meta_of(leaf).post_hooks.push_back(entry);
  return handle_of(entry);
}

Tensor& Tensor::requires_grad_(bool on) {
  TANTU_CHECK(!on || is_floating(dtype()), AutogradError,
              "requires_grad_: only Tensors of floating point dtype can require gradients, but this one is {}",
              dtype());
  TANTU_CHECK(on || is_leaf(), AutogradError,
              "requires_grad_: you can only change requires_grad flags of leaf variables. If you want to use a "
              "computed variable in a "
              "subgraph that doesn't require differentiation use detach()");
  if (on || impl().autograd) tape::meta_of(*this).requires_grad = on;
  return *this;
}

bool Tensor::is_leaf() const {
  return !tape::grad_fn(*this);
}

Tensor Tensor::grad() const {
  const Meta* meta = tape::find_meta(*this);
  if (!meta) return {};
  return meta->retained ? *meta->retained : meta->grad;
}

void Tensor::set_grad(const Tensor& grad) {
  TANTU_CHECK(!grad.defined() || (grad.sizes() == sizes() && grad.dtype() == dtype() && grad.device() == device()),
              ShapeError, "set_grad: the gradient ({} {} on {}) must look like the tensor ({} {} on {})", grad.dtype(),
              grad.sizes(), grad.device(), dtype(), sizes(), device());
  TANTU_CHECK(!grad.defined() || !grad.is_same(*this), ValueError,
              "set_grad: can't assign Variable as its own grad ({} {})", dtype(), sizes());
  if (!grad.defined() && !impl().autograd) return;
  Meta& meta = tape::meta_of(*this);
  (meta.retained ? *meta.retained : meta.grad) = grad;
}

std::string Tensor::grad_fn_name() const {
  const Ref<Node> node = tape::grad_fn(*this);
  return node ? node->name : "";
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph, Site at) const {
  tantu::backward({*this}, gradient.defined() ? TensorList{gradient} : TensorList{}, retain_graph, create_graph, at);
}

Tensor& Tensor::detach_() {
  if (Meta* meta = tape::find_meta(*this)) {
    TANTU_CHECK(!meta->is_view, AutogradError, "detach_: Can't detach views in-place. Use detach() instead");
    meta->requires_grad = false;
    meta->grad_fn = nullptr;
    meta->retained = nullptr;
  }
  return *this;
}

void Tensor::retain_grad() const {
  TANTU_CHECK(requires_grad(), AutogradError, "retain_grad: can't retain_grad on Tensor that has requires_grad=False");
  const Ref<Node> node = tape::grad_fn(*this);
  if (!node) return;
  Meta& meta = tape::meta_of(*this);
  if (meta.retained) return;
  meta.retained = std::make_shared<Tensor>();
  node->retained.emplace_back(meta.slot, meta.retained);
}

}  // namespace tantu
