#pragma once

#include <tantu/core/tensor.h>

#include <string>

/// Losses. `reduction` is "mean" (over everything that counts), "sum", or "none" (one loss per element or row);
/// anything else is a ValueError. Those that compare element by element broadcast input and target. All have gradients
/// of every order, of the target too where it is not an index. Half types compute in float32 and round once.
namespace tantu {

struct CrossEntropyOptions {
  Tensor weight = {};  ///< one factor per class
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  double label_smoothing = 0;  ///< in [0, 1]: this much of the target is spread over all classes
};
/// -log of the softmax probability that `input` (N,C), (C) or (N,C,d1,…), scores, gives the wanted class. `target` has
/// input's shape without C and holds classes (int64 or uint8), or has input's shape and holds probabilities. The mean
/// divides by the sum of the weights of the targets (for probabilities: by their number); targets equal to ignore_index
/// count nowhere. IndexError for a class out of bounds, with its position; DTypeError, ShapeError, ValueError with the
/// values. Source of label smoothing: C. Szegedy et al., "Rethinking the Inception Architecture", CVPR 2016.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options = {},
                     Site at = Site::here());

struct NllLossOptions {
  Tensor weight = {};
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};
/// The same for `input` that holds log-probabilities already, and classes only.
Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& options = {}, Site at = Site::here());

struct LossOptions {
  std::string reduction = "mean";
};
/// (input - target)².
Tensor mse_loss(const Tensor& input, const Tensor& target, const LossOptions& options = {}, Site at = Site::here());
/// |input - target|.
Tensor l1_loss(const Tensor& input, const Tensor& target, const LossOptions& options = {}, Site at = Site::here());

struct SmoothL1LossOptions {
  std::string reduction = "mean";
  double beta = 1;  ///< ≥ 0; 0 is l1_loss
};
/// d² / (2 beta) for d = |input - target| < beta, else d - beta / 2.
/// Source: R. Girshick, "Fast R-CNN", ICCV 2015.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossOptions& options = {},
                      Site at = Site::here());

struct HuberLossOptions {
  std::string reduction = "mean";
  double delta = 1;  ///< > 0
};
/// d² / 2 for d = |input - target| ≤ delta, else delta (d - delta / 2).
/// Source: P. J. Huber, "Robust Estimation of a Location Parameter", Ann. Math. Statist. 35 (1), 1964.
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossOptions& options = {},
                  Site at = Site::here());

struct BinaryCrossEntropyOptions {
  Tensor weight = {};  ///< a factor per element, broadcast
  std::string reduction = "mean";
};
/// -(target log(input) + (1 - target) log(1 - input)) for probabilities; a logarithm is never below -100. `input` must
/// lie in [0, 1] (ValueError).
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyOptions& options = {},
                            Site at = Site::here());

struct BinaryCrossEntropyWithLogitsOptions {
  Tensor weight = {};
  std::string reduction = "mean";
  Tensor pos_weight = {};  ///< a factor for target = 1, broadcast
};
/// The same for scores: the input is sigmoid(input), without overflow for any score.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsOptions& options = {},
                                        Site at = Site::here());

struct KlDivOptions {
  std::string reduction = "mean";  ///< also "batchmean": the sum divided by the first size
  bool log_target = false;         ///< the target holds logarithms too
};
/// target (log(target) - input) for `input` holding log-probabilities; 0 where the target is 0.
Tensor kl_div(const Tensor& input, const Tensor& target, const KlDivOptions& options = {}, Site at = Site::here());

struct MarginOptions {
  double margin = 1;
  std::string reduction = "mean";
};
/// input where the target is 1, max(0, margin - input) where it is -1.
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const MarginOptions& options = {},
                            Site at = Site::here());
/// log(1 + e^(-target · input)), targets 1 or -1.
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const LossOptions& options = {},
                        Site at = Site::here());

struct MarginRankingOptions {
  double margin = 0;
  std::string reduction = "mean";
};
/// max(0, -target (input1 - input2) + margin), targets 1 or -1.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingOptions& options = {}, Site at = Site::here());

struct TripletMarginOptions {
  double margin = 1;
  double p = 2;       ///< the distance's norm
  double eps = 1e-6;  ///< added to each difference
  bool swap = false;  ///< the negative's distance is the smaller of those to anchor and positive
  std::string reduction = "mean";
};
/// max(0, d(anchor, positive) - d(anchor, negative) + margin) over the last dimension, d the distance of norm p.
/// Source: V. Balntas et al., "Learning local feature descriptors with triplets", BMVC 2016.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {}, Site at = Site::here());

}  // namespace tantu
