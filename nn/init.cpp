#include <tantu/nn/init.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tantu::nn::init {

namespace {

int64_t fan(const char* op, const Tensor& t, std::string_view mode) {
  TANTU_CHECK(mode == "fan_in" || mode == "fan_out", ValueError,
              "{}: mode {} not supported, please use one of fan_in, fan_out", op, mode);
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  return mode == "fan_in" ? in : out;
}

double xavier_std(const Tensor& t, double gain) {
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  return gain * std::sqrt(2.0 / static_cast<double>(in + out));
}

double kaiming_std(const char* op, const Tensor& t, double a, std::string_view mode, std::string_view nonlinearity) {
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan(op, t, mode)));
}

double normal_cdf(double x) {
  return (1.0 + std::erf(x / std::sqrt(2.0))) / 2.0;
}

// The x with erf(x) = y. Starts from Winitzki's closed form (2008) and mends it by Newton's rule.
double inverse_erf(double y) {
  if (!(std::abs(y) < 1)) return std::copysign(INFINITY, y);
  const double a = 0.147, l = std::log1p(-y * y), b = 2 / (std::numbers::pi * a) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - l / a) - b), y);
  for (int i = 0; i < 4; ++i) x -= (std::erf(x) - y) * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
  return x;
}

}  // namespace

Tensor uniform_(Tensor t, double from, double to, std::optional<Generator> generator, Site at) {
  tape::Op op("init.uniform_", at);
  NoGradGuard no_grad;
  return t.uniform_(from, to, std::move(generator));
}

Tensor normal_(Tensor t, double mean, double std, std::optional<Generator> generator, Site at) {
  tape::Op op("init.normal_", at);
  NoGradGuard no_grad;
  return t.normal_(mean, std, std::move(generator));
}

Tensor trunc_normal_(Tensor t, double mean, double std, double a, double b, std::optional<Generator> generator,
                     Site at) {
  tape::Op op("init.trunc_normal_", at);
  TANTU_CHECK(std > 0 && std::isfinite(std), ValueError, "trunc_normal_: expects std > 0.0, but found std {}", std);
  TANTU_CHECK(a <= b, ValueError, "trunc_normal_: expects a <= b, but found a={} > b={}", a, b);
  const double low = normal_cdf((a - mean) / std), high = normal_cdf((b - mean) / std);
  NoGradGuard no_grad;
  t.uniform_(2 * low - 1, 2 * high - 1, std::move(generator));
  Tensor values = t.to(kCPU, kFloat64).contiguous().clone();
  double* data = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i)
    data[i] = std::clamp(mean + inverse_erf(data[i]) * (std * std::sqrt(2.0)), a, b);
  return t.copy_(values.to(t.device()));
}

Tensor constant_(Tensor t, double value, Site at) {
  tape::Op op("init.constant_", at);
  NoGradGuard no_grad;
  return t.fill_(value);
}

Tensor ones_(Tensor t, Site at) {
  return constant_(std::move(t), 1, at);
}
Tensor zeros_(Tensor t, Site at) {
  return constant_(std::move(t), 0, at);
}

Tensor eye_(Tensor t, Site at) {
  tape::Op op("init.eye_", at);
  TANTU_CHECK(t.dim() == 2, ValueError, "eye_: only tensors with 2 dimensions are supported, but got {}", t.sizes());
  NoGradGuard no_grad;
  t.zero_();
  t.diagonal().fill_(1);
  return t;
}

std::pair<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& t) {
  TANTU_CHECK(t.dim() >= 2, ValueError,
              "calculate_fan_in_and_fan_out: fan in and fan out can not be computed for a tensor with fewer than 2 "
              "dimensions ({})",
              t.sizes());
  int64_t kernel = 1;
  for (int d = 2; d < t.dim(); ++d) kernel *= t.size(d);
  return {t.size(1) * kernel, t.size(0) * kernel};
}

double calculate_gain(std::string_view nonlinearity, std::optional<double> param) {
  constexpr std::string_view unit[] = {"linear",           "conv1d",           "conv2d",           "conv3d",
                                       "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"};
  if (std::find(std::begin(unit), std::end(unit), nonlinearity) != std::end(unit)) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 3.0 / 4;
  TANTU_CHECK(
      nonlinearity == "leaky_relu", ValueError,
      "calculate_gain: unsupported nonlinearity {} (there are linear, conv1d … conv_transpose3d, sigmoid, tanh, relu, "
      "leaky_relu, selu)",
      nonlinearity);
  const double slope = param.value_or(0.01);
  return std::sqrt(2.0 / (1 + slope * slope));
}

Tensor xavier_uniform_(Tensor t, double gain, std::optional<Generator> generator, Site at) {
  tape::Op op("init.xavier_uniform_", at);
  const double bound = std::sqrt(3.0) * xavier_std(t, gain);
  return uniform_(std::move(t), -bound, bound, std::move(generator));
}

Tensor xavier_normal_(Tensor t, double gain, std::optional<Generator> generator, Site at) {
  tape::Op op("init.xavier_normal_", at);
  const double std = xavier_std(t, gain);
  return normal_(std::move(t), 0, std, std::move(generator));
}

Tensor kaiming_uniform_(Tensor t, double a, std::string_view mode, std::string_view nonlinearity,
                        std::optional<Generator> generator, Site at) {
  tape::Op op("init.kaiming_uniform_", at);
  const double bound = std::sqrt(3.0) * kaiming_std("kaiming_uniform_", t, a, mode, nonlinearity);
  return t.numel() == 0 ? t : uniform_(t, -bound, bound, std::move(generator));
}

Tensor kaiming_normal_(Tensor t, double a, std::string_view mode, std::string_view nonlinearity,
                       std::optional<Generator> generator, Site at) {
  tape::Op op("init.kaiming_normal_", at);
  const double std = kaiming_std("kaiming_normal_", t, a, mode, nonlinearity);
  return t.numel() == 0 ? t : normal_(t, 0, std, std::move(generator));
}

}  // namespace tantu::nn::init
