#pragma once

#include <tantu/autograd/node.h>
#include <tantu/core/tensor.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace tantu::optim {

/// Parameters that share their settings: "lr", "momentum", "weight_decay" … by PyTorch's names, flags as 0 and 1, betas
/// as "beta1" and "beta2". Schedulers write "lr".
struct ParamGroup {
  TensorList params;
  std::map<std::string, double> settings;
  double initial_lr = -1;  ///< the rate schedulers start from; set by the first scheduler

  /// ValueError naming the setting if this optimiser has none of that name.
  double& operator[](const std::string& name);
  double operator[](const std::string& name) const;
};

/// What an optimiser carries between steps, for a checkpoint: tensors by "INDEX/NAME" (INDEX counts the parameters
/// through the groups), and numbers by "INDEX/step" and "group/G/NAME".
struct OptimizerState {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, double> numbers;
};

/// Base of all optimisers. A parameter without a gradient is left alone. Steps are taken outside of the tape.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient.
  void step(Site at = Site::here());
  /// Forgets the gradients, or fills them with zeros.
  void zero_grad(bool set_to_none = true);

  std::vector<ParamGroup>& param_groups() { return groups_; }
  const std::vector<ParamGroup>& param_groups() const { return groups_; }
  /// Adds a group; settings that are not given are the optimiser's. ValueError for a parameter that is in a group
  /// already.
  void add_param_group(ParamGroup group);

  OptimizerState state_dict() const;
  /// Takes a state of an optimiser of the same class over the same parameters. FormatError, before anything changes, if
  /// something is missing, unknown or of another shape.
  void load_state_dict(const OptimizerState& state);

 protected:
  /// The settings every group starts with, and the names of what this class keeps for a parameter beside its step.
  Optimizer(const char* name, TensorList params, std::map<std::string, double> defaults,
            std::vector<std::string> state_tensors, std::vector<std::string> state_numbers = {});

  struct State {
    double step = 0;
    std::map<std::string, double> numbers;
    std::map<std::string, Tensor> tensors;
    /// The state tensor of this name; a new one is filled with `value`.
    Tensor& tensor(const char* name, const Tensor& like, double value = 0);
  };
  /// A parameter that has a gradient, and its state, whose `step` has been counted up already.
  struct Item {
    State& state;
    Tensor& p;
    Tensor g;
  };
  /// The update of a group's parameters.
  virtual void update(const ParamGroup& group, std::vector<Item>& items) = 0;

 private:
  void check_param(const Tensor& p) const;

  const char* name_;
  std::map<std::string, double> defaults_;
  std::vector<std::string> state_tensors_, state_numbers_;
  std::vector<ParamGroup> groups_;
  std::unordered_map<TensorImpl*, State> states_;
};

/// ValueError `NAME: Invalid SETTING: VALUE` unless `ok`.
void check_setting(const char* optimizer, const char* setting, double value, bool ok);

}  // namespace tantu::optim
