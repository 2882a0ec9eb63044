#pragma once

#include <tantu/nn/module.h>

/// The pointwise activations as modules, with PyTorch's names and defaults.
namespace tantu::nn {

/// Declares `class NAME : Module` around one function of a tensor: their forward is all that differs.
#define TANTU_ACTIVATION(NAME)                \
  class NAME : public Module {                \
   public:                                    \
    Tensor forward(const Tensor& x) override; \
  }

TANTU_ACTIVATION(ReLU);
TANTU_ACTIVATION(ReLU6);
TANTU_ACTIVATION(SiLU);
TANTU_ACTIVATION(SELU);
TANTU_ACTIVATION(Sigmoid);
TANTU_ACTIVATION(Tanh);
TANTU_ACTIVATION(Hardswish);
TANTU_ACTIVATION(Mish);
TANTU_ACTIVATION(LogSigmoid);
#undef TANTU_ACTIVATION

class GELU : public Module {
 public:
  /// `approximate` is "none" or "tanh".
  explicit GELU(const std::string& approximate = "none");
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  std::string approximate_;
};

class ELU : public Module {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double alpha_;
};

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : negative_slope_(negative_slope) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double negative_slope_;
};

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double beta_, threshold_;
};

class Hardtanh : public Module {
 public:
  explicit Hardtanh(double min_val = -1, double max_val = 1) : min_(min_val), max_(max_val) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double min_, max_;
};

class Softmax : public Module {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  int64_t dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  int64_t dim_;
};

}  // namespace tantu::nn
