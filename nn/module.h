#pragma once

#include <tantu/autograd/node.h>
#include <tantu/core/tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tantu::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using StateDict = std::map<std::string, Tensor>;

/// What `load_state_dict` did not find in its place.
struct LoadResult {
  std::vector<std::string> missing;     ///< the module has it, the dictionary does not
  std::vector<std::string> unexpected;  ///< the dictionary has it, the module does not
  std::vector<std::string> mismatched;  ///< "NAME: shape [2, 3] given, [3, 2] expected"
};

/// Base of layers and models. A module is a handle, as a tensor is: copies share parameters, buffers, children and
/// mode.
///
/// A model is a struct that registers what it holds by name in its constructor and defines `forward`:
///
///     struct Net : nn::Module {
///       nn::Linear fc1 = register_module("fc1", nn::Linear(784, 64));
///       nn::Linear fc2 = register_module("fc2", nn::Linear(64, 10));
///       Tensor forward(const Tensor& x) override { return fc2(fc1(x).relu()); }
///     };
///
/// Names of parameters are PyTorch's for the same architecture ("fc1.weight"), so weights saved there load here.
class Module {
 public:
  Module();
  virtual ~Module();
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  /// The module's function of one tensor. Error naming the module unless it is overridden.
  virtual Tensor forward(const Tensor& x);
  Tensor operator()(const Tensor& x) { return forward(x); }

  /// All parameters, depth first in the order of registration; a shared one once.
  TensorList parameters() const;
  NamedTensors named_parameters() const;
  TensorList buffers() const;
  NamedTensors named_buffers() const;
  /// The direct children.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> named_children() const;
  std::vector<std::shared_ptr<Module>> children() const;
  /// Every module below this one with its dotted name.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> named_modules() const;

  /// Calls `f` on every module below this one, children first, then on this one.
  Module& apply(const std::function<void(Module&)>& f);
  /// Training mode, of this module and all below it.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool is_training() const;
  Module& requires_grad_(bool on = true);
  void zero_grad(bool set_to_none = true);

  /// Moves or converts parameters (floating ones only change dtype), gradients and buffers, in place: optimisers go on.
  Module& to(Device device, Site at = Site::here());
  Module& to(DType dtype, Site at = Site::here());
  Module& half() { return to(kFloat16); }
  Module& bfloat16() { return to(kBFloat16); }

  /// Number of parameter elements; a shared parameter counts once.
  int64_t num_parameters() const;

  /// Parameters and buffers by dotted name, detached; they share memory with the module.
  StateDict state_dict() const;
  /// Copies values in. With `strict` anything missing, unexpected or of another shape is a ShapeError that lists all of
  /// it (with the nearest known name), and nothing has changed; else what fits is taken and the rest is returned.
  LoadResult load_state_dict(const StateDict& state, bool strict = true);

  /// "Linear", or the struct's own name.
  virtual std::string name() const;
  /// What is printed between the brackets: "in_features=2, out_features=30, bias=True".
  virtual std::string extra_repr() const;
  /// PyTorch's picture of the tree.
  std::string to_string() const;

 protected:
  /// Registers a parameter (it will require a gradient); undefined stands for "none". ValueError for a name that is
  /// taken, empty or has a dot.
  Tensor register_parameter(const std::string& name, Tensor value, bool requires_grad = true);
  Tensor register_buffer(const std::string& name, Tensor value);
  template <class M>
  M register_module(const std::string& name, M module) {
    add_child(name, std::make_shared<M>(module));
    return module;
  }
  void add_child(const std::string& name, std::shared_ptr<Module> module);

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

/// A table of the layers of `model` with output shapes, parameters and bytes, for an input of `input_sizes` (zeros of
/// the parameters' dtype). Output shapes are shown where the children form a chain; a shared parameter counts once.
/// Leaves no trace: mode, gradients and random numbers are as before.
std::string summary(Module& model, const Shape& input_sizes);

/// What `fmt::print("{}", model)` does: writes `to_string()`.
fmt::format_context::iterator write_module(const Module& module, fmt::format_context& ctx);

}  // namespace tantu::nn

template <class M>
requires std::is_base_of_v<tantu::nn::Module, M>
struct fmt::formatter<M> {
  constexpr auto parse(fmt::format_parse_context& ctx) { return ctx.begin(); }
  auto format(const M& module, fmt::format_context& ctx) const { return tantu::nn::write_module(module, ctx); }
};
