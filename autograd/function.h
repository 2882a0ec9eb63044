#pragma once

#include <tantu/autograd/tape.h>

#include <any>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>

/// Operations of one's own: a struct with static `forward` and `backward`.
///
///     struct Cube : autograd::Function<Cube> {
///       static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, double scale) {
///         ctx->save_for_backward({x});
///         ctx->saved_data["scale"] = scale;
///         return x * x * x * scale;
///       }
///       static TensorList backward(autograd::AutogradContext* ctx, const TensorList& grads) {
///         const Tensor x = ctx->get_saved_variables()[0];
///         return {grads[0] * 3 * x * x * std::any_cast<double>(ctx->saved_data["scale"]), Tensor()};
///       }
///     };
///     Tensor y = Cube::apply(x, 2.0);
namespace tantu::autograd {

/// What `forward` leaves for `backward`.
class AutogradContext {
 public:
  /// Keeps inputs or outputs of `forward`; backward finds an in-place write in between. Tensors that are neither belong
  /// here too. May be called once, AutogradError the second time.
  void save_for_backward(TensorList tensors);
  /// In `backward`: what was saved, in that order, with its history.
  TensorList get_saved_variables() const;
  /// Anything that is not a tensor.
  std::unordered_map<std::string, std::any> saved_data;

  /// These inputs are changed in place by `forward` and returned by it.
  void mark_dirty(TensorList inputs) { dirty_ = std::move(inputs); }
  /// These outputs get no gradient; they do not require one.
  void mark_non_differentiable(TensorList outputs) { non_differentiable_ = std::move(outputs); }
  /// Whether `backward` sees zeros (the default) or undefined tensors for outputs nobody used.
  void set_materialize_grads(bool on) { materialize_ = on; }
  /// Whether the gradient of argument `i` of `forward` is asked for.
  bool needs_input_grad(size_t i) const;

 private:
  friend class FunctionNode;
  TensorList to_save_, dirty_, non_differentiable_;
  bool has_saved_ = false;
  std::vector<bool> wants_;  // per argument, while `forward` runs
  bool materialize_ = true;
  tape::Node* node_ = nullptr;
};

/// The node of a custom function; `Function` below fills it.
class FunctionNode : public tape::Node {
 public:
  explicit FunctionNode(const char* name) : Node(name) {}
  TensorList apply(TensorList& grads) final;

  AutogradContext ctx;

 protected:
  virtual TensorList call_backward(const TensorList& grads) = 0;
  /// Before `forward`: one entry per argument, undefined where it is not a tensor.
  void begin(const TensorList& arguments);
  /// After it: joins the outputs to the tape.
  void finish(const TensorList& arguments, TensorList& outputs);

 private:
  void adopt_dirty(Tensor& y, int slot, const TensorList& outputs);
  std::vector<bool> is_tensor_;  // per argument
};

/// "Cube" from the type's mangled name.
std::string type_name(const char* mangled);

namespace detail {

inline void collect(TensorList& list, const Tensor& t) {
  list.push_back(t);
}
inline void collect(TensorList& list, const TensorList& tensors) {
  list.insert(list.end(), tensors.begin(), tensors.end());
}
template <class T>
void collect(TensorList& list, const T&) {
  list.emplace_back();
}

inline TensorList as_list(Tensor y) {
  return {std::move(y)};
}
inline TensorList as_list(TensorList y) {
  return y;
}

}  // namespace detail

/// Base of a custom function `T` with
///   static R forward(AutogradContext* ctx, args...)  R = Tensor or TensorList; runs with grad mode off
///   static TensorList backward(AutogradContext* ctx, const TensorList& grads)  one gradient per argument of `forward`
///   (a
///     TensorList argument counts each of its tensors), undefined for those that are no tensors. Written with
///     differentiable operations it gives gradients of higher order.
/// AutogradError for a wrong number of gradients, or a gradient for something that is not a tensor.
template <class T>
class Function {
 public:
  template <class... Args>
  static auto apply(const Args&... args) {
    static const std::string name = type_name(typeid(T).name());
    struct NodeOf final : FunctionNode {
      using FunctionNode::begin;
      using FunctionNode::finish;
      using FunctionNode::FunctionNode;
      TensorList call_backward(const TensorList& grads) override { return T::backward(&ctx, grads); }
    };
    TensorList arguments;
    (detail::collect(arguments, args), ...);
    Ref<NodeOf> node(new NodeOf(name.c_str()));
    node->begin(arguments);
    using R = std::decay_t<decltype(T::forward(static_cast<AutogradContext*>(nullptr), args...))>;
    TensorList outputs;
    {
      NoGradGuard no_grad;
      outputs = detail::as_list(T::forward(&node->ctx, args...));
    }
    node->finish(arguments, outputs);
    if constexpr (std::is_same_v<R, Tensor>) return outputs[0];
    else return outputs;
  }
};

}  // namespace tantu::autograd
