#include <tantu/nn/module.h>

#include <tantu/autograd/ops/copy.h>
#include <tantu/autograd/tape.h>

#include <fmt/format.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <typeinfo>

namespace tantu::nn {

struct Module::State {
  NamedTensors parameters;
  NamedTensors buffers;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children;
  bool training = true;
};

namespace {

// Calls f(full name, tensor) for the tensors `list(state)` of a module and all below it.
std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string& name, const StateDict& known) {
  std::string best;
  int distance = 1 << 30;
  for (const auto& [other, t] : known) {
    const int d = edit_distance(name, other);
    if (d < distance) {
      distance = d;
      best = other;
    }
  }
  return best;
}

}  // namespace

Module::Module() : state_(std::make_shared<State>()) {}
Module::~Module() = default;

Module::State& Module::state() const {
  TANTU_CHECK(state_, Error, "{}: this module was moved from and holds nothing", name());
  return *state_;
}

Tensor Module::forward(const Tensor&) {
  throw Error(fmt::format("{}: forward(const Tensor&) is not defined; override it", name()));
}

NamedTensors Module::named_parameters() const {
  NamedTensors all;
  std::set<const TensorImpl*> seen;
  const auto collect = [&](const auto& self, const Module& m, const std::string& prefix) -> void {
    for (const auto& [name, t] : m.state().parameters)
      if (t.defined() && seen.insert(t.ref().get()).second) all.emplace_back(joined(prefix, name), t);
    for (const auto& [name, child] : m.state().children) self(self, *child, joined(prefix, name));
  };
  collect(collect, *this, "");
  return all;
}

NamedTensors Module::named_buffers() const {
  NamedTensors all;
  const auto collect = [&](const auto& self, const Module& m, const std::string& prefix) -> void {
    for (const auto& [name, t] : m.state().buffers)
      if (t.defined()) all.emplace_back(joined(prefix, name), t);
    for (const auto& [name, child] : m.state().children) self(self, *child, joined(prefix, name));
  };
  collect(collect, *this, "");
  return all;
}

TensorList Module::parameters() const {
  TensorList list;
  for (auto& [name, t] : named_parameters()) list.push_back(t);
  return list;
}

TensorList Module::buffers() const {
  TensorList list;
  for (auto& [name, t] : named_buffers()) list.push_back(t);
  return list;
}

std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::named_children() const {
  return state().children;
}

std::vector<std::shared_ptr<Module>> Module::children() const {
  std::vector<std::shared_ptr<Module>> list;
  for (const auto& [name, child] : state().children) list.push_back(child);
  return list;
}

std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::named_modules() const {
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> all;
  const auto collect = [&](const auto& self, const Module& m, const std::string& prefix) -> void {
    for (const auto& [name, child] : m.state().children) {
      all.emplace_back(joined(prefix, name), child);
      self(self, *child, joined(prefix, name));
    }
  };
  collect(collect, *this, "");
  return all;
}

Module& Module::apply(const std::function<void(Module&)>& f) {
  for (const auto& child : children()) child->apply(f);
  f(*this);
  return *this;
}

Module& Module::train(bool on) {
  state().training = on;
  for (const auto& [name, child] : state().children) child->train(on);
  return *this;
}

bool Module::is_training() const {
  return state().training;
}

Module& Module::requires_grad_(bool on) {
  for (Tensor& p : parameters()) p.requires_grad_(on);
  return *this;
}

void Module::zero_grad(bool set_to_none) {
  for (Tensor& p : parameters()) {
    if (!p.grad().defined()) continue;
    if (set_to_none) p.set_grad({});
    else p.grad().detach().zero_();
  }
}

namespace {

template <class Move>
void move_all(const Module& module, Move&& move) {
  NoGradGuard no_grad;
  for (Tensor& p : module.parameters()) {
    const Tensor g = p.grad();
    set_data(p, move(p.detach()));
    if (g.defined()) p.set_grad(move(g.detach()));
  }
  for (Tensor& b : module.buffers()) set_data(b, move(b));
}

}  // namespace

Module& Module::to(Device device, Site at) {
  tape::Op op("Module::to", at);
  move_all(*this, [&](const Tensor& t) { return t.to(device); });
  return *this;
}

Module& Module::to(DType dtype, Site at) {
  tape::Op op("Module::to", at);
  TANTU_CHECK(is_floating(dtype), DTypeError, "Module::to: only accepts floating point dtypes, but got {}", dtype);
  move_all(*this, [&](const Tensor& t) { return is_floating(t.dtype()) ? t.to(dtype) : t; });
  return *this;
}

int64_t Module::num_parameters() const {
  int64_t total = 0;
  for (const Tensor& p : parameters()) total += p.numel();
  return total;
}

StateDict Module::state_dict() const {
  StateDict all;
  const auto collect = [&](const auto& self, const Module& m, const std::string& prefix) -> void {
    for (const auto& [name, t] : m.state().parameters)
      if (t.defined()) all[joined(prefix, name)] = t.detach();
    for (const auto& [name, t] : m.state().buffers)
      if (t.defined()) all[joined(prefix, name)] = t.detach();
    for (const auto& [name, child] : m.state().children) self(self, *child, joined(prefix, name));
  };
  collect(collect, *this, "");
  return all;
}

LoadResult Module::load_state_dict(const StateDict& given, bool strict) {
  LoadResult result;
  StateDict own = state_dict();
  for (const auto& [name, t] : own) {
    const auto found = given.find(name);
    if (found == given.end()) result.missing.push_back(name);
    else if (!(found->second.sizes() == t.sizes()))
      result.mismatched.push_back(
          fmt::format("{}: shape {} given, {} expected", name, found->second.sizes(), t.sizes()));
  }
  for (const auto& [name, t] : given)
    if (!own.count(name)) result.unexpected.push_back(name);
  if (strict && !(result.missing.empty() && result.unexpected.empty() && result.mismatched.empty())) {
    std::string text = fmt::format("load_state_dict: the dictionary does not fit {}:", name());
    for (const std::string& n : result.missing) text += fmt::format("\n  missing: {}", n);
    for (const std::string& n : result.unexpected)
      text += fmt::format("\n  unexpected: {} (nearest name: {})", n, nearest(n, own));
    for (const std::string& n : result.mismatched) text += fmt::format("\n  mismatched: {}", n);
    throw ShapeError(text);
  }
  NoGradGuard no_grad;
  for (auto& [name, t] : own) {
    const auto found = given.find(name);
    if (found != given.end() && found->second.sizes() == t.sizes()) t.copy_(found->second.detach());
  }
  return result;
}

std::string Module::name() const {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  std::string full = status == 0 && text ? text : typeid(*this).name();
  std::free(text);
  const size_t colon = full.rfind("::");
  return colon == std::string::npos ? full : full.substr(colon + 2);
}

std::string Module::extra_repr() const {
  return "";
}

std::string Module::to_string() const {
  if (state().children.empty()) return fmt::format("{}({})", name(), extra_repr());
  std::string text = name() + "(\n";
  for (const auto& [key, child] : state().children) {
    std::string inner = child->to_string();
    for (size_t at = inner.find('\n'); at != std::string::npos; at = inner.find('\n', at + 3))
      inner.insert(at + 1, "  ");
    text += fmt::format("  ({}): {}\n", key, inner);
  }
  return text + ")";
}

namespace {

void check_name(const std::string& module, const std::string& name, bool taken) {
  TANTU_CHECK(!name.empty() && name.find('.') == std::string::npos, ValueError,
              "{}: a name must not be empty or contain '.', but got \"{}\"", module, name);
  TANTU_CHECK(!taken, ValueError, "{}: the name \"{}\" is registered already", module, name);
}

template <class List>
bool has(const List& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

Tensor Module::register_parameter(const std::string& key, Tensor value, bool requires_grad) {
  State& s = state();
  check_name(name(), key, has(s.parameters, key) || has(s.buffers, key) || has(s.children, key));
  if (value.defined()) {
    TANTU_CHECK(value.is_leaf(), AutogradError, "{}: cannot register the non-leaf tensor \"{}\" as a parameter", name(),
                key);
    value.requires_grad_(requires_grad);
  }
  s.parameters.emplace_back(key, value);
  return value;
}

Tensor Module::register_buffer(const std::string& key, Tensor value) {
  State& s = state();
  check_name(name(), key, has(s.parameters, key) || has(s.buffers, key) || has(s.children, key));
  s.buffers.emplace_back(key, value);
  return value;
}

void Module::add_child(const std::string& key, std::shared_ptr<Module> module) {
  State& s = state();
  TANTU_CHECK(module, ValueError, "{}: the module \"{}\" is null", name(), key);
  check_name(name(), key, has(s.parameters, key) || has(s.buffers, key) || has(s.children, key));
  std::vector<const Module*> below{module.get()};
  while (!below.empty()) {
    const Module* m = below.back();
    below.pop_back();
    TANTU_CHECK(m->state_ != state_, ValueError, "{}: the module \"{}\" holds this one, which would hold itself",
                name(), key);
    for (const auto& [unused, child] : m->state().children) below.push_back(child.get());
  }
  s.children.emplace_back(key, std::move(module));
}

fmt::format_context::iterator write_module(const Module& module, fmt::format_context& ctx) {
  return fmt::format_to(ctx.out(), "{}", module.to_string());
}

}  // namespace tantu::nn
