#pragma once

#include <tantu/nn/module.h>

namespace tantu::nn {

/// In training each element is 0 with probability p, the others are scaled by 1 / (1 - p). In eval mode the identity.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double p_;
};

}  // namespace tantu::nn
