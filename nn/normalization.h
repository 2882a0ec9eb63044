#pragma once

#include <tantu/nn/module.h>

namespace tantu::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};

/// Normalises over the last dimensions, whose sizes are `normalized_shape`. Keys: weight, bias.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options = {});
  explicit LayerNorm(int64_t size, const LayerNormOptions& options = {}) : LayerNorm(Shape{size}, options) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor weight, bias;

 private:
  Shape shape_;
  LayerNormOptions options_;
};

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
};

/// Normalises each channel (dimension 1) over the batch; in eval mode by the running statistics.
/// Keys: weight, bias, running_mean, running_var, num_batches_tracked.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  BatchNorm(int64_t num_features, const BatchNormOptions& options);
  /// ShapeError unless the rank of x is one of two.
  void check_rank(const Tensor& x, int64_t low, int64_t high) const;

 private:
  int64_t num_features_;
  BatchNormOptions options_;
};

/// For (N, C) and (N, C, L).
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t num_features, const BatchNormOptions& options = {}) : BatchNorm(num_features, options) {}
  Tensor forward(const Tensor& x) override;
};

/// For (N, C, H, W).
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t num_features, const BatchNormOptions& options = {}) : BatchNorm(num_features, options) {}
  Tensor forward(const Tensor& x) override;
};

}  // namespace tantu::nn
