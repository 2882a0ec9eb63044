#pragma once

#include <tantu/autograd/node.h>

#include <functional>
#include <map>
#include <string>

namespace tantu::golden {

/// The inputs of a case of ops.json, by name.
class Inputs {
 public:
  explicit Inputs(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  const Tensor& operator[](const char* name) const { return tensors_.at(name); }

 private:
  std::map<std::string, Tensor> tensors_;
};

using Call = std::function<TensorList(const Inputs&)>;
/// The call of each case that can be run, by the case's name.
const std::map<std::string, Call>& cases();

}  // namespace tantu::golden
