#pragma once

#include <tantu/nn/module.h>

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>

namespace tantu::nn {

/// A module of any kind, as lists of modules hold it.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module) : module_(std::make_shared<M>(std::move(module))) {}
  AnyModule(std::shared_ptr<Module> module) : module_(std::move(module)) {}
  const std::shared_ptr<Module>& get() const { return module_; }

 private:
  std::shared_ptr<Module> module_;
};

/// Modules one after the other, keys "0", "1", …: `nn::Sequential{nn::Linear(2, 30), nn::ReLU(), nn::Linear(30, 2)}`.
/// In braces, since C++ makes the elements of braces in order and the arguments of parentheses in any: the order
/// decides which random numbers each layer draws.
class Sequential : public Module {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<AnyModule> modules) {
    for (const AnyModule& m : modules) push_back(m);
  }
  void push_back(const AnyModule& module) { add_child(std::to_string(size()), module.get()); }

  Tensor forward(const Tensor& x) override;
  size_t size() const { return children().size(); }
  /// IndexError outside of [0, size).
  Module& operator[](size_t i) const;
};

/// A list of modules that registers them, keys "0", "1", …; what to do with them is the owner's business.
class ModuleList : public Module {
 public:
  ModuleList() = default;
  void push_back(const AnyModule& module) { add_child(std::to_string(size()), module.get()); }
  size_t size() const { return children().size(); }
  /// IndexError outside of [0, size).
  Module& operator[](size_t i) const;
};

}  // namespace tantu::nn
