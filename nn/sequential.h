#pragma once

#include <tantu/nn/module.h>

namespace tantu::nn {

/// Modules one after the other, keys "0", "1", …: `nn::Sequential(nn::Linear(2, 30), nn::ReLU(), nn::Linear(30, 2))`.
class Sequential : public Module {
 public:
  Sequential() = default;
  template <class... Modules>
    requires(sizeof...(Modules) > 0 && (std::is_base_of_v<Module, Modules> && ...) &&
             !(sizeof...(Modules) == 1 && (std::is_same_v<Modules, Sequential> && ...)))
  explicit Sequential(Modules... modules) {
    (push_back(std::move(modules)), ...);
  }

  template <class M>
  void push_back(M module) {
    push_back(std::static_pointer_cast<Module>(std::make_shared<M>(std::move(module))));
  }
  void push_back(std::shared_ptr<Module> module) { add_child(std::to_string(size()), std::move(module)); }

  Tensor forward(const Tensor& x) override;
  size_t size() const { return children().size(); }
  /// IndexError outside of [0, size).
  Module& operator[](size_t i) const;
};

/// A list of modules that registers them, keys "0", "1", …; what to do with them is the owner's business.
class ModuleList : public Module {
 public:
  ModuleList() = default;
  template <class M>
  void push_back(M module) {
    push_back(std::static_pointer_cast<Module>(std::make_shared<M>(std::move(module))));
  }
  void push_back(std::shared_ptr<Module> module) { add_child(std::to_string(size()), std::move(module)); }
  size_t size() const { return children().size(); }
  /// IndexError outside of [0, size).
  Module& operator[](size_t i) const;
};

}  // namespace tantu::nn
