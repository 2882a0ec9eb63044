#include <tantu/kernels/optim.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>
#include <cmath>

namespace tantu {

namespace {

constexpr int64_t kGrain = 16384;

// Calls update(arrays, n) on runs of the views as arrays of T (float, or double for float64): in place where they are
// contiguous arrays of T already, else through buffers. views[0] is the parameter, views[1] the gradient (read only);
// an absent view gives a null array.
template <class T, class F>
void over_arrays(const ConstView* views, int count, F&& update) {
  if (views[0].numel() == 0) return;  // an empty tensor has no data, as an absent one
  ConstView present[cpu::kMaxOperands];
  int slot[cpu::kMaxOperands], used = 0;
  for (int i = 0; i < count; ++i) {
    slot[i] = views[i].data ? used : -1;
    if (views[i].data) present[used++] = views[i];
  }
  const cpu::Walk walk(present, used);
  bool direct = true;
  for (int i = 0; i < used; ++i) {
    const cpu::WalkOperand& o = walk.operands[static_cast<size_t>(i)];
    direct &= o.contiguous && o.dtype == dtype_of<T>;
  }
  parallel_for(0, walk.numel, kGrain, [&](int64_t begin, int64_t end) {
    T* arrays[cpu::kMaxOperands] = {};
    if (direct) {
      for (int i = 0; i < count; ++i)
        if (slot[i] >= 0) arrays[i] = reinterpret_cast<T*>(walk.operands[static_cast<size_t>(slot[i])].data) + begin;
      update(arrays, end - begin);
      return;
    }
    alignas(64) T buffers[cpu::kMaxOperands][cpu::kChunk];
    for (int64_t start = begin; start < end; start += cpu::kChunk) {
      const int64_t n = std::min(cpu::kChunk, end - start);
      for (int i = 0; i < count; ++i) {
        if (slot[i] < 0) continue;
        cpu::load(walk, slot[i], start, n, dtype_of<T>, buffers[i]);
        arrays[i] = buffers[i];
      }
      update(arrays, n);
      for (int i = 0; i < count; ++i)
        if (i != 1 && slot[i] >= 0) cpu::store(walk, slot[i], start, n, dtype_of<T>, buffers[i]);
    }
  });
}

template <class F>
void visit_compute(DType t, F&& f) {
  if (t == kFloat64) f(Tag<double>{});
  else f(Tag<float>{});
}

}  // namespace

namespace {

void sgd_one(const OptimTensor& t, const SgdStep& s) {
  const ConstView views[] = {t.p, t.g, s.momentum != 0 ? t.state[0] : View{}};
  visit_compute(t.p.dtype, [&]<class T>(Tag<T>) {
    const T lr = T(s.lr), mu = T(s.momentum), keep = T(1 - s.dampening), decay = T(s.weight_decay);
    const T sign = s.maximize ? T(-1) : T(1);
    over_arrays<T>(views, 3, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *b = arrays[2];
      const T* d = arrays[1];
      if (!b) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) w[i] -= lr * (sign * d[i] + decay * w[i]);
        return;
      }
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T grad = sign * d[i] + decay * w[i];
        b[i] = s.first ? grad : mu * b[i] + keep * grad;
        w[i] -= lr * (s.nesterov ? grad + mu * b[i] : b[i]);
      }
    });
  });
}

void adam_one(const OptimTensor& t, const AdamStep& s) {
  const ConstView views[] = {t.p, t.g, t.state[0], t.state[1], s.amsgrad ? t.state[2] : View{}};
  visit_compute(t.p.dtype, [&]<class T>(Tag<T>) {
    const T b1 = T(s.beta1), b2 = T(s.beta2), c1 = T(1 - s.beta1), c2 = T(1 - s.beta2), eps = T(s.eps);
    const T step = T(s.lr / s.correction1), root = T(std::sqrt(s.correction2));
    const T shrink = s.decoupled ? T(1 - s.lr * s.weight_decay) : T(1), decay = s.decoupled ? T(0) : T(s.weight_decay);
    const T sign = s.maximize ? T(-1) : T(1);
    over_arrays<T>(views, 5, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *mean = arrays[2], *square = arrays[3], *most = arrays[4];
      const T* d = arrays[1];
      if (!most) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
          const T grad = sign * d[i] + decay * w[i];
          mean[i] = b1 * mean[i] + c1 * grad;
          square[i] = b2 * square[i] + c2 * grad * grad;
          w[i] = shrink * w[i] - step * mean[i] / (std::sqrt(square[i]) / root + eps);
        }
        return;
      }
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T grad = sign * d[i] + decay * w[i];
        mean[i] = b1 * mean[i] + c1 * grad;
        square[i] = b2 * square[i] + c2 * grad * grad;
        most[i] = most[i] < square[i] ? square[i] : most[i];
        w[i] = shrink * w[i] - step * mean[i] / (std::sqrt(most[i]) / root + eps);
      }
    });
  });
}

}  // namespace

void sgd_step(CpuContext&, const std::vector<OptimTensor>& tensors, const SgdStep& s) {
  for (const OptimTensor& t : tensors) sgd_one(t, s);
}

void adam_step(CpuContext&, const std::vector<OptimTensor>& tensors, const AdamStep& s) {
  for (const OptimTensor& t : tensors) adam_one(t, s);
}

void rmsprop_step(CpuContext&, View p, ConstView g, View square, View mean, View buffer, const RmspropStep& s) {
  const ConstView views[] = {p, g, square, s.centered ? mean : View{}, s.momentum != 0 ? buffer : View{}};
  visit_compute(p.dtype, [&]<class T>(Tag<T>) {
    const T lr = T(s.lr), a = T(s.alpha), c = T(1 - s.alpha), eps = T(s.eps), decay = T(s.weight_decay),
            mu = T(s.momentum);
    const T sign = s.maximize ? T(-1) : T(1);
    over_arrays<T>(views, 5, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *q = arrays[2], *mean_of = arrays[3], *b = arrays[4];
      const T* d = arrays[1];
      for (int64_t i = 0; i < n; ++i) {
        const T grad = sign * d[i] + decay * w[i];
        q[i] = a * q[i] + c * grad * grad;
        T spread = q[i];
        if (mean_of) {
          mean_of[i] = a * mean_of[i] + c * grad;
          spread -= mean_of[i] * mean_of[i];
        }
        const T change = grad / (std::sqrt(spread) + eps);
        if (b) b[i] = mu * b[i] + change;
        w[i] -= lr * (b ? b[i] : change);
      }
    });
  });
}

void adagrad_step(CpuContext&, View p, ConstView g, View sum, const AdagradStep& s) {
  const ConstView views[] = {p, g, sum};
  visit_compute(p.dtype, [&]<class T>(Tag<T>) {
    const T lr = T(s.lr), eps = T(s.eps), decay = T(s.weight_decay), sign = s.maximize ? T(-1) : T(1);
    over_arrays<T>(views, 3, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *total = arrays[2];
      const T* d = arrays[1];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T grad = sign * d[i] + decay * w[i];
        total[i] += grad * grad;
        w[i] -= lr * grad / (std::sqrt(total[i]) + eps);
      }
    });
  });
}

void adadelta_step(CpuContext&, View p, ConstView g, View square, View delta, const AdadeltaStep& s) {
  const ConstView views[] = {p, g, square, delta};
  visit_compute(p.dtype, [&]<class T>(Tag<T>) {
    const T lr = T(s.lr), rho = T(s.rho), c = T(1 - s.rho), eps = T(s.eps), decay = T(s.weight_decay);
    const T sign = s.maximize ? T(-1) : T(1);
    over_arrays<T>(views, 4, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *q = arrays[2], *accumulated = arrays[3];
      const T* d = arrays[1];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T grad = sign * d[i] + decay * w[i];
        q[i] = rho * q[i] + c * grad * grad;
        const T change = std::sqrt(accumulated[i] + eps) / std::sqrt(q[i] + eps) * grad;
        accumulated[i] = rho * accumulated[i] + c * change * change;
        w[i] -= lr * change;
      }
    });
  });
}

void adamax_step(CpuContext&, View p, ConstView g, View m, View u, const AdamaxStep& s) {
  const ConstView views[] = {p, g, m, u};
  visit_compute(p.dtype, [&]<class T>(Tag<T>) {
    const T b1 = T(s.beta1), b2 = T(s.beta2), c1 = T(1 - s.beta1), eps = T(s.eps), decay = T(s.weight_decay);
    const T step = T(s.lr / s.correction1), sign = s.maximize ? T(-1) : T(1);
    over_arrays<T>(views, 4, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *mean = arrays[2], *most = arrays[3];
      const T* d = arrays[1];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T grad = sign * d[i] + decay * w[i];
        mean[i] = b1 * mean[i] + c1 * grad;
        const T faded = b2 * most[i], size = std::fabs(grad) + eps;
        most[i] = faded > size || std::isnan(faded) ? faded : size;
        w[i] -= step * mean[i] / most[i];
      }
    });
  });
}

void nadam_step(CpuContext&, View p, ConstView g, View m, View v, const NadamStep& s) {
  const ConstView views[] = {p, g, m, v};
  visit_compute(p.dtype, [&]<class T>(Tag<T>) {
    const T b1 = T(s.beta1), b2 = T(s.beta2), c1 = T(1 - s.beta1), c2 = T(1 - s.beta2), eps = T(s.eps);
    const T of_g = T(s.g_factor), of_m = T(s.m_factor), correction = T(s.correction2), decay = T(s.weight_decay);
    over_arrays<T>(views, 4, [&](T** arrays, int64_t n) {
      T *w = arrays[0], *mean = arrays[2], *square = arrays[3];
      const T* d = arrays[1];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T grad = d[i] + decay * w[i];
        mean[i] = b1 * mean[i] + c1 * grad;
        square[i] = b2 * square[i] + c2 * grad * grad;
        const T spread = std::sqrt(square[i] / correction) + eps;
        w[i] -= of_g * grad / spread + of_m * mean[i] / spread;
      }
    });
  });
}

}  // namespace tantu
