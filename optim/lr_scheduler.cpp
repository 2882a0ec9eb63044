#include <tantu/optim/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tantu::optim::lr_scheduler {

using std::numbers::pi;

namespace {

double take(const char* name, const std::map<std::string, double>& state, const std::string& key) {
  const auto found = state.find(key);
  TANTU_CHECK(found != state.end(), FormatError, "{}: load_state_dict: \"{}\" is missing", name, key);
  return found->second;
}

// Not NaN, and finite unless told.
double take_number(const char* name, const std::map<std::string, double>& state, const std::string& key,
                   bool or_infinite = false) {
  const double v = take(name, state, key);
  TANTU_CHECK(or_infinite ? !std::isnan(v) : std::isfinite(v), FormatError, "{}: load_state_dict: \"{}\" is {}", name,
              key, v);
  return v;
}

int64_t take_count(const char* name, const std::map<std::string, double>& state, const std::string& key) {
  const double v = take(name, state, key);
  TANTU_CHECK(v >= 0 && v < 0x1p53 && v == std::floor(v), FormatError,
              "{}: load_state_dict: \"{}\" must be a count, but is {}", name, key, v);
  return static_cast<int64_t>(v);
}

void check_size(const char* name, const std::map<std::string, double>& state, size_t expected) {
  TANTU_CHECK(state.size() == expected, FormatError, "{}: load_state_dict: {} entries, expected {}", name, state.size(),
              expected);
}

std::string momentum_name(const char* name, const ParamGroup& group) {
  for (const char* key : {"momentum", "beta1"})
    if (group.settings.count(key)) return key;
  throw ValueError(fmt::format("{}: optimizer must support momentum with `cycle_momentum` option enabled", name));
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  for (ParamGroup& group : optimizer.param_groups()) {
    if (group.initial_lr < 0) group.initial_lr = group["lr"];
    base_.push_back(group.initial_lr);
  }
}

LRScheduler::~LRScheduler() = default;

void LRScheduler::apply(int64_t epoch, bool from_base) {
  auto& groups = optimizer_.param_groups();
  TANTU_CHECK(groups.size() == base_.size(), ValueError, "lr_scheduler: the optimizer has {} groups, but had {}",
              groups.size(), base_.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i]["lr"] = rate(epoch, from_base ? base_[i] : groups[i]["lr"], base_[i]);
    apply_more(epoch, groups[i]);
  }
  epoch_ = epoch;
}

void LRScheduler::step() {
  apply(epoch_ + 1, false);
}
void LRScheduler::restart() {
  apply(0, true);
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const ParamGroup& group : optimizer_.param_groups()) rates.push_back(group["lr"]);
  return rates;
}

std::map<std::string, double> LRScheduler::state_dict() const {
  std::map<std::string, double> state{{"last_epoch", static_cast<double>(epoch_)}};
  for (size_t i = 0; i < base_.size(); ++i) state[fmt::format("base_lr/{}", i)] = base_[i];
  return state;
}

void LRScheduler::load_state_dict(const std::map<std::string, double>& state) {
  check_size("lr_scheduler", state, base_.size() + 1);
  const int64_t epoch = take_count("lr_scheduler", state, "last_epoch");
  std::vector<double> base;
  for (size_t i = 0; i < base_.size(); ++i)
    base.push_back(take_number("lr_scheduler", state, fmt::format("base_lr/{}", i)));
  epoch_ = epoch;
  base_ = std::move(base);
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  TANTU_CHECK(step_size > 0, ValueError, "StepLR: step_size must be positive, but got {}", step_size);
  restart();
}
double StepLR::rate(int64_t epoch, double lr, double) const {
  return epoch > 0 && epoch % step_size_ == 0 ? lr * gamma_ : lr;
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  restart();
}
double MultiStepLR::rate(int64_t epoch, double lr, double) const {
  return lr * std::pow(gamma_, std::count(milestones_.begin(), milestones_.end(), epoch));
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : LRScheduler(optimizer), factor_(factor), total_iters_(total_iters) {
  TANTU_CHECK(factor > 0 && factor <= 1, ValueError, "ConstantLR: factor must lie in (0, 1], but got {}", factor);
  restart();
}
double ConstantLR::rate(int64_t epoch, double lr, double) const {
  if (epoch == 0) return lr * factor_;
  return epoch == total_iters_ ? lr * (1 / factor_) : lr;
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : LRScheduler(optimizer), start_(start_factor), end_(end_factor), total_iters_(total_iters) {
  TANTU_CHECK(start_factor > 0 && start_factor <= 1, ValueError,
              "LinearLR: start_factor must lie in (0, 1], but got {}", start_factor);
  TANTU_CHECK(end_factor >= 0 && end_factor <= 1, ValueError, "LinearLR: end_factor must lie in [0, 1], but got {}",
              end_factor);
  TANTU_CHECK(total_iters > 0, ValueError, "LinearLR: total_iters must be positive, but got {}", total_iters);
  restart();
}
double LinearLR::rate(int64_t epoch, double lr, double) const {
  if (epoch == 0) return lr * start_;
  if (epoch > total_iters_) return lr;
  const double total = static_cast<double>(total_iters_), done = static_cast<double>(epoch - 1);
  return lr * (1 + (end_ - start_) / (total * start_ + done * (end_ - start_)));
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : LRScheduler(optimizer), gamma_(gamma) {
  restart();
}
double ExponentialLR::rate(int64_t epoch, double lr, double) const {
  return epoch == 0 ? lr : lr * gamma_;
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : LRScheduler(optimizer), total_iters_(total_iters), power_(power) {
  TANTU_CHECK(total_iters > 0, ValueError, "PolynomialLR: total_iters must be positive, but got {}", total_iters);
  restart();
}
double PolynomialLR::rate(int64_t epoch, double lr, double) const {
  if (epoch == 0 || epoch > total_iters_) return lr;
  const double e = static_cast<double>(epoch), total = static_cast<double>(total_iters_);
  return lr * std::pow((1 - e / total) / (1 - (e - 1) / total), power_);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  TANTU_CHECK(T_max > 0, ValueError, "CosineAnnealingLR: T_max must be positive, but got {}", T_max);
  restart();
}
double CosineAnnealingLR::rate(int64_t epoch, double lr, double base) const {
  if (epoch == 0) return lr;
  const double T = static_cast<double>(T_max_), t = static_cast<double>(epoch);
  if ((epoch - 1 - T_max_) % (2 * T_max_) == 0) return lr + (base - eta_min_) * (1 - std::cos(pi / T)) / 2;
  return (1 + std::cos(pi * t / T)) / (1 + std::cos(pi * (t - 1) / T)) * (lr - eta_min_) + eta_min_;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min)
    : LRScheduler(optimizer), T_0_(T_0), T_mult_(T_mult), eta_min_(eta_min) {
  TANTU_CHECK(T_0 > 0, ValueError, "CosineAnnealingWarmRestarts: expected positive integer T_0, but got {}", T_0);
  TANTU_CHECK(T_mult >= 1, ValueError, "CosineAnnealingWarmRestarts: expected integer T_mult >= 1, but got {}", T_mult);
  restart();
}
double CosineAnnealingWarmRestarts::rate(int64_t epoch, double, double base) const {
  int64_t length = T_0_, at = epoch;
  if (T_mult_ == 1) at %= T_0_;
  else
    for (; at >= length; length *= T_mult_) at -= length;
  return eta_min_ + (base - eta_min_) * (1 + std::cos(pi * static_cast<double>(at) / static_cast<double>(length))) / 2;
}

LambdaLR::LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor)
    : LRScheduler(optimizer), factor_(std::move(factor)) {
  TANTU_CHECK(factor_, ValueError, "LambdaLR: the function is empty");
  restart();
}
double LambdaLR::rate(int64_t epoch, double, double base) const {
  return base * factor_(epoch);
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, const OneCycleOptions& options)
    : LRScheduler(optimizer), options_(options) {
  TANTU_CHECK(options.total_steps > 0, ValueError, "OneCycleLR: expected positive integer total_steps, but got {}",
              options.total_steps);
  TANTU_CHECK(options.pct_start >= 0 && options.pct_start <= 1, ValueError,
              "OneCycleLR: expected float between 0 and 1 pct_start, but got {}", options.pct_start);
  if (options.cycle_momentum)
    for (const ParamGroup& group : optimizer.param_groups()) momentum_name("OneCycleLR", group);
  restart();
}

double OneCycleLR::between(int64_t epoch, double low, double high, double last) const {
  const double total = static_cast<double>(options_.total_steps), t = static_cast<double>(epoch);
  struct Phase {
    double end, from, to;
  };
  const double up = options_.pct_start * total - 1;
  const std::vector<Phase> phases =
      options_.three_phase
          ? std::vector<Phase>{{up, low, high}, {2 * options_.pct_start * total - 2, high, low}, {total - 1, low, last}}
          : std::vector<Phase>{{up, low, high}, {total - 1, high, last}};
  double start = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    const Phase& p = phases[i];
    if (t <= p.end || i + 1 == phases.size()) {
      const double part = (t - start) / (p.end - start);
      return options_.linear ? (p.to - p.from) * part + p.from : p.to + (p.from - p.to) / 2 * (std::cos(pi * part) + 1);
    }
    start = p.end;
  }
  return last;
}

double OneCycleLR::rate(int64_t epoch, double, double) const {
  TANTU_CHECK(epoch < options_.total_steps, ValueError,
              "OneCycleLR: Tried to step {} times. The specified number of total steps is {}", epoch + 1,
              options_.total_steps);
  const double low = options_.max_lr / options_.div_factor;
  return between(epoch, low, options_.max_lr, low / options_.final_div_factor);
}

void OneCycleLR::apply_more(int64_t epoch, ParamGroup& group) const {
  if (options_.cycle_momentum)
    group[momentum_name("OneCycleLR", group)] =
        between(epoch, options_.max_momentum, options_.base_momentum, options_.max_momentum);
}

CyclicLR::CyclicLR(Optimizer& optimizer, const CyclicOptions& options) : LRScheduler(optimizer), options_(options) {
  TANTU_CHECK(options.step_size_up > 0 && options.step_size_down >= 0, ValueError,
              "CyclicLR: step sizes must be positive, but got {} and {}", options.step_size_up, options.step_size_down);
  if (options_.step_size_down == 0) options_.step_size_down = options_.step_size_up;
  if (options.cycle_momentum)
    for (const ParamGroup& group : optimizer.param_groups()) momentum_name("CyclicLR", group);
  restart();
}

double CyclicLR::height(int64_t epoch) const {
  const double up = static_cast<double>(options_.step_size_up),
               total = up + static_cast<double>(options_.step_size_down);
  const double t = static_cast<double>(epoch), cycle = std::floor(1 + t / total), x = 1 + t / total - cycle,
               ratio = up / total;
  const double rise = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  switch (options_.mode) {
    case CyclicOptions::Triangular2: return rise / std::pow(2.0, cycle - 1);
    case CyclicOptions::ExpRange: return rise * std::pow(options_.gamma, t);
    default: return rise;
  }
}

double CyclicLR::rate(int64_t epoch, double, double) const {
  return options_.base_lr + (options_.max_lr - options_.base_lr) * height(epoch);
}

void CyclicLR::apply_more(int64_t epoch, ParamGroup& group) const {
  if (options_.cycle_momentum)
    group[momentum_name("CyclicLR", group)] =
        options_.max_momentum - (options_.max_momentum - options_.base_momentum) * height(epoch);
}

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  TANTU_CHECK(!schedulers_.empty() && milestones_.size() + 1 == schedulers_.size(), ValueError,
              "SequentialLR: expects one milestone less than schedulers, but got {} and {}", milestones_.size(),
              schedulers_.size());
  TANTU_CHECK(std::is_sorted(milestones_.begin(), milestones_.end()), ValueError,
              "SequentialLR: milestones must not decrease");
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    TANTU_CHECK(schedulers_[i], ValueError, "SequentialLR: a scheduler is null");
    TANTU_CHECK(&schedulers_[i]->optimizer() == &optimizer, ValueError,
                "SequentialLR: got schedulers at index {} that do not belong to the passed optimizer", i);
  }
  schedulers_[0]->restart();
}

void SequentialLR::step() {
  ++epoch_;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), epoch_);
  const auto index = static_cast<size_t>(next - milestones_.begin());
  if (index > 0 && milestones_[index - 1] == epoch_) schedulers_[index]->restart();
  else schedulers_[index]->step();
}

void SequentialLR::restart() {
  epoch_ = 0;
  schedulers_[0]->restart();
}

double SequentialLR::rate(int64_t, double lr, double) const {
  return lr;
}

std::map<std::string, double> SequentialLR::state_dict() const {
  std::map<std::string, double> state{{"last_epoch", static_cast<double>(epoch_)}};
  for (size_t i = 0; i < schedulers_.size(); ++i)
    for (const auto& [key, value] : schedulers_[i]->state_dict()) state[fmt::format("scheduler/{}/{}", i, key)] = value;
  return state;
}

void SequentialLR::load_state_dict(const std::map<std::string, double>& state) {
  const int64_t epoch = take_count("SequentialLR", state, "last_epoch");
  std::vector<std::map<std::string, double>> parts(schedulers_.size());
  size_t known = 1;
  for (size_t i = 0; i < schedulers_.size(); ++i)
    for (const auto& [key, value] : schedulers_[i]->state_dict()) {
      parts[i][key] = take("SequentialLR", state, fmt::format("scheduler/{}/{}", i, key));
      ++known;
    }
  check_size("SequentialLR", state, known);
  std::vector<std::map<std::string, double>> before;
  for (const auto& s : schedulers_) before.push_back(s->state_dict());
  try {
    for (size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->load_state_dict(parts[i]);
  } catch (...) {
    for (size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->load_state_dict(before[i]);
    throw;
  }
  epoch_ = epoch;
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options)
    : optimizer_(optimizer), options_(options), best_(options.maximize ? -INFINITY : INFINITY) {
  TANTU_CHECK(options.factor > 0 && options.factor < 1, ValueError,
              "ReduceLROnPlateau: factor should be < 1.0, but got {}", options.factor);
}

bool ReduceLROnPlateau::better(double metric) const {
  if (options_.absolute)
    return options_.maximize ? metric > best_ + options_.threshold : metric < best_ - options_.threshold;
  return options_.maximize ? metric > best_ * (1 + options_.threshold) : metric < best_ * (1 - options_.threshold);
}

void ReduceLROnPlateau::step(double metric) {
  if (better(metric)) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_ = 0;
  }
  if (bad_ <= options_.patience) return;
  for (ParamGroup& group : optimizer_.param_groups()) {
    const double lr = std::max(group["lr"] * options_.factor, options_.min_lr);
    if (group["lr"] - lr > options_.eps) group["lr"] = lr;
  }
  cooldown_ = options_.cooldown;
  bad_ = 0;
}

std::map<std::string, double> ReduceLROnPlateau::state_dict() const {
  return {{"best", best_},
          {"num_bad_epochs", static_cast<double>(bad_)},
          {"cooldown_counter", static_cast<double>(cooldown_)}};
}

void ReduceLROnPlateau::load_state_dict(const std::map<std::string, double>& state) {
  check_size("ReduceLROnPlateau", state, 3);
  const double best = take_number("ReduceLROnPlateau", state, "best", true);
  const int64_t bad = take_count("ReduceLROnPlateau", state, "num_bad_epochs"),
                cooldown = take_count("ReduceLROnPlateau", state, "cooldown_counter");
  best_ = best;
  bad_ = bad;
  cooldown_ = cooldown;
}

}  // namespace tantu::optim::lr_scheduler
