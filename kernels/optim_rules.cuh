#pragma once

#include <tantu/kernels/optim.h>
#include <tantu/kernels/arch.cuh>

#include <cmath>

// One element's update by each optimiser, in the CPU's order of operations. A is float, or double for float64; w the
// parameter, g its gradient, s its state.
namespace tantu {
namespace {

__device__ __forceinline__ float root(float x) {
  return sqrtf(x);
}
__device__ __forceinline__ double root(double x) {
  return sqrt(x);
}

template <class A>
struct SgdRule {
  A lr, momentum, keep, decay, sign;
  bool nesterov, first;

  explicit SgdRule(const SgdStep& s)
      : lr(A(s.lr)),
        momentum(A(s.momentum)),
        keep(A(1 - s.dampening)),
        decay(A(s.weight_decay)),
        sign(s.maximize ? A(-1) : A(1)),
        nesterov(s.nesterov),
        first(s.first) {}
  static constexpr int kStates = 1;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = sign * g + decay * w;
    if (momentum == 0) {
      w -= lr * grad;
      return;
    }
    s[0] = first ? grad : momentum * s[0] + keep * grad;
    w -= lr * (nesterov ? grad + momentum * s[0] : s[0]);
  }
};

template <class A>
struct AdamRule {
  A b1, b2, c1, c2, eps, step, scale, shrink, decay, sign;
  bool amsgrad;

  explicit AdamRule(const AdamStep& s)
      : b1(A(s.beta1)),
        b2(A(s.beta2)),
        c1(A(1 - s.beta1)),
        c2(A(1 - s.beta2)),
        eps(A(s.eps)),
        step(A(s.lr / s.correction1)),
        scale(A(std::sqrt(s.correction2))),
        shrink(s.decoupled ? A(1 - s.lr * s.weight_decay) : A(1)),
        decay(s.decoupled ? A(0) : A(s.weight_decay)),
        sign(s.maximize ? A(-1) : A(1)),
        amsgrad(s.amsgrad) {}
  static constexpr int kStates = 3;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = sign * g + decay * w;
    s[0] = b1 * s[0] + c1 * grad;
    s[1] = b2 * s[1] + c2 * grad * grad;
    if (amsgrad) s[2] = s[2] < s[1] ? s[1] : s[2];
    w = shrink * w - step * s[0] / (root(amsgrad ? s[2] : s[1]) / scale + eps);
  }
};

template <class A>
struct RmspropRule {
  A lr, alpha, c, eps, decay, momentum, sign;
  bool centered;

  explicit RmspropRule(const RmspropStep& s)
      : lr(A(s.lr)),
        alpha(A(s.alpha)),
        c(A(1 - s.alpha)),
        eps(A(s.eps)),
        decay(A(s.weight_decay)),
        momentum(A(s.momentum)),
        sign(s.maximize ? A(-1) : A(1)),
        centered(s.centered) {}
  static constexpr int kStates = 3;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = sign * g + decay * w;
    s[0] = alpha * s[0] + c * grad * grad;
    A spread = s[0];
    if (centered) {
      s[1] = alpha * s[1] + c * grad;
      spread -= s[1] * s[1];
    }
    A change = grad / (root(spread) + eps);
    if (momentum != 0) change = s[2] = momentum * s[2] + change;
    w -= lr * change;
  }
};

template <class A>
struct AdagradRule {
  A lr, eps, decay, sign;

  explicit AdagradRule(const AdagradStep& s)
      : lr(A(s.lr)), eps(A(s.eps)), decay(A(s.weight_decay)), sign(s.maximize ? A(-1) : A(1)) {}
  static constexpr int kStates = 1;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = sign * g + decay * w;
    s[0] += grad * grad;
    w -= lr * grad / (root(s[0]) + eps);
  }
};

template <class A>
struct AdadeltaRule {
  A lr, rho, c, eps, decay, sign;

  explicit AdadeltaRule(const AdadeltaStep& s)
      : lr(A(s.lr)),
        rho(A(s.rho)),
        c(A(1 - s.rho)),
        eps(A(s.eps)),
        decay(A(s.weight_decay)),
        sign(s.maximize ? A(-1) : A(1)) {}
  static constexpr int kStates = 2;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = sign * g + decay * w;
    s[0] = rho * s[0] + c * grad * grad;
    const A change = root(s[1] + eps) / root(s[0] + eps) * grad;
    s[1] = rho * s[1] + c * change * change;
    w -= lr * change;
  }
};

template <class A>
struct AdamaxRule {
  A b1, b2, c1, eps, decay, step, sign;

  explicit AdamaxRule(const AdamaxStep& s)
      : b1(A(s.beta1)),
        b2(A(s.beta2)),
        c1(A(1 - s.beta1)),
        eps(A(s.eps)),
        decay(A(s.weight_decay)),
        step(A(s.lr / s.correction1)),
        sign(s.maximize ? A(-1) : A(1)) {}
  static constexpr int kStates = 2;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = sign * g + decay * w;
    s[0] = b1 * s[0] + c1 * grad;
    const A faded = b2 * s[1], size = (grad < 0 ? -grad : grad) + eps;
    s[1] = faded > size || faded != faded ? faded : size;
    w -= step * s[0] / s[1];
  }
};

template <class A>
struct NadamRule {
  A b1, b2, c1, c2, eps, of_g, of_m, correction, decay;

  explicit NadamRule(const NadamStep& s)
      : b1(A(s.beta1)),
        b2(A(s.beta2)),
        c1(A(1 - s.beta1)),
        c2(A(1 - s.beta2)),
        eps(A(s.eps)),
        of_g(A(s.g_factor)),
        of_m(A(s.m_factor)),
        correction(A(s.correction2)),
        decay(A(s.weight_decay)) {}
  static constexpr int kStates = 2;
  __device__ __forceinline__ void operator()(A& w, A g, A* s) const {
    const A grad = g + decay * w;
    s[0] = b1 * s[0] + c1 * grad;
    s[1] = b2 * s[1] + c2 * grad * grad;
    const A spread = root(s[1] / correction) + eps;
    w -= of_g * grad / spread + of_m * s[0] / spread;
  }
};

}  // namespace
}  // namespace tantu
