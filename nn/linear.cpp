#include <tantu/nn/linear.h>

#include <tantu/autograd/ops.h>
#include <tantu/nn/init.h>

#include <cmath>

namespace tantu::nn {

Linear::Linear(int64_t in_features, int64_t out_features, const LinearOptions& options) {
  TANTU_CHECK(in_features >= 0 && out_features >= 0, ValueError,
              "Linear: features must not be negative, but got {} and {}", in_features, out_features);
  weight = register_parameter("weight", empty({out_features, in_features}));
  bias = register_parameter("bias", options.bias ? empty({out_features}) : Tensor());
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (bias.defined() && in_features > 0) {
    const double bound = 1 / std::sqrt(static_cast<double>(in_features));
    init::uniform_(bias, -bound, bound);
  }
}

Tensor Linear::forward(const Tensor& x) {
  return linear(x, weight, bias);
}

std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", weight.size(1), weight.size(0),
                     bias.defined() ? "True" : "False");
}

std::string Flatten::extra_repr() const {
  return fmt::format("start_dim={}, end_dim={}", start_dim_, end_dim_);
}

}  // namespace tantu::nn
