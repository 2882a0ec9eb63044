#pragma once

#include <tantu/nn/module.h>

namespace tantu::nn {

struct LinearOptions {
  bool bias = true;
};

/// y = x Wᵀ + b. Keys: weight (out, in), bias (out). Drawn as PyTorch draws: weight, then bias.
class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& options = {});
  Tensor forward(const Tensor& x) override;  // (…, in) → (…, out)
  std::string extra_repr() const override;

  Tensor weight;
  Tensor bias;  ///< undefined without bias
};

/// The input itself: a place holder.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
};

/// Dimensions start_dim … end_dim as one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1) : start_dim_(start_dim), end_dim_(end_dim) {}
  Tensor forward(const Tensor& x) override { return x.flatten(start_dim_, end_dim_); }
  std::string extra_repr() const override;

 private:
  int64_t start_dim_, end_dim_;
};

}  // namespace tantu::nn
