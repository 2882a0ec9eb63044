#pragma once

#include <tantu/optim/optimizer.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// Learning-rate schedules: names, defaults and figures of torch.optim.lr_scheduler. A schedule sets the rate for step
/// 0 when it is made; call `step()` after each `optimizer.step()` (or epoch). It keeps a reference to the optimiser.
namespace tantu::optim::lr_scheduler {

/// Base: after k calls of `step()` every group's rate is `rate(k, rate before, base rate)`.
class LRScheduler {
 public:
  virtual ~LRScheduler();
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  virtual void step();
  /// Goes back to step 0 from the base rates.
  virtual void restart();
  /// The rates now in the optimiser, one per group.
  std::vector<double> get_last_lr() const;
  int64_t last_epoch() const { return epoch_; }
  const Optimizer& optimizer() const { return optimizer_; }

  virtual std::map<std::string, double> state_dict() const;
  /// FormatError, before anything changes, if an entry is missing or unknown, not finite, or a step that is no count.
  virtual void load_state_dict(const std::map<std::string, double>& state);

 protected:
  explicit LRScheduler(Optimizer& optimizer);
  virtual double rate(int64_t epoch, double lr, double base) const = 0;
  /// For schedules that also move the momentum.
  virtual void apply_more(int64_t, ParamGroup&) const {}
  void apply(int64_t epoch, bool from_base);

  Optimizer& optimizer_;
  std::vector<double> base_;
  int64_t epoch_ = 0;
};

/// lr * gamma every `step_size` steps.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  int64_t step_size_;
  double gamma_;
};

/// lr * gamma at each milestone.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

/// lr * factor for the first `total_iters` steps.
class ConstantLR : public LRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  double factor_;
  int64_t total_iters_;
};

/// From lr * start_factor to lr * end_factor in equal parts: a warm-up.
class LinearLR : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  double start_, end_;
  int64_t total_iters_;
};

/// lr * gamma every step.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  double gamma_;
};

/// lr * (1 - epoch / total_iters)^power, then 0.
class PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  int64_t total_iters_;
  double power_;
};

/// Half a cosine from the base rate to eta_min in T_max steps, and back.
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  int64_t T_max_;
  double eta_min_;
};

/// Cosine runs of T_0, T_0 * T_mult, … steps, each from the base rate.
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  int64_t T_0_, T_mult_;
  double eta_min_;
};

/// The base rate times a function of the step.
class LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  std::function<double(int64_t)> factor_;
};

struct OneCycleOptions {
  double max_lr;
  int64_t total_steps;
  double pct_start = 0.3;
  bool linear = false;  ///< anneal_strategy = 'linear'
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;
};
/// Up to max_lr and down again, the momentum the other way (Smith and Topin, 2018). Stepping beyond the end is an
/// error.
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, const OneCycleOptions& options);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;
  void apply_more(int64_t epoch, ParamGroup& group) const override;

 private:
  double between(int64_t epoch, double low, double high, double last) const;
  OneCycleOptions options_;
};

struct CyclicOptions {
  double base_lr;
  double max_lr;
  int64_t step_size_up = 2000;
  int64_t step_size_down = 0;  ///< 0: as step_size_up
  enum Mode { Triangular, Triangular2, ExpRange } mode = Triangular;
  double gamma = 1;
  bool cycle_momentum = true;
  double base_momentum = 0.8;
  double max_momentum = 0.9;
};
/// Back and forth between two rates (Smith, 2017).
class CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, const CyclicOptions& options);

 protected:
  double rate(int64_t epoch, double lr, double base) const override;
  void apply_more(int64_t epoch, ParamGroup& group) const override;

 private:
  double height(int64_t epoch) const;
  CyclicOptions options_;
};

/// One schedule after the other: schedule i + 1 begins, at its own step 0, at milestones[i]. ValueError unless all are
/// of this optimiser.
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);
  void step() override;
  void restart() override;
  std::map<std::string, double> state_dict() const override;
  void load_state_dict(const std::map<std::string, double>& state) override;

 protected:
  double rate(int64_t epoch, double lr, double base) const override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

struct PlateauOptions {
  bool maximize = false;  ///< mode = 'max'
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;
  bool absolute = false;  ///< threshold_mode = 'abs'
  int64_t cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;
};
/// lr * factor when `metric` has not improved for more than `patience` steps.
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options = {});
  void step(double metric);
  std::map<std::string, double> state_dict() const;
  void load_state_dict(const std::map<std::string, double>& state);

 private:
  bool better(double metric) const;

  Optimizer& optimizer_;
  PlateauOptions options_;
  double best_;
  int64_t bad_ = 0, cooldown_ = 0;
};

}  // namespace tantu::optim::lr_scheduler
