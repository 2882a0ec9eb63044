#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/loss_common.h>
#include <tantu/autograd/tape.h>

#include <utility>

namespace tantu {

namespace {

int class_dim(const Tensor& x) {
  return x.dim() == 1 ? 0 : 1;
}

// x's view with the classes last: (P…, C).
template <class V>
V classes_last(V v) {
  if (v.rank() == 1) return v;
  const int64_t size = v.sizes[1], stride = v.strides[1];
  v.sizes.erase(1);
  v.strides.erase(1);
  v.sizes.push_back(size);
  v.strides.push_back(stride);
  return v;
}

Shape without_classes(const Tensor& x) {
  Shape sizes = x.sizes();
  sizes.erase(class_dim(x));
  return sizes;
}

Tensor gradient(const Tensor& g, const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& stats,
                const ClassLoss& rule) {
  const Tensor packed = g.contiguous();
  Tensor dx = make_tensor(rule.op, x.sizes(), x.dtype(), x.device());
  if (dx.numel() > 0)
    on_device(x.device(), rule.op, [&](auto& ctx) {
      class_loss_backward(ctx, packed.in(), classes_last(x.in()), target.in(), in_or_none(weight), stats.in(),
                          classes_last(dx.out()), rule);
    });
  return dx;
}

// The same in differentiable operations. q, the distribution wanted, is what the kernel gives for log-probabilities.
Tensor gradient_expression(const Tensor& g, const Tensor& x, const Tensor& target, const Tensor& weight,
                           const Tensor& stats, const ClassLoss& rule) {
  const int dim = class_dim(x);
  Tensor q, scale = g;
  {
    NoGradGuard constant;
    ClassLoss linear = rule;
    linear.softmax = false;
    linear.reduction = Reduction::Sum;
    q = -gradient(ones({}, {.dtype = x.dtype(), .device = x.device()}), x.detach(), target, weight, stats, linear);
  }
  if (rule.reduction == Reduction::None) scale = g.unsqueeze(dim);
  if (rule.reduction == Reduction::Mean) {
    NoGradGuard constant;
    const Tensor total = stats.narrow(0, stats.numel() - 1, 1).view({}).to(x.dtype());
    const Tensor share = where(total == 0, 0, 1 / total);
    EnableGradGuard variable;
    scale = g * share;
  }
  if (!rule.softmax) return scale * -q;
  return scale * (x.softmax(dim) * q.sum(dim, true) - q);
}

Tensor class_loss(const Tensor& x, const Tensor& given, const Tensor& weight, const ClassLoss& rule,
                  const char* grad_name) {
  const Shape positions = without_classes(x);
  const Tensor target = x.dim() == 1 && given.sizes() == Shape{1} ? given.view({}) : given;  // as PyTorch allows
  TANTU_CHECK(target.sizes() == positions, ShapeError, "{}: Expected target size {}, got {} (the input's is {})",
              rule.op, positions, target.sizes(), x.sizes());
  Tensor loss = make_tensor(rule.op, rule.reduction == Reduction::None ? positions : Shape(), x.dtype(), x.device());
  Tensor stats =
      make_tensor(rule.op, {2 * target.numel() + 1}, x.dtype() == kFloat64 ? kFloat64 : kFloat32, x.device());
  const Tensor w = weight.defined() ? weight.detach().contiguous() : Tensor();
  on_device(x.device(), rule.op, [&](auto& ctx) {
    class_loss_forward(ctx, classes_last(x.in()), target.in(), in_or_none(w), loss.out(), stats.out(), rule);
  });
  if (tape::wants(x))
    tape::record(grad_name, {&loss}, {x}, {tape::Saved(x), tape::Saved(target), tape::Saved(w), tape::Saved(stats)},
                 [rule](tape::Backward& b) {
                   const auto& of = is_grad_enabled() ? gradient_expression : gradient;
                   return TensorList{of(b.grad(), b.saved(0), b.saved(1), b.saved(2), b.saved(3), rule)};
                 });
  return loss;
}

void check(const ClassLoss& rule, const Tensor& x, const Tensor& target, const Tensor& weight) {
  tape::common_device(rule.op, {{"input", &x}, {"target", &target}, {"weight", &weight}});
  TANTU_CHECK(is_floating(x.dtype()), DTypeError, "{}: expected a floating point input, but got {}", rule.op,
              x.dtype());
  TANTU_CHECK(x.dim() >= 1, ShapeError, "{}: Expected input of 1 or more dimensions, but got a 0-dim tensor", rule.op);
  if (!weight.defined()) return;
  const int64_t classes = x.size(class_dim(x));
  TANTU_CHECK(
      weight.dim() == 1 && weight.numel() == classes, ShapeError,
      "{}: weight tensor should be defined either for all {} classes or no classes but got weight tensor of shape: {}",
      rule.op, classes, weight.sizes());
  TANTU_CHECK(weight.dtype() == x.dtype(), DTypeError, "{}: weight must have the input's dtype {}, but it is {}",
              rule.op, x.dtype(), weight.dtype());
}

void check_classes(const ClassLoss& rule, const Tensor& target) {
  TANTU_CHECK(target.dtype() == kInt64 || target.dtype() == kUInt8, DTypeError,
              "{}: expected target dtype to be int64 or uint8, but got {} {}; use target.to(kInt64)", rule.op,
              target.dtype(), target.sizes());
}

// The target holds probabilities: every part is an ordinary operation.
Tensor soft_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, const ClassLoss& rule) {
  TANTU_CHECK(is_floating(target.dtype()), DTypeError,
              "{}: Expected floating point type for target with class probabilities, got {}", rule.op, target.dtype());
  TANTU_CHECK(rule.ignore_index < 0, ValueError, "{}: ignore_index is not supported for floating point target (got {})",
              rule.op, rule.ignore_index);
  const Tensor x = is_half(input.dtype()) ? input.to(kFloat32) : input;
  const int dim = class_dim(x);
  const int64_t classes = x.size(dim);
  Tensor wanted = target;
  if (rule.smoothing > 0) wanted = wanted * (1 - rule.smoothing) + rule.smoothing / static_cast<double>(classes);
  Tensor terms = x.log_softmax(dim) * wanted;
  if (weight.defined()) {
    Shape shape = Shape::filled(static_cast<int>(x.dim()), 1);
    shape[dim] = classes;
    terms = terms * weight.view(shape);
  }
  const Tensor losses = -terms.sum(dim);
  return reduced(losses, rule.reduction).to(input.dtype());
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options, Site at) {
  tape::Op op("cross_entropy", at);
  const double smoothing = options.label_smoothing;
  TANTU_CHECK(smoothing >= 0 && smoothing <= 1, ValueError,
              "cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: {}", smoothing);
  const ClassLoss rule{.ignore_index = options.ignore_index,
                       .smoothing = smoothing,
                       .reduction = parse_reduction("cross_entropy", options.reduction)};
  check(rule, input, target, options.weight);
  if (target.sizes() == input.sizes()) return soft_cross_entropy(input, target, options.weight, rule);
  check_classes(rule, target);
  return class_loss(input, target, options.weight, rule, "CrossEntropyBackward0");
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& options, Site at) {
  tape::Op op("nll_loss", at);
  const ClassLoss rule{.op = "nll_loss",
                       .softmax = false,
                       .ignore_index = options.ignore_index,
                       .reduction = parse_reduction("nll_loss", options.reduction)};
  check(rule, input, target, options.weight);
  check_classes(rule, target);
  return class_loss(input, target, options.weight, rule, "NllLossBackward0");
}

}  // namespace tantu
