#include <tantu/optim/optimizer.h>

#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/tape.h>

#include <algorithm>
#include <charconv>

namespace tantu::optim {

void check_setting(const char* optimizer, const char* setting, double value, bool ok) {
  TANTU_CHECK(ok, ValueError, "{}: Invalid {}: {}", optimizer, setting, value);
}

double& ParamGroup::operator[](const std::string& name) {
  const auto found = settings.find(name);
  TANTU_CHECK(found != settings.end(), ValueError, "param_group: this optimizer has no setting \"{}\"", name);
  return found->second;
}

double ParamGroup::operator[](const std::string& name) const {
  return const_cast<ParamGroup&>(*this)[name];
}

Optimizer::Optimizer(const char* name, TensorList params, std::map<std::string, double> defaults,
                     std::vector<std::string> state_tensors, std::vector<std::string> state_numbers)
    : name_(name),
      defaults_(std::move(defaults)),
      state_tensors_(std::move(state_tensors)),
      state_numbers_(std::move(state_numbers)) {
  TANTU_CHECK(!params.empty(), ValueError, "{}: optimizer got an empty parameter list", name_);
  add_param_group({std::move(params), {}});
}

Optimizer::~Optimizer() = default;

void Optimizer::check_param(const Tensor& p) const {
  TANTU_CHECK(p.defined(), ValueError, "{}: a parameter is an undefined tensor", name_);
  TANTU_CHECK(p.is_leaf(), ValueError, "{}: can't optimize a non-leaf Tensor ({} {})", name_, p.dtype(), p.sizes());
  TANTU_CHECK(is_floating(p.dtype()), DTypeError, "{}: parameters must be floating, but one is {}", name_, p.dtype());
}

void Optimizer::add_param_group(ParamGroup group) {
  for (size_t i = 0; i < group.params.size(); ++i) {
    check_param(group.params[i]);
    for (size_t j = 0; j < i; ++j)
      TANTU_CHECK(!group.params[i].is_same(group.params[j]), ValueError, "{}: a parameter appears twice in a group",
                  name_);
    for (const ParamGroup& other : groups_)
      for (const Tensor& p : other.params)
        TANTU_CHECK(!group.params[i].is_same(p), ValueError,
                    "{}: some parameters appear in more than one parameter group", name_);
  }
  for (const auto& [name, value] : group.settings)
    TANTU_CHECK(defaults_.count(name), ValueError, "{}: has no setting \"{}\"", name_, name);
  group.settings.insert(defaults_.begin(), defaults_.end());
  groups_.push_back(std::move(group));
}

void Optimizer::step(Site at) {
  tape::Op op(name_, at);
  NoGradGuard no_grad;
  for (ParamGroup& group : groups_) {
    std::vector<Item> items;
    for (Tensor& p : group.params) {
      const Tensor g = p.grad();
      if (!g.defined()) continue;
      State& state = states_[p.ref().get()];
      state.step += 1;
      items.push_back({state, p, g});
    }
    update(group, items);
    for (Item& item : items) item.p.impl().storage->bump_version();
  }
}

void Optimizer::zero_grad(bool set_to_none) {
  for (ParamGroup& group : groups_)
    for (Tensor& p : group.params) {
      Tensor g = p.grad();
      if (!g.defined()) continue;
      if (set_to_none) p.set_grad({});
      else g.detach().zero_();
    }
}

Tensor& Optimizer::State::tensor(const char* name, const Tensor& like, double value) {
  Tensor& t = tensors[name];
  if (!t.defined()) t = full_like(like.detach(), value);
  return t;
}

OptimizerState Optimizer::state_dict() const {
  OptimizerState result;
  size_t index = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const auto& [name, value] : groups_[g].settings) result.numbers[fmt::format("group/{}/{}", g, name)] = value;
    for (const Tensor& p : groups_[g].params) {
      const auto found = states_.find(p.ref().get());
      if (found != states_.end()) {
        result.numbers[fmt::format("{}/step", index)] = found->second.step;
        for (const auto& [name, value] : found->second.numbers)
          result.numbers[fmt::format("{}/{}", index, name)] = value;
        for (const auto& [name, t] : found->second.tensors)
          result.tensors[fmt::format("{}/{}", index, name)] = t.clone();
      }
      ++index;
    }
  }
  return result;
}

namespace {

// "12/exp_avg" → 12 and "exp_avg".
std::pair<size_t, std::string> split_key(const char* optimizer, const std::string& key) {
  const size_t slash = key.find('/');
  size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + (slash == std::string::npos ? 0 : slash), index);
  TANTU_CHECK(slash != std::string::npos && error == std::errc{} && end == key.data() + slash && slash + 1 < key.size(),
              FormatError, "{}: load_state_dict: unknown entry \"{}\"", optimizer, key);
  return {index, key.substr(slash + 1)};
}

}  // namespace

void Optimizer::load_state_dict(const OptimizerState& state) {
  std::vector<const Tensor*> params;
  for (const ParamGroup& group : groups_)
    for (const Tensor& p : group.params) params.push_back(&p);

  std::vector<ParamGroup> groups = groups_;
  std::unordered_map<TensorImpl*, State> states;
  std::map<std::string, double> numbers = state.numbers;
  for (size_t g = 0; g < groups.size(); ++g)
    for (auto& [name, value] : groups[g].settings) {
      const auto found = numbers.find(fmt::format("group/{}/{}", g, name));
      TANTU_CHECK(found != numbers.end(), FormatError, "{}: load_state_dict: group {} lacks \"{}\"", name_, g, name);
      value = found->second;
      numbers.erase(found);
    }
  const auto check_known = [&](const std::vector<std::string>& names, const std::string& name, const std::string& key) {
    TANTU_CHECK(std::find(names.begin(), names.end(), name) != names.end(), FormatError,
                "{}: load_state_dict: unknown entry \"{}\"", name_, key);
  };
  const auto state_of = [&](const std::string& key, size_t index) -> State& {
    TANTU_CHECK(index < params.size(), FormatError, "{}: load_state_dict: \"{}\" is beyond the {} parameters", name_,
                key, params.size());
    return states[params[index]->ref().get()];
  };
  for (const auto& [key, value] : numbers) {
    const auto [index, name] = split_key(name_, key);
    State& s = state_of(key, index);
    if (name == "step") {
      s.step = value;
      continue;
    }
    check_known(state_numbers_, name, key);
    s.numbers[name] = value;
  }
  for (const auto& [key, t] : state.tensors) {
    const auto [index, name] = split_key(name_, key);
    State& s = state_of(key, index);
    check_known(state_tensors_, name, key);
    const Tensor& p = *params[index];
    TANTU_CHECK(t.sizes() == p.sizes(), FormatError, "{}: load_state_dict: \"{}\" has shape {}, its parameter {}",
                name_, key, t.sizes(), p.sizes());
    s.tensors[name] = t.detach().to(p.device(), p.dtype()).clone();
  }
  for (const auto& [impl, s] : states)
    TANTU_CHECK(s.step > 0, FormatError, "{}: load_state_dict: a parameter's state lacks its step", name_);
  groups_ = std::move(groups);
  states_ = std::move(states);
}

}  // namespace tantu::optim
