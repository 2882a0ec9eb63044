#include <tantu/nn/activation.h>

#include <tantu/autograd/ops.h>

namespace tantu::nn {

Tensor ReLU::forward(const Tensor& x) {
  return relu(x);
}
Tensor ReLU6::forward(const Tensor& x) {
  return relu6(x);
}
Tensor SiLU::forward(const Tensor& x) {
  return silu(x);
}
Tensor SELU::forward(const Tensor& x) {
  return selu(x);
}
Tensor Sigmoid::forward(const Tensor& x) {
  return sigmoid(x);
}
Tensor Tanh::forward(const Tensor& x) {
  return tanh(x);
}
Tensor Hardswish::forward(const Tensor& x) {
  return hardswish(x);
}
Tensor Mish::forward(const Tensor& x) {
  return mish(x);
}
Tensor LogSigmoid::forward(const Tensor& x) {
  return logsigmoid(x);
}

GELU::GELU(const std::string& approximate) : approximate_(approximate) {
  TANTU_CHECK(approximate == "none" || approximate == "tanh", ValueError,
              "GELU: approximate must be none or tanh, but got \"{}\"", approximate);
}
Tensor GELU::forward(const Tensor& x) {
  return gelu(x, approximate_);
}
std::string GELU::extra_repr() const {
  return fmt::format("approximate='{}'", approximate_);
}

Tensor ELU::forward(const Tensor& x) {
  return elu(x, alpha_);
}
std::string ELU::extra_repr() const {
  return fmt::format("alpha={}", alpha_);
}

Tensor LeakyReLU::forward(const Tensor& x) {
  return leaky_relu(x, negative_slope_);
}
std::string LeakyReLU::extra_repr() const {
  return fmt::format("negative_slope={}", negative_slope_);
}

Tensor Softplus::forward(const Tensor& x) {
  return softplus(x, beta_, threshold_);
}
std::string Softplus::extra_repr() const {
  return fmt::format("beta={}, threshold={}", beta_, threshold_);
}

Tensor Hardtanh::forward(const Tensor& x) {
  return hardtanh(x, min_, max_);
}
std::string Hardtanh::extra_repr() const {
  return fmt::format("min_val={}, max_val={}", min_, max_);
}

Tensor Softmax::forward(const Tensor& x) {
  return softmax(x, dim_);
}
std::string Softmax::extra_repr() const {
  return fmt::format("dim={}", dim_);
}

Tensor LogSoftmax::forward(const Tensor& x) {
  return log_softmax(x, dim_);
}
std::string LogSoftmax::extra_repr() const {
  return fmt::format("dim={}", dim_);
}

}  // namespace tantu::nn
