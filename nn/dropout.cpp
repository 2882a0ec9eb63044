#include <tantu/nn/dropout.h>

#include <tantu/autograd/ops.h>

namespace tantu::nn {

Dropout::Dropout(double p) : p_(p) {
  TANTU_CHECK(p >= 0 && p <= 1, ValueError, "Dropout: dropout probability has to be between 0 and 1, but got {}", p);
}

Tensor Dropout::forward(const Tensor& x) {
  return dropout(x, p_, is_training());
}

std::string Dropout::extra_repr() const {
  return fmt::format("p={}", p_);
}

}  // namespace tantu::nn
