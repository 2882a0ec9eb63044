#include <tantu/kernels/cross_entropy.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/lanes.h>
#include <tantu/kernels/cpu/lines.h>
#include <tantu/kernels/math_float.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tantu {

namespace {

inline float exp_of(float x) {
  return math::vectorized::exp(x);
}
inline double exp_of(double x) {
  return std::exp(x);
}

// Where the rows of a (P…, C) tensor are.
struct Rows {
  const char* data;
  int64_t item, class_stride;
  Shape sizes;  // P…
  Strides strides;

  Rows(const void* base, DType dtype, Shape all_sizes, Strides all_strides, bool has_classes)
      : data(static_cast<const char*>(base)),
        item(item_size(dtype)),
        class_stride(1),
        sizes(all_sizes),
        strides(all_strides) {
    if (!has_classes) return;
    class_stride = strides.back();
    sizes.pop_back();
    strides.pop_back();
  }
  Dims index(int64_t row) const {
    Dims at = sizes;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      at[d] = row % sizes[d];
      row /= sizes[d];
    }
    return at;
  }
  const char* at(int64_t row) const {
    int64_t offset = 0;
    for (int d = sizes.size() - 1; d > 0; --d) {
      offset += row % sizes[d] * strides[d];
      row /= sizes[d];
    }
    if (!sizes.empty()) offset += row * strides[0];
    return data + offset * item;
  }
};

// What forward and backward share: the rows, their targets and the weights of the classes, in the compute type A.
template <class A>
class Problem {
 public:
  Problem(const ConstView& x, const ConstView& target, const ConstView& weight, const ClassLoss& of)
      : rule(of),
        classes(x.sizes.back()),
        x_rows_(x.data, x.dtype, x.sizes, x.strides, true),
        target_rows_(target.data, target.dtype, target.sizes, target.strides, false),
        load_(cpu::load_line<A>(x.dtype)),
        in_place_(cpu::is_stored_as<A>(x.dtype) && (x_rows_.class_stride == 1 || classes == 1)),
        is_byte_(target.dtype == kUInt8) {
    if (!weight.data) return;
    weights_.resize(static_cast<size_t>(classes));
    cpu::load_line<A>(weight.dtype)(weight.data, 1, classes, weights_.data());
    weight_sum_ = cpu::sum_of<A>(classes, [&](int64_t c) { return weights_[static_cast<size_t>(c)]; });
  }

  // The class wanted of a row, or -1 where the row does not count.
  int64_t target(int64_t row) const {
    const char* p = target_rows_.at(row);
    const int64_t t = is_byte_ ? *reinterpret_cast<const uint8_t*>(p) : *reinterpret_cast<const int64_t*>(p);
    if (t == rule.ignore_index) return -1;
    TANTU_CHECK(t >= 0 && t < classes, IndexError, kTargetOutOfBounds, rule.op, t, target_rows_.index(row), classes);
    return t;
  }
  const A* scores(int64_t row, A* buffer) const {
    const char* p = x_rows_.at(row);
    if (in_place_) return reinterpret_cast<const A*>(p);
    load_(p, x_rows_.class_stride, classes, buffer);
    return buffer;
  }
  const A* weights() const { return weights_.empty() ? nullptr : weights_.data(); }
  A weight(int64_t c) const { return weights_.empty() ? A(1) : weights_[static_cast<size_t>(c)]; }
  A weight_sum() const { return weights_.empty() ? static_cast<A>(classes) : weight_sum_; }
  A hit(int64_t t) const { return static_cast<A>(1 - rule.smoothing) * weight(t); }  // q's share at the target
  A spread() const {
    return static_cast<A>(rule.smoothing / static_cast<double>(classes));
  }  // … and per unit of weight elsewhere
  int64_t grain() const { return std::max<int64_t>(1, 8192 / (classes + 1)); }

  const ClassLoss& rule;
  const int64_t classes;

 private:
  Rows x_rows_, target_rows_;
  cpu::LoadLine load_;
  bool in_place_, is_byte_;
  std::vector<A> weights_;
  A weight_sum_ = 0;
};

template <class A>
struct RowStats {
  A largest, sum;
};

template <class A>
A row_loss(const Problem<A>& p, const A* x, int64_t t, RowStats<A>& stats) {
  A largest = 0, log_sum = 0;
  if (p.rule.softmax) {
    largest = cpu::max_of(x, p.classes);
    const A sum = cpu::sum_of<A>(p.classes, [&](int64_t c) { return exp_of(x[c] - largest); });
    log_sum = std::log(sum);
    stats = {largest, sum};
  }
  A loss = p.hit(t) * (log_sum + (largest - x[t]));
  if (p.rule.smoothing > 0) {
    const A* w = p.weights();
    const A above = w ? cpu::sum_of<A>(p.classes, [&](int64_t c) { return w[c] * (largest - x[c]); })
                      : cpu::sum_of<A>(p.classes, [&](int64_t c) { return largest - x[c]; });
    loss += p.spread() * (p.weight_sum() * log_sum + above);
  }
  return loss;
}

template <class A>
void forward(const ConstView& x, const ConstView& target, const ConstView& weight, const View& loss, const View& stats,
             const ClassLoss& rule) {
  const Problem<A> p(x, target, weight, rule);
  const int64_t rows = numel(target.sizes), grain = p.grain();
  const cpu::StoreLine store = cpu::store_line<A>(loss.dtype);
  const int64_t item = item_size(loss.dtype);
  struct Part {
    double loss = 0, weight = 0;
  };
  std::vector<Part> parts(static_cast<size_t>((rows + grain - 1) / grain));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    std::vector<A> buffer(static_cast<size_t>(p.classes));
    Part part;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t t = p.target(row);
      RowStats<A>& s = reinterpret_cast<RowStats<A>*>(stats.data)[row];
      s = {0, 1};
      const A value = t < 0 ? A(0) : row_loss(p, p.scores(row, buffer.data()), t, s);
      if (rule.reduction == Reduction::None) store(&value, 1, static_cast<char*>(loss.data) + row * item, 1);
      part.loss += static_cast<double>(value);
      if (t >= 0) part.weight += static_cast<double>(p.weight(t));
    }
    parts[static_cast<size_t>(begin / grain)] = part;
  });
  Part all;
  for (const Part& part : parts) {
    all.loss += part.loss;
    all.weight += part.weight;
  }
  stats.as<A>()[2 * rows] = static_cast<A>(all.weight);
  if (rule.reduction == Reduction::None) return;
  const A total = static_cast<A>(rule.reduction == Reduction::Mean ? all.loss / all.weight : all.loss);
  store(&total, 1, loss.data, 1);
}

template <class A>
void row_gradient(const Problem<A>& p, const A* x, int64_t t, const RowStats<A>& s, A scale, A* dx) {
  const A spread = p.spread() * scale, hit = p.hit(t) * scale;
  const A mass = p.rule.softmax ? (hit + spread * p.weight_sum()) / s.sum : A(0);
  const A* w = p.weights();
  const int64_t n = p.classes;
  if (!p.rule.softmax) {
    for (int64_t c = 0; c < n; ++c) dx[c] = 0;
  } else {
    const A largest = s.largest;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) dx[c] = mass * exp_of(x[c] - largest);
  }
  if (p.rule.smoothing > 0) {
    if (w) {
      for (int64_t c = 0; c < n; ++c) dx[c] -= spread * w[c];
    } else {
      for (int64_t c = 0; c < n; ++c) dx[c] -= spread;
    }
  }
  dx[t] -= hit;
}

template <class A>
void backward(const ConstView& g, const ConstView& x, const ConstView& target, const ConstView& weight,
              const ConstView& stats, const View& dx, const ClassLoss& rule) {
  const Problem<A> p(x, target, weight, rule);
  const int64_t rows = numel(target.sizes);
  const Rows out(dx.data, dx.dtype, dx.sizes, dx.strides, true);
  const bool in_place = cpu::is_stored_as<A>(dx.dtype) && out.class_stride == 1;
  const cpu::LoadLine load = cpu::load_line<A>(g.dtype);
  const cpu::StoreLine store = cpu::store_line<A>(dx.dtype);
  const int64_t item = item_size(g.dtype);
  A whole = 0;
  if (rule.reduction != Reduction::None) load(g.data, 1, 1, &whole);
  if (rule.reduction == Reduction::Mean) whole /= stats.as<A>()[2 * rows];
  parallel_for(0, rows, p.grain(), [&](int64_t begin, int64_t end) {
    std::vector<A> buffer(static_cast<size_t>(p.classes)), result(static_cast<size_t>(in_place ? 0 : p.classes));
    for (int64_t row = begin; row < end; ++row) {
      char* to = const_cast<char*>(out.at(row));
      A* d = in_place ? reinterpret_cast<A*>(to) : result.data();
      const int64_t t = p.target(row);
      A scale = whole;
      if (rule.reduction == Reduction::None) load(static_cast<const char*>(g.data) + row * item, 1, 1, &scale);
      if (t < 0) std::fill(d, d + p.classes, A(0));
      else
        row_gradient(p, p.scores(row, buffer.data()), t, reinterpret_cast<const RowStats<A>*>(stats.data)[row], scale,
                     d);
      if (!in_place) store(d, p.classes, to, out.class_stride);
    }
  });
}

}  // namespace

void class_loss_forward(CpuContext&, ConstView x, ConstView target, ConstView weight, View loss, View stats,
                        const ClassLoss& rule) {
  if (x.dtype == kFloat64) forward<double>(x, target, weight, loss, stats, rule);
  else forward<float>(x, target, weight, loss, stats, rule);
}

void class_loss_backward(CpuContext&, ConstView g, ConstView x, ConstView target, ConstView weight, ConstView stats,
                         View dx, const ClassLoss& rule) {
  if (x.dtype == kFloat64) backward<double>(g, x, target, weight, stats, dx, rule);
  else backward<float>(g, x, target, weight, stats, dx, rule);
}

}  // namespace tantu
