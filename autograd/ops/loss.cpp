#include <tantu/autograd/ops/loss.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/loss_common.h>
#include <tantu/autograd/tape.h>

namespace tantu {

Reduction parse_reduction(const char* op, const std::string& word) {
  if (word == "mean") return Reduction::Mean;
  if (word == "sum") return Reduction::Sum;
  TANTU_CHECK(word == "none", ValueError, "{}: {} is not a valid value for reduction; choose mean, sum or none", op,
              word);
  return Reduction::None;
}

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::None) return losses;
  return reduction == Reduction::Mean ? losses.mean() : losses.sum();
}

namespace {

// Half types compute in float32.
Tensor wide(const Tensor& t) {
  return t.defined() && is_half(t.dtype()) ? t.to(kFloat32) : t;
}

// Every loss of this file opens so: the site, the reduction, what may be compared with what. It rounds to the inputs'
// dtype once, at the end.
class Loss {
 public:
  Loss(const char* name, Site at, const std::string& reduction, const Tensor& x, const Tensor& t)
      : op_(name, at), reduction_(parse_reduction(name, reduction)) {
    tape::common_device(name, {{"input", &x}, {"target", &t}});
    TANTU_CHECK(is_floating(x.dtype()) || is_floating(t.dtype()), DTypeError,
                "{}: expected floating point tensors, but got {} and {}", name, x.dtype(), t.dtype());
    broadcast_shapes(name, x.sizes(), t.sizes());
    type_ = promote_types(x.dtype(), t.dtype());
    input = wide(x);
    target = wide(t);
  }
  Tensor reduce(const Tensor& losses) const { return reduced(losses, reduction_).to(type_); }

  Tensor input, target;

 private:
  tape::Op op_;
  Reduction reduction_;
  DType type_ = kFloat32;
};

// d² / 2 within [-delta, delta], straight lines outside.
Tensor huber(const Tensor& d, double delta) {
  Tensor y;
  {
    NoGradGuard unrecorded;
    const Tensor bent = d.clamp(-delta, delta);
    y = bent * (d - bent * 0.5);
  }
  if (tape::wants(d))
    tape::record("HuberLossBackward0", {&y}, {d}, {tape::Saved(d)},
                 [delta](tape::Backward& b) { return TensorList{b.grad() * b.saved(0).clamp(-delta, delta)}; });
  return y;
}

Tensor clamped_log(const Tensor& x) {
  return log(x).clamp(-100, {});
}

void check_probabilities(const char* argument, const Tensor& x) {
  NoGradGuard unrecorded;
  const Tensor inside = x.ge(0) * x.le(1);
  TANTU_CHECK(inside.all().item<bool>(), ValueError,
              "binary_cross_entropy: all elements of {} should be between 0 and 1", argument);
}

// -(t log x + (1 - t) log(1 - x)). The derivative divides by x (1 - x), kept away from 0.
Tensor binary_entropy(const Tensor& x, const Tensor& t) {
  Tensor y;
  {
    NoGradGuard unrecorded;
    y = (t - 1) * log1p(-x).clamp(-100, {}) - t * clamped_log(x);
  }
  if (tape::wants(x, t))
    tape::record("BinaryCrossEntropyBackward0", {&y}, {x, t}, {tape::Saved(x), tape::Saved(t)}, [](tape::Backward& b) {
      const Tensor g = b.grad(), x = b.saved(0), t = b.saved(1);
      TensorList result(2);
      if (b.needs(0)) result[0] = g * (x - t) / ((1 - x) * x).clamp(1e-12, {});
      if (b.needs(1)) result[1] = g * (clamped_log(1 - x) - clamped_log(x));
      return result;
    });
  return y;
}

Tensor distance(const Tensor& a, const Tensor& b, const TripletMarginOptions& options) {
  return (a - b + options.eps).norm(options.p, -1);
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, const LossOptions& options, Site at) {
  const Loss loss("mse_loss", at, options.reduction, input, target);
  const auto number = [](const Tensor& t) { return t.dtype() == kBool ? t.to(kFloat32) : t; };
  return loss.reduce(square(number(loss.input) - number(loss.target)));
}

Tensor l1_loss(const Tensor& input, const Tensor& target, const LossOptions& options, Site at) {
  const Loss loss("l1_loss", at, options.reduction, input, target);
  return loss.reduce(abs(loss.input - loss.target));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossOptions& options, Site at) {
  const Loss loss("smooth_l1_loss", at, options.reduction, input, target);
  TANTU_CHECK(options.beta >= 0, ValueError, "smooth_l1_loss: does not support negative values for beta, but got {}",
              options.beta);
  const Tensor difference = loss.input - loss.target;
  return loss.reduce(options.beta == 0 ? abs(difference) : huber(difference, options.beta) / options.beta);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossOptions& options, Site at) {
  const Loss loss("huber_loss", at, options.reduction, input, target);
  TANTU_CHECK(options.delta > 0, ValueError, "huber_loss: does not support non-positive values for delta, but got {}",
              options.delta);
  return loss.reduce(huber(loss.input - loss.target, options.delta));
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyOptions& options,
                            Site at) {
  const Loss loss("binary_cross_entropy", at, options.reduction, input, target);
  TANTU_CHECK(input.sizes() == target.sizes(), ShapeError,
              "binary_cross_entropy: Using a target size ({}) that is different to the input size ({}) is not allowed",
              target.sizes(), input.sizes());
  TANTU_CHECK(target.dtype() == input.dtype(), DTypeError,
              "binary_cross_entropy: the target must have the input's dtype {}, but it is {}", input.dtype(),
              target.dtype());
  check_probabilities("input", input);
  check_probabilities("target", target);
  const Tensor terms = binary_entropy(loss.input, loss.target);
  return loss.reduce(options.weight.defined() ? terms * wide(options.weight) : terms);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsOptions& options, Site at) {
  const Loss loss("binary_cross_entropy_with_logits", at, options.reduction, input, target);
  TANTU_CHECK(input.sizes() == target.sizes(), ShapeError,
              "binary_cross_entropy_with_logits: Target size ({}) must be the same as input size ({})", target.sizes(),
              input.sizes());
  if (is_half(input.dtype())) {  // several operations in a row: in float32, rounded once at the end
    BinaryCrossEntropyWithLogitsOptions wide = options;
    if (wide.weight.defined()) wide.weight = wide.weight.to(kFloat32);
    if (wide.pos_weight.defined()) wide.pos_weight = wide.pos_weight.to(kFloat32);
    return binary_cross_entropy_with_logits(input.to(kFloat32), target.to(kFloat32), wide).to(input.dtype());
  }
  Tensor tail = -logsigmoid(loss.input);
  if (options.pos_weight.defined()) tail = ((wide(options.pos_weight) - 1) * loss.target + 1) * tail;
  const Tensor terms = (1 - loss.target) * loss.input + tail;
  return loss.reduce(options.weight.defined() ? terms * wide(options.weight) : terms);
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KlDivOptions& options, Site at) {
  const bool batch = options.reduction == "batchmean";
  const Loss loss("kl_div", at, batch ? "sum" : options.reduction, input, target);
  const Tensor &x = loss.input, &t = loss.target;
  const Tensor terms = options.log_target ? exp(t) * (t - x) : where(t == 0, 0, t * log(t)) - t * x;
  const Tensor total = loss.reduce(terms);
  return batch && input.dim() > 0 ? total / input.size(0) : total;
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const MarginOptions& options, Site at) {
  const Loss loss("hinge_embedding_loss", at, options.reduction, input, target);
  const Tensor &x = loss.input, &t = loss.target;
  const Tensor far = (options.margin - x).clamp(0, {});
  return loss.reduce(where(t != 1, far, 0) + where(t != -1, x, 0));
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const LossOptions& options, Site at) {
  const Loss loss("soft_margin_loss", at, options.reduction, input, target);
  return loss.reduce(-logsigmoid(loss.target * loss.input));
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingOptions& options, Site at) {
  const Loss loss("margin_ranking_loss", at, options.reduction, input1, target);
  return loss.reduce((-loss.target * (loss.input - wide(input2)) + options.margin).clamp(0, {}));
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options, Site at) {
  const Loss loss("triplet_margin_loss", at, options.reduction, anchor, positive);
  TANTU_CHECK(options.margin > 0, ValueError, "triplet_margin_loss: expected margin to be greater than 0, but got {}",
              options.margin);
  const Tensor near = distance(loss.input, loss.target, options);
  Tensor far = distance(loss.input, wide(negative), options);
  if (options.swap) far = minimum(far, distance(loss.target, wide(negative), options));
  return loss.reduce((near - far + options.margin).clamp(0, {}));
}

}  // namespace tantu
