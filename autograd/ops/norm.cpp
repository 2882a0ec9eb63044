#include <tantu/autograd/ops/norm.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/layer_norm.h>

#include <limits>

namespace tantu {

namespace {

ConstView view_or_none(const Tensor& t, const Shape& as) {
  if (!t.defined()) return {};
  ConstView v = t.in();
  v.sizes = as;
  v.strides = contiguous_strides(as);
  return v;
}
View view_or_none(Tensor& t, const Shape& as) {
  if (!t.defined()) return {};
  View v = t.out();
  v.sizes = as;
  v.strides = contiguous_strides(as);
  return v;
}

void check_inputs(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  tape::common_device(op, {{"input", &x}, {"weight", &weight}, {"bias", &bias}});
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "{}: expected a floating point input, but got {}", op, x.dtype());
  for (const Tensor* t : {&weight, &bias})
    TANTU_CHECK(!t->defined() || t->dtype() == x.dtype(), DTypeError,
                "{}: weight and bias must have the input's dtype {}, but got {}", op, x.dtype(), t->dtype());
}

// One normalization over the last dimensions: how x splits into rows, and what is done to each.
struct RowNorm {
  const char* op;
  int dims;  // how many of x's last dimensions make a row
  double eps;
  bool centered;

  Shape rows(const Tensor& x) const {
    int64_t count = 1, n = 1;
    for (int d = 0; d < x.sizes().size(); ++d) (d < x.sizes().size() - dims ? count : n) *= x.sizes()[d];
    return {count, n};
  }
};

// The gradients as differentiable operations, in the words of the formula; in float64, as the kernel.
TensorList expression(const RowNorm& norm, const Tensor& given, const Tensor& input, const Tensor& factor,
                      const Shape& bias_sizes) {
  const Tensor g = given.to(kFloat64), x = input.to(kFloat64), weight = factor.defined() ? factor.to(kFloat64) : factor;
  const double n = static_cast<double>(norm.rows(x)[1]);
  Dims last;
  for (int d = 1; d <= norm.dims; ++d) last.push_back(-d);
  const auto mean = [&](const Tensor& t) { return sum(t, last, true) / n; };
  Tensor centered = x;
  for (int pass = 0; norm.centered && pass < 2; ++pass)
    centered = centered - mean(centered);  // the second mends rounding
  const Tensor rstd = 1 / sqrt(mean(centered * centered) + norm.eps);
  const Tensor normal = centered * rstd;
  const Tensor gw = weight.defined() ? g * weight : g;
  Tensor inner = gw - normal * mean(gw * normal);
  if (norm.centered) inner = inner - mean(gw);
  TensorList result{rstd * inner, Tensor(), Tensor()};
  if (weight.defined()) result[1] = sum_to_size(g * normal, weight.sizes());
  if (bias_sizes.size() > 0) result[2] = sum_to_size(g, bias_sizes);
  for (Tensor& t : result)
    if (t.defined()) t = t.to(input.dtype());
  return result;
}

TensorList fused(const RowNorm& norm, const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& stats,
                 const bool (&needs)[3]) {
  const Shape rows = norm.rows(x), one{rows[1]};
  const Tensor gc = g.contiguous(), xc = x.detach().contiguous(),
               w = weight.defined() ? weight.detach().contiguous() : weight;
  Shape parameter;
  for (int d = x.sizes().size() - norm.dims; d < x.sizes().size(); ++d) parameter.push_back(x.sizes()[d]);
  TensorList result(3);
  for (size_t i = 0; i < 3; ++i)
    if (needs[i]) result[i] = make_tensor(norm.op, i == 0 ? x.sizes() : parameter, x.dtype(), x.device());
  on_device(x.device(), norm.op, [&](auto& ctx) {
    layer_norm_backward(ctx, view_or_none(gc, rows), view_or_none(xc, rows), view_or_none(w, one), stats.in(),
                        view_or_none(result[0], rows), view_or_none(result[1], one), view_or_none(result[2], one),
                        norm.centered);
  });
  return result;
}

Tensor normalize_rows(const RowNorm& norm, const char* grad_name, const Tensor& x, const Tensor& weight,
                      const Tensor& bias) {
  const Shape rows = norm.rows(x), one{rows[1]};
  const auto plain = [](const Tensor& t) { return t.defined() ? t.detach().contiguous() : t; };
  const Tensor xc = plain(x), w = plain(weight), b = plain(bias);
  Tensor y = make_tensor(norm.op, x.sizes(), x.dtype(), x.device());
  Tensor stats = make_tensor(norm.op, {rows[0], 2}, kFloat64, x.device());
  on_device(x.device(), norm.op, [&](auto& ctx) {
    layer_norm_forward(ctx, view_or_none(xc, rows), view_or_none(w, one), view_or_none(b, one), view_or_none(y, rows),
                       stats.out(), norm.eps, norm.centered);
  });
  if (tape::wants(x, weight, bias))
    tape::record(grad_name, {&y}, {x, weight, bias}, {tape::Saved(x), tape::Saved(weight), tape::Saved(stats)},
                 [norm, bias_sizes = bias.defined() ? bias.sizes() : Shape()](tape::Backward& b) {
                   const Tensor g = b.grad(), x = b.saved(0), weight = b.saved(1);
                   if (is_grad_enabled()) return expression(norm, g, x, weight, bias_sizes);
                   const bool needs[3] = {b.needs(0), b.needs(1), b.needs(2)};
                   return fused(norm, g, x, weight, b.saved(2), needs);
                 });
  return y;
}

void check_normalized_shape(const char* op, const Tensor& x, const Shape& normalized, const Tensor& weight,
                            const Tensor& bias) {
  TANTU_CHECK(
      !normalized.empty(), ShapeError,
      "{}: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got {}",
      op, normalized);
  const int lead = x.sizes().size() - normalized.size();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < normalized.size(); ++d) fits = x.sizes()[lead + d] == normalized[d];
  TANTU_CHECK(fits, ShapeError,
              "{}: Given normalized_shape={}, expected input with shape ending in it, but got input of size {}", op,
              normalized, x.sizes());
  TANTU_CHECK(!weight.defined() || weight.sizes() == normalized, ShapeError,
              "{}: Expected weight to be of same shape as normalized_shape, but got weight of shape {} and "
              "normalized_shape = {}",
              op, weight.sizes(), normalized);
  TANTU_CHECK(
      !bias.defined() || bias.sizes() == normalized, ShapeError,
      "{}: Expected bias to be of same shape as normalized_shape, but got bias of shape {} and normalized_shape = {}",
      op, bias.sizes(), normalized);
}

// Of the type computed in: the half types compute in float32.
double smallest_step(DType t) {
  if (t == kFloat64) return std::numeric_limits<double>::epsilon();
  return static_cast<double>(std::numeric_limits<float>::epsilon());
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias, double eps,
                  Site at) {
  tape::Op op("layer_norm", at);
  check_inputs("layer_norm", x, weight, bias);
  check_normalized_shape("layer_norm", x, normalized_shape, weight, bias);
  return normalize_rows({"layer_norm", normalized_shape.size(), eps, true}, "NativeLayerNormBackward0", x, weight,
                        bias);
}

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, std::optional<double> eps,
                Site at) {
  tape::Op op("rms_norm", at);
  check_inputs("rms_norm", x, weight, {});
  check_normalized_shape("rms_norm", x, normalized_shape, weight, {});
  const double step = eps.value_or(smallest_step(x.dtype()));
  return normalize_rows({"rms_norm", normalized_shape.size(), step, false}, "RmsNormBackward0", x, weight, {});
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps, Site at) {
  tape::Op op("group_norm", at);
  check_inputs("group_norm", x, weight, bias);
  TANTU_CHECK(x.dim() >= 2, ShapeError, "group_norm: Expected at least 2 dimensions for input tensor but received {}",
              x.dim());
  const int64_t channels = x.size(1);
  TANTU_CHECK(channels > 0, ShapeError, "group_norm: Expected number of channels to be greater than 0, got 0");
  TANTU_CHECK(
      num_groups > 0 && channels % num_groups == 0, ValueError,
      "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape {} and "
      "num_groups={}",
      x.sizes(), num_groups);
  Shape grouped{x.size(0), num_groups, channels / num_groups}, per_channel{channels};
  for (int d = 2; d < x.sizes().size(); ++d) {
    grouped.push_back(x.sizes()[d]);
    per_channel.push_back(1);
  }
  Tensor y = reshape(normalize_rows({"group_norm", grouped.size() - 2, eps, true}, "NativeGroupNormBackward0",
                                    reshape(x, grouped), {}, {}),
                     x.sizes());
  for (const Tensor* t : {&weight, &bias})
    TANTU_CHECK(!t->defined() || (t->dim() == 1 && t->numel() == channels), ShapeError,
                "group_norm: Expected weight and bias to be vectors of size equal to the number of channels in input, "
                "but got {} "
                "and input of shape {}",
                t->sizes(), x.sizes());
  if (weight.defined()) y = y * weight.view(per_channel);
  if (bias.defined()) y = y + bias.view(per_channel);
  return y;
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Site at) {
  tape::Op op("instance_norm", at);
  TANTU_CHECK(x.dim() >= 3, ShapeError,
              "instance_norm: Expected at least 3 dimensions for input tensor but received {}", x.dim());
  const int64_t values = x.numel() / std::max<int64_t>(1, x.size(0) * x.size(1));
  TANTU_CHECK(x.numel() == 0 || values > 1, ValueError,
              "instance_norm: Expected more than 1 spatial element when training, got input size {}", x.sizes());
  if (x.size(1) == 0) return x.clone();
  return group_norm(x, x.size(1), weight, bias, eps);
}

}  // namespace tantu
