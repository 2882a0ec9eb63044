#include <tantu/optim/optimizers.h>

#include <tantu/core/dispatch.h>
#include <tantu/kernels/optim.h>

#include <cmath>

namespace tantu::optim {

namespace {

std::map<std::string, double> checked_betas(const char* name, double lr, std::pair<double, double> betas, double eps,
                                            double weight_decay, std::map<std::string, double> more) {
  check_setting(name, "learning rate", lr, lr >= 0);
  check_setting(name, "epsilon value", eps, eps >= 0);
  check_setting(name, "beta parameter at index 0", betas.first, betas.first >= 0 && betas.first < 1);
  check_setting(name, "beta parameter at index 1", betas.second, betas.second >= 0 && betas.second < 1);
  check_setting(name, "weight_decay value", weight_decay, weight_decay >= 0);
  more.insert(
      {{"lr", lr}, {"beta1", betas.first}, {"beta2", betas.second}, {"eps", eps}, {"weight_decay", weight_decay}});
  return more;
}

// Parameters that one call can update: of one device, and with the same `step`.
class Batches {
 public:
  OptimTensor& add(Tensor& p, const Tensor& g, double step) {
    size_t at = 0;
    while (at < batches_.size() && !(batches_[at].device == p.device() && batches_[at].step == step)) ++at;
    if (at == batches_.size()) batches_.push_back({p.device(), step, {}});
    return batches_[at].tensors.emplace_back(OptimTensor{p.out(), g.in(), {}});
  }
  template <class F>
  void run(const char* op, F&& f) {
    for (Batch& b : batches_) on_device(b.device, op, [&](auto& ctx) { f(ctx, b.tensors, b.step); });
  }

 private:
  struct Batch {
    Device device;
    double step;
    std::vector<OptimTensor> tensors;
  };
  std::vector<Batch> batches_;
};

}  // namespace

SGD::SGD(TensorList params, const SGDOptions& o)
    : Optimizer("SGD", std::move(params),
                {{"lr", o.lr},
                 {"momentum", o.momentum},
                 {"dampening", o.dampening},
                 {"weight_decay", o.weight_decay},
                 {"nesterov", o.nesterov},
                 {"maximize", o.maximize}},
                {"momentum_buffer"}) {
  check_setting("SGD", "learning rate", o.lr, o.lr >= 0);
  check_setting("SGD", "momentum value", o.momentum, o.momentum >= 0);
  check_setting("SGD", "weight_decay value", o.weight_decay, o.weight_decay >= 0);
  TANTU_CHECK(!o.nesterov || (o.momentum > 0 && o.dampening == 0), ValueError,
              "SGD: Nesterov momentum requires a momentum and zero dampening, but they are {} and {}", o.momentum,
              o.dampening);
}

void SGD::update(const ParamGroup& group, std::vector<Item>& items) {
  Batches batches;
  for (auto& [state, p, g] : items) {
    OptimTensor& t = batches.add(p, g, state.tensors.empty());
    if (group["momentum"] != 0) t.state[0] = state.tensor("momentum_buffer", p).out();
  }
  batches.run("SGD", [&](auto& ctx, const std::vector<OptimTensor>& tensors, double first) {
    sgd_step(ctx, tensors,
             {group["lr"], group["momentum"], group["dampening"], group["weight_decay"], group["nesterov"] != 0,
              group["maximize"] != 0, first != 0});
  });
}

Adam::Adam(const char* name, TensorList params, const AdamOptions& o, bool decoupled)
    : Optimizer(
          name, std::move(params),
          checked_betas(name, o.lr, o.betas, o.eps, o.weight_decay, {{"amsgrad", o.amsgrad}, {"maximize", o.maximize}}),
          {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}),
      decoupled_(decoupled) {}

Adam::Adam(TensorList params, const AdamOptions& options) : Adam("Adam", std::move(params), options, false) {}

AdamW::AdamW(TensorList params, const AdamWOptions& o)
    : Adam("AdamW", std::move(params), {o.lr, o.betas, o.eps, o.weight_decay, o.amsgrad, o.maximize}, true) {}

void Adam::update(const ParamGroup& group, std::vector<Item>& items) {
  const bool amsgrad = group["amsgrad"] != 0;
  Batches batches;
  for (auto& [state, p, g] : items) {
    OptimTensor& t = batches.add(p, g, state.step);
    t.state[0] = state.tensor("exp_avg", p).out();
    t.state[1] = state.tensor("exp_avg_sq", p).out();
    if (amsgrad) t.state[2] = state.tensor("max_exp_avg_sq", p).out();
  }
  batches.run("Adam", [&](auto& ctx, const std::vector<OptimTensor>& tensors, double step) {
    const double beta1 = group["beta1"], beta2 = group["beta2"];
    adam_step(ctx, tensors,
              {group["lr"], beta1, beta2, group["eps"], group["weight_decay"], decoupled_, amsgrad,
               group["maximize"] != 0, 1 - std::pow(beta1, step), 1 - std::pow(beta2, step)});
  });
}

RMSprop::RMSprop(TensorList params, const RMSpropOptions& o)
    : Optimizer("RMSprop", std::move(params),
                {{"lr", o.lr},
                 {"alpha", o.alpha},
                 {"eps", o.eps},
                 {"weight_decay", o.weight_decay},
                 {"momentum", o.momentum},
                 {"centered", o.centered},
                 {"maximize", o.maximize}},
                {"square_avg", "grad_avg", "momentum_buffer"}) {
  check_setting("RMSprop", "learning rate", o.lr, o.lr >= 0);
  check_setting("RMSprop", "epsilon value", o.eps, o.eps >= 0);
  check_setting("RMSprop", "momentum value", o.momentum, o.momentum >= 0);
  check_setting("RMSprop", "weight_decay value", o.weight_decay, o.weight_decay >= 0);
  check_setting("RMSprop", "alpha value", o.alpha, o.alpha >= 0);
}

void RMSprop::update(const ParamGroup& group, std::vector<Item>& items) {
  for (auto& [state, p, g] : items) {
    const RmspropStep s{group["lr"],       group["alpha"],         group["eps"],          group["weight_decay"],
                        group["momentum"], group["centered"] != 0, group["maximize"] != 0};
    Tensor square = state.tensor("square_avg", p);
    Tensor mean = s.centered ? state.tensor("grad_avg", p) : Tensor();
    Tensor buffer = s.momentum != 0 ? state.tensor("momentum_buffer", p) : Tensor();
    on_device(p.device(), "RMSprop", [&, &p = p, &g = g](auto& ctx) {
      rmsprop_step(ctx, p.out(), g.in(), square.out(), out_or_none(mean), out_or_none(buffer), s);
    });
  }
}

Adagrad::Adagrad(TensorList params, const AdagradOptions& o)
    : Optimizer("Adagrad", std::move(params),
                {{"lr", o.lr},
                 {"lr_decay", o.lr_decay},
                 {"weight_decay", o.weight_decay},
                 {"initial_accumulator_value", o.initial_accumulator_value},
                 {"eps", o.eps},
                 {"maximize", o.maximize}},
                {"sum"}) {
  check_setting("Adagrad", "learning rate", o.lr, o.lr >= 0);
  check_setting("Adagrad", "lr_decay value", o.lr_decay, o.lr_decay >= 0);
  check_setting("Adagrad", "weight_decay value", o.weight_decay, o.weight_decay >= 0);
  check_setting("Adagrad", "initial_accumulator_value value", o.initial_accumulator_value,
                o.initial_accumulator_value >= 0);
  check_setting("Adagrad", "epsilon value", o.eps, o.eps >= 0);
}

void Adagrad::update(const ParamGroup& group, std::vector<Item>& items) {
  for (auto& [state, p, g] : items) {
    const AdagradStep s{group["lr"] / (1 + (state.step - 1) * group["lr_decay"]), group["weight_decay"], group["eps"],
                        group["maximize"] != 0};
    Tensor sum = state.tensor("sum", p, group["initial_accumulator_value"]);
    on_device(p.device(), "Adagrad",
              [&, &p = p, &g = g](auto& ctx) { adagrad_step(ctx, p.out(), g.in(), sum.out(), s); });
  }
}

Adadelta::Adadelta(TensorList params, const AdadeltaOptions& o)
    : Optimizer(
          "Adadelta", std::move(params),
          {{"lr", o.lr}, {"rho", o.rho}, {"eps", o.eps}, {"weight_decay", o.weight_decay}, {"maximize", o.maximize}},
          {"square_avg", "acc_delta"}) {
  check_setting("Adadelta", "learning rate", o.lr, o.lr >= 0);
  check_setting("Adadelta", "rho value", o.rho, o.rho >= 0 && o.rho <= 1);
  check_setting("Adadelta", "epsilon value", o.eps, o.eps >= 0);
  check_setting("Adadelta", "weight_decay value", o.weight_decay, o.weight_decay >= 0);
}

void Adadelta::update(const ParamGroup& group, std::vector<Item>& items) {
  for (auto& [state, p, g] : items) {
    const AdadeltaStep s{group["lr"], group["rho"], group["eps"], group["weight_decay"], group["maximize"] != 0};
    Tensor square = state.tensor("square_avg", p), delta = state.tensor("acc_delta", p);
    on_device(p.device(), "Adadelta",
              [&, &p = p, &g = g](auto& ctx) { adadelta_step(ctx, p.out(), g.in(), square.out(), delta.out(), s); });
  }
}

Adamax::Adamax(TensorList params, const AdamaxOptions& o)
    : Optimizer("Adamax", std::move(params),
                checked_betas("Adamax", o.lr, o.betas, o.eps, o.weight_decay, {{"maximize", o.maximize}}),
                {"exp_avg", "exp_inf"}) {}

void Adamax::update(const ParamGroup& group, std::vector<Item>& items) {
  for (auto& [state, p, g] : items) {
    const AdamaxStep s{group["lr"],           group["beta1"],        group["beta2"],
                       group["eps"],          group["weight_decay"], 1 - std::pow(group["beta1"], state.step),
                       group["maximize"] != 0};
    Tensor m = state.tensor("exp_avg", p), u = state.tensor("exp_inf", p);
    on_device(p.device(), "Adamax",
              [&, &p = p, &g = g](auto& ctx) { adamax_step(ctx, p.out(), g.in(), m.out(), u.out(), s); });
  }
}

NAdam::NAdam(TensorList params, const NAdamOptions& o)
    : Optimizer("NAdam", std::move(params),
                checked_betas("NAdam", o.lr, o.betas, o.eps, o.weight_decay, {{"momentum_decay", o.momentum_decay}}),
                {"exp_avg", "exp_avg_sq"}, {"mu_product"}) {
  check_setting("NAdam", "momentum_decay value", o.momentum_decay, o.momentum_decay >= 0);
}

void NAdam::update(const ParamGroup& group, std::vector<Item>& items) {
  for (auto& [state, p, g] : items) {
    const double beta1 = group["beta1"], beta2 = group["beta2"], decay = group["momentum_decay"], lr = group["lr"];
    const auto mu_at = [&](double t) { return beta1 * (1 - 0.5 * std::pow(0.96, t * decay)); };
    const double mu = mu_at(state.step), mu_next = mu_at(state.step + 1);
    double& product = state.numbers.try_emplace("mu_product", 1.0).first->second;
    product *= mu;
    const NadamStep s{beta1,
                      beta2,
                      group["eps"],
                      group["weight_decay"],
                      lr * (1 - mu) / (1 - product),
                      lr * mu_next / (1 - product * mu_next),
                      1 - std::pow(beta2, state.step)};
    Tensor m = state.tensor("exp_avg", p), v = state.tensor("exp_avg_sq", p);
    on_device(p.device(), "NAdam",
              [&, &p = p, &g = g](auto& ctx) { nadam_step(ctx, p.out(), g.in(), m.out(), v.out(), s); });
  }
}

}  // namespace tantu::optim
