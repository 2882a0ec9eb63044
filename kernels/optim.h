#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <vector>

/// One optimiser step for one parameter tensor, or for many in as few launches as their number allows. All views have
/// the parameter's shape and dtype (float16 and bfloat16 compute in float32 and round once); any strides. `g` is only
/// read. Corrections that depend on the step number alone are computed by the caller in double. Formulas: torch.optim's
/// documentation. On a GPU: float32 gives the CPU's bits; nothing is done while a kernel's bad index waits to be
/// thrown. None synchronizes.
namespace tantu {

/// A parameter, its gradient and its state.
struct OptimTensor {
  View p;
  ConstView g;
  View state[3] = {};
};

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  ///< the momentum buffer starts as the gradient
};
/// state[0], the momentum buffer, is read and written when momentum != 0; else it may be an empty view.
TANTU_KERNEL(sgd_step, const std::vector<OptimTensor>& tensors, const SgdStep& s);

struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;  ///< AdamW: p *= 1 - lr * weight_decay before; else the decay joins the gradient
  bool amsgrad, maximize;
  double correction1, correction2;  ///< 1 - beta^t
};
/// state: running mean of g and of g squared; the third, the largest of the second, with amsgrad only.
TANTU_KERNEL(adam_step, const std::vector<OptimTensor>& tensors, const AdamStep& s);

struct RmspropStep {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};
/// `mean` is used when centered, `buffer` with momentum.
TANTU_KERNEL(rmsprop_step, View p, ConstView g, View square, View mean, View buffer, const RmspropStep& s);

struct AdagradStep {
  double lr, weight_decay, eps;  ///< lr is already decayed
  bool maximize;
};
TANTU_KERNEL(adagrad_step, View p, ConstView g, View sum, const AdagradStep& s);

struct AdadeltaStep {
  double lr, rho, eps, weight_decay;
  bool maximize;
};
TANTU_KERNEL(adadelta_step, View p, ConstView g, View square, View delta, const AdadeltaStep& s);

struct AdamaxStep {
  double lr, beta1, beta2, eps, weight_decay, correction1;
  bool maximize;
};
TANTU_KERNEL(adamax_step, View p, ConstView g, View m, View u, const AdamaxStep& s);

struct NadamStep {
  double beta1, beta2, eps, weight_decay;
  double g_factor, m_factor;  ///< the step sizes of the gradient and of the running mean
  double correction2;
};
TANTU_KERNEL(nadam_step, View p, ConstView g, View m, View v, const NadamStep& s);

}  // namespace tantu
