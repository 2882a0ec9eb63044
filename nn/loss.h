#pragma once

#include <tantu/autograd/ops/loss.h>
#include <tantu/nn/module.h>

/// The losses as modules: `nn::CrossEntropyLoss criterion({.label_smoothing = 0.1}); Tensor loss = criterion(logits,
/// labels);` Formulas and options are those of the functions in autograd/ops/loss.h.
namespace tantu::nn {

/// A loss is a module of two tensors that holds its options.
template <class Options, Tensor (*loss)(const Tensor&, const Tensor&, const Options&, Site)>
class Loss : public Module {
 public:
  explicit Loss(const Options& options = {}) : options_(options) {}
  Tensor forward(const Tensor& input, const Tensor& target, Site at = Site::here()) {
    return loss(input, target, options_, at);
  }
  Tensor operator()(const Tensor& input, const Tensor& target, Site at = Site::here()) {
    return loss(input, target, options_, at);
  }
  using Module::forward;

 private:
  Options options_;
};

struct CrossEntropyLoss : Loss<CrossEntropyOptions, cross_entropy> {
  using Loss::Loss;
};
struct NLLLoss : Loss<NllLossOptions, nll_loss> {
  using Loss::Loss;
};
struct MSELoss : Loss<LossOptions, mse_loss> {
  using Loss::Loss;
};
struct L1Loss : Loss<LossOptions, l1_loss> {
  using Loss::Loss;
};
struct SmoothL1Loss : Loss<SmoothL1LossOptions, smooth_l1_loss> {
  using Loss::Loss;
};
struct HuberLoss : Loss<HuberLossOptions, huber_loss> {
  using Loss::Loss;
};
struct BCELoss : Loss<BinaryCrossEntropyOptions, binary_cross_entropy> {
  using Loss::Loss;
};
struct BCEWithLogitsLoss : Loss<BinaryCrossEntropyWithLogitsOptions, binary_cross_entropy_with_logits> {
  using Loss::Loss;
};
struct KLDivLoss : Loss<KlDivOptions, kl_div> {
  using Loss::Loss;
};

}  // namespace tantu::nn
