#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/batch_norm.h>

namespace tantu {

namespace {

Shape per_channel(const Tensor& x) {
  Shape shape = Shape::filled(static_cast<int>(x.dim()), 1);
  shape[1] = x.size(1);
  return shape;
}

Shape folded(const Tensor& x) {
  const int64_t inner = x.size(0) * x.size(1) == 0 ? 0 : x.numel() / (x.size(0) * x.size(1));
  return {x.size(0), x.size(1), inner};
}

template <class V>
V as(V v, const Shape& shape) {
  v.sizes = shape;
  v.strides = contiguous_strides(shape);
  return v;
}

// The gradients as differentiable operations, in float64, as the kernels. In training the statistics are functions of
// x.
TensorList expression(const Tensor& given, const Tensor& input, const Tensor& weight, const Tensor& stats,
                      bool training, double eps) {
  const Tensor g = given.to(kFloat64), x = input.to(kFloat64);
  const Shape shape = per_channel(x);
  Dims others;
  for (int d = 0; d < x.sizes().size(); ++d)
    if (d != 1) others.push_back(d);
  const double count = x.size(1) == 0 ? 0 : static_cast<double>(x.numel() / x.size(1));
  const auto mean = [&](const Tensor& t) { return sum(t, others, true) / count; };
  Tensor centered, rstd;
  if (training) {
    centered = x - mean(x);
    centered = centered - mean(centered);  // mends what the mean was rounded by
    rstd = 1 / sqrt(mean(centered * centered) + eps);
  } else {
    centered = x - stats.select(1, 0).view(shape);
    rstd = stats.select(1, 1).view(shape);
  }
  const Tensor normal = centered * rstd;
  Tensor inner = g;
  if (training) inner = g - mean(g) - normal * mean(g * normal);
  TensorList result{inner * rstd, sum(g * normal, others), sum(g, others)};
  if (weight.defined()) result[0] = result[0] * weight.view(shape);
  for (Tensor& t : result) t = t.to(input.dtype());
  return result;
}

TensorList fused(const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& stats, bool training,
                 const bool (&needs)[3]) {
  const Tensor gc = g.contiguous(), xc = x.detach().contiguous();
  const Shape shape = folded(x);
  TensorList result(3);
  if (needs[0]) result[0] = make_tensor("batch_norm", x.sizes(), x.dtype(), x.device());
  for (size_t i = 1; i < 3; ++i)
    if (needs[i]) result[i] = make_tensor("batch_norm", {x.size(1)}, x.dtype(), x.device());
  on_device(x.device(), "batch_norm", [&](auto& ctx) {
    batch_norm_backward(ctx, as(gc.in(), shape), as(xc.in(), shape), stats.in(), in_or_none(weight), training,
                        needs[0] ? as(result[0].out(), shape) : View(), out_or_none(result[1]), out_or_none(result[2]));
  });
  return result;
}

void check(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
           const Tensor& bias) {
  tape::common_device("batch_norm", {{"input", &x},
                                     {"running_mean", &running_mean},
                                     {"running_var", &running_var},
                                     {"weight", &weight},
                                     {"bias", &bias}});
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "batch_norm: expected a floating point input, but got {}", x.dtype());
  TANTU_CHECK(x.dim() >= 2, ShapeError, "batch_norm: expected input of at least 2 dimensions (N, C, ...), but got {}",
              x.sizes());
  const std::pair<const char*, const Tensor*> parameters[] = {
      {"running_mean", &running_mean}, {"running_var", &running_var}, {"weight", &weight}, {"bias", &bias}};
  for (const auto& [label, t] : parameters) {
    if (!t->defined()) continue;
    TANTU_CHECK(t->dim() == 1 && t->numel() == x.size(1), ShapeError,
                "batch_norm: {} should contain {} elements not {}", label, x.size(1), t->sizes());
    TANTU_CHECK(is_floating(t->dtype()), DTypeError, "batch_norm: {} must be of a floating point dtype, but is {}",
                label, t->dtype());
  }
  for (const Tensor* t : {&weight, &bias})
    TANTU_CHECK(!t->defined() || t->dtype() == x.dtype(), DTypeError,
                "batch_norm: weight and bias must have the input's dtype {}, but got {}", x.dtype(), t->dtype());
}

}  // namespace

Tensor batch_norm(const Tensor& x, Tensor running_mean, Tensor running_var, const Tensor& weight, const Tensor& bias,
                  bool training, double momentum, double eps, Site at) {
  tape::Op op("batch_norm", at);
  check(x, running_mean, running_var, weight, bias);
  TANTU_CHECK(running_mean.defined() == running_var.defined(), ValueError,
              "batch_norm: running_mean and running_var must both be given or both be absent");
  TANTU_CHECK(training || running_mean.defined(), ValueError,
              "batch_norm: Expected running_mean and running_var to be defined when training=False");
  const Shape shape = folded(x);
  TANTU_CHECK(!training || shape[0] * shape[2] != 1, ValueError,
              "batch_norm: Expected more than 1 value per channel when training, got input size {}", x.sizes());
  Tensor y = make_tensor("batch_norm", x.sizes(), x.dtype(), x.device());
  Tensor stats = make_tensor("batch_norm", {x.size(1), 2}, kFloat64, x.device());
  const Tensor xc = x.detach().contiguous();
  on_device(x.device(), "batch_norm", [&](auto& ctx) {
    const bool update = training && x.numel() > 0;
    if (training)
      batch_norm_statistics(ctx, as(xc.in(), shape), stats.out(), eps, momentum,
                            update ? out_or_none(running_mean) : View(), update ? out_or_none(running_var) : View());
    else batch_norm_from_running(ctx, running_mean.in(), running_var.in(), eps, stats.out());
    batch_norm_forward(ctx, as(xc.in(), shape), stats.in(), in_or_none(weight), in_or_none(bias), as(y.out(), shape));
  });
  if (training && running_mean.defined()) {
    tape::written(running_mean);
    tape::written(running_var);
  }
  if (tape::wants(x, weight, bias))
    tape::record("NativeBatchNormBackward0", {&y}, {x, weight, bias},
                 {tape::Saved(x), tape::Saved(weight), tape::Saved(stats)}, [training, eps](tape::Backward& b) {
                   const Tensor g = b.grad(), x = b.saved(0), weight = b.saved(1), stats = b.saved(2);
                   if (is_grad_enabled()) return expression(g, x, weight, stats, training, eps);
                   const bool needs[3] = {b.needs(0), b.needs(1), b.needs(2)};
                   return fused(g, x, weight, stats, training, needs);
                 });
  return y;
}

}  // namespace tantu
