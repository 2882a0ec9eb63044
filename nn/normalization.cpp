#include <tantu/nn/normalization.h>

#include <tantu/autograd/ops.h>

namespace tantu::nn {

LayerNorm::LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options)
    : shape_(normalized_shape), options_(options) {
  checked_numel("LayerNorm", normalized_shape);
  weight = register_parameter("weight", options.elementwise_affine ? ones(normalized_shape) : Tensor());
  bias = register_parameter("bias", options.elementwise_affine && options.bias ? zeros(normalized_shape) : Tensor());
}

Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, shape_, weight, bias, options_.eps);
}

std::string LayerNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}", shape_, options_.eps,
                     options_.elementwise_affine ? "True" : "False");
}

BatchNorm::BatchNorm(int64_t num_features, const BatchNormOptions& options)
    : num_features_(num_features), options_(options) {
  TANTU_CHECK(num_features >= 0, ValueError, "BatchNorm: num_features must not be negative, but got {}", num_features);
  weight = register_parameter("weight", options.affine ? ones({num_features}) : Tensor());
  bias = register_parameter("bias", options.affine ? zeros({num_features}) : Tensor());
  const bool track = options.track_running_stats;
  running_mean = register_buffer("running_mean", track ? zeros({num_features}) : Tensor());
  running_var = register_buffer("running_var", track ? ones({num_features}) : Tensor());
  num_batches_tracked = register_buffer("num_batches_tracked", track ? zeros({}, {.dtype = kInt64}) : Tensor());
}

Tensor BatchNorm::forward(const Tensor& x) {
  TANTU_CHECK(x.size(1) == num_features_, ShapeError, "{}: expected {} channels, but got an input of shape {}", name(),
              num_features_, x.sizes());
  if (is_training() && num_batches_tracked.defined()) num_batches_tracked.add_(1);
  return batch_norm(x, running_mean, running_var, weight, bias, is_training() || !running_mean.defined(),
                    options_.momentum, options_.eps);
}

std::string BatchNorm::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, track_running_stats={}", num_features_, options_.eps,
                     options_.momentum, options_.affine ? "True" : "False",
                     options_.track_running_stats ? "True" : "False");
}

void BatchNorm::check_rank(const Tensor& x, int64_t low, int64_t high) const {
  TANTU_CHECK(x.dim() == low || x.dim() == high, ShapeError, "{}: expected {} input (got {}D input of shape {})",
              name(), low == high ? fmt::format("{}D", low) : fmt::format("{}D or {}D", low, high), x.dim(), x.sizes());
}

Tensor BatchNorm1d::forward(const Tensor& x) {
  check_rank(x, 2, 3);
  return BatchNorm::forward(x);
}

Tensor BatchNorm2d::forward(const Tensor& x) {
  check_rank(x, 4, 4);
  return BatchNorm::forward(x);
}

}  // namespace tantu::nn
