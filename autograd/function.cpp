#include <tantu/autograd/function.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace tantu::autograd {

namespace {

bool holds(const TensorList& list, const Tensor& t) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Tensor& other) { return other.defined() && other.is_same(t); });
}

}  // namespace

void AutogradContext::save_for_backward(TensorList tensors) {
  TANTU_CHECK(!has_saved_, AutogradError,
              "save_for_backward: was called before; give all tensors to one call ({} were saved, now {} more)",
              to_save_.size(), tensors.size());
  has_saved_ = true;
  to_save_ = std::move(tensors);
}

TensorList AutogradContext::get_saved_variables() const {
  TANTU_CHECK(node_, AutogradError, "get_saved_variables: may be called in backward only");
  TensorList list;
  for (size_t i = 0; i < node_->saved_tensors.size(); ++i) list.push_back(node_->saved(static_cast<int>(i)));
  TANTU_CHECK(!node_->released, AutogradError, "{}: Trying to backward through the graph a second time", node_->name);
  return list;
}

bool AutogradContext::needs_input_grad(size_t i) const {
  return node_ ? i < node_->edges.size() && node_->needs(static_cast<int>(i)) : i < wants_.size() && wants_[i];
}

void FunctionNode::begin(const TensorList& arguments) {
  for (const Tensor& t : arguments) {
    is_tensor_.push_back(t.defined());
    ctx.wants_.push_back(tape::wants(t));
  }
}

void FunctionNode::finish(const TensorList& arguments, TensorList& outputs) {
  const bool recorded = std::any_of(ctx.wants_.begin(), ctx.wants_.end(), [](bool b) { return b; });
  for (const Tensor& t : ctx.dirty_) {
    TANTU_CHECK(holds(outputs, t), AutogradError, "{}: an input marked dirty must be returned by forward", name);
    Tensor y = t;
    tape::check_inplace(name, y);
  }
  if (recorded)
    for (const Tensor& t : arguments) edges.push_back(tape::edge_of(t));
  // An input handed through is a view of it, so that it and the output are two tensors of the tape.
  for (Tensor& y : outputs)
    if (y.defined() && holds(arguments, y) && !holds(ctx.dirty_, y)) {
      const bool constant = holds(ctx.non_differentiable_, y);
      y = y.detach();
      if (constant) ctx.non_differentiable_.push_back(y);
    }
  if (!recorded) {
    for (Tensor y : ctx.dirty_) tape::written(y);
    return;
  }
  for (const Tensor& y : outputs)
    this->outputs.push_back(y.defined() ? tape::OutputInfo{y.sizes(), y.dtype(), y.device()} : tape::OutputInfo{});
  number();
  Ref<Node> self(this);
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    Tensor& y = outputs[slot];
    if (!y.defined() || !is_floating(y.dtype()) || holds(ctx.non_differentiable_, y)) continue;
    if (holds(ctx.dirty_, y)) adopt_dirty(y, static_cast<int>(slot), outputs);
    else tape::set_history(self, y, static_cast<int>(slot));
  }
  for (const Tensor& t : ctx.to_save_) {
    size_t slot = 0;
    while (slot < outputs.size() && !(t.defined() && outputs[slot].defined() && outputs[slot].is_same(t))) ++slot;
    saved_tensors.push_back(slot < outputs.size() ? tape::Saved::output(t, static_cast<int>(slot)) : tape::Saved(t));
  }
  ctx.to_save_.clear();
  ctx.dirty_.clear();
  ctx.non_differentiable_.clear();
}

void FunctionNode::adopt_dirty(Tensor& y, int slot, const TensorList& all) {
  const tape::Meta* meta = tape::find_meta(y);
  if (!meta || !meta->base.defined()) {
    y.impl().storage->bump_version();
    tape::set_history(Ref<Node>(this), y, slot);
    return;
  }
  TANTU_CHECK(
      all.size() == 1 && !is_tensor_.empty() && is_tensor_[0], AutogradError,
      "{}: a view can be changed in place only by a function of which it is the first argument and the only output",
      name);
  this->outputs.clear();
  tape::adopt_inplace(Ref<Node>(this), y);
}

TensorList FunctionNode::apply(TensorList& grads) {
  TANTU_CHECK(!released, AutogradError,
              "{}: Trying to backward through the graph a second time: its saved tensors were freed by the "
              "first backward. Give retain_graph = true to the first",
              name);
  TensorList given = grads;
  if (ctx.materialize_)
    for (size_t i = 0; i < given.size(); ++i) given[i] = materialized(grads, static_cast<int>(i));
  ctx.node_ = this;
  TensorList results = call_backward(given);
  ctx.node_ = nullptr;
  TANTU_CHECK(results.size() == edges.size(), AutogradError,
              "{}: returned an incorrect number of gradients (expected {}, got {})", name, edges.size(),
              results.size());
  for (size_t i = 0; i < results.size(); ++i)
    TANTU_CHECK(is_tensor_[i] || !results[i].defined(), AutogradError,
                "{}: returned a gradient at position {}, but the corresponding forward input was not a Tensor", name,
                i);
  return results;
}

std::string type_name(const char* mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  const size_t last = name.rfind("::");
  return last == std::string::npos ? name : name.substr(last + 2);
}

}  // namespace tantu::autograd
