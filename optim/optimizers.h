#pragma once

#include <tantu/optim/optimizer.h>

#include <utility>

/// The optimisers of torch.optim with its names, formulas and defaults. `optim::SGD sgd(model.parameters(), {.lr =
/// 0.5});`
namespace tantu::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};
/// Stochastic gradient descent, with momentum b = mu b + (1 - dampening) g.
class SGD : public Optimizer {
 public:
  explicit SGD(TensorList params, const SGDOptions& options = {});

 protected:
  void update(const ParamGroup& group, std::vector<Item>& items) override;
};

struct AdamOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool maximize = false;
};
/// Kingma and Ba, 2015: running means of the gradient and of its square, both corrected for their start at zero.
class Adam : public Optimizer {
 public:
  explicit Adam(TensorList params, const AdamOptions& options = {});

 protected:
  Adam(const char* name, TensorList params, const AdamOptions& options, bool decoupled);
  void update(const ParamGroup& group, std::vector<Item>& items) override;

 private:
  bool decoupled_ = false;
};

struct AdamWOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
};
/// Adam with the weight decay taken out of the gradient (Loshchilov and Hutter, 2019).
class AdamW : public Adam {
 public:
  explicit AdamW(TensorList params, const AdamWOptions& options = {});
};

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;
};
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(TensorList params, const RMSpropOptions& options = {});

 protected:
  void update(const ParamGroup& group, std::vector<Item>& items) override;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool maximize = false;
};
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(TensorList params, const AdagradOptions& options = {});

 protected:
  void update(const ParamGroup& group, std::vector<Item>& items) override;
};

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;
};
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(TensorList params, const AdadeltaOptions& options = {});

 protected:
  void update(const ParamGroup& group, std::vector<Item>& items) override;
};

struct AdamaxOptions {
  double lr = 2e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool maximize = false;
};
class Adamax : public Optimizer {
 public:
  explicit Adamax(TensorList params, const AdamaxOptions& options = {});

 protected:
  void update(const ParamGroup& group, std::vector<Item>& items) override;
};

struct NAdamOptions {
  double lr = 2e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
};
/// Adam with Nesterov's look ahead (Dozat, 2016), in the form of PyTorch 2: see docs/parity.md.
class NAdam : public Optimizer {
 public:
  explicit NAdam(TensorList params, const NAdamOptions& options = {});

 protected:
  void update(const ParamGroup& group, std::vector<Item>& items) override;
};

}  // namespace tantu::optim
