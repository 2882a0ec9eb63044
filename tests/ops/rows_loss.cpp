#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <algorithm>
#include <cmath>

namespace tantu::optest {

namespace {

double log_sum_exp(const std::vector<double>& row) {
  double largest = -INFINITY, sum = 0;
  for (double x : row) largest = std::isnan(x) ? x : std::max(largest, x);
  for (double x : row) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

// A (N, C, S) walk over an input of shape (C), (N, C) or (N, C, d…).
struct Scores {
  const Array& x;
  int64_t batch, classes, inner;
  explicit Scores(const Array& a)
      : x(a), batch(a.rank() == 1 ? 1 : a.size(0)), classes(a.size(a.rank() == 1 ? 0 : 1)), inner(1) {
    for (int d = 2; d < a.rank(); ++d) inner *= a.size(d);
  }
  std::vector<double> row(int64_t n, int64_t s, const Array& from) const {
    std::vector<double> r;
    for (int64_t c = 0; c < classes; ++c) r.push_back(from[(n * classes + c) * inner + s]);
    return r;
  }
};

struct Wanted {
  const Array* weight = nullptr;
  int64_t ignore = -100;
  double smoothing = 0;
  bool scores = true;  // false: log-probabilities
};

enum class Kept { None, Sum, Mean };

Array reduce_to(const Array& losses, double divisor, Kept kept) {
  if (kept == Kept::None) return losses;
  Array y{Shape()};
  for (double v : losses.data) y[0] += v;
  if (kept == Kept::Mean) y[0] /= divisor;
  return y;
}

// From the definition: -Σ_c q_c log p_c, q the smoothed, weighted target.
Array class_loss(const Array& x, const Array& target, const Wanted& wanted, Kept kept) {
  const Scores walk(x);
  Array losses(target.sizes);
  double counted = 0;
  for (int64_t n = 0; n < walk.batch; ++n)
    for (int64_t s = 0; s < walk.inner; ++s) {
      const int64_t p = n * walk.inner + s, t = static_cast<int64_t>(target[p]);
      if (t == wanted.ignore) continue;
      const std::vector<double> row = walk.row(n, s, x);
      const double norm = wanted.scores ? log_sum_exp(row) : 0;
      const auto w = [&](int64_t c) { return wanted.weight ? (*wanted.weight)[c] : 1.0; };
      for (int64_t c = 0; c < walk.classes; ++c) {
        const double q = wanted.smoothing / static_cast<double>(walk.classes) + (c == t ? 1 - wanted.smoothing : 0);
        if (q != 0) losses[p] -= q * w(c) * (row[static_cast<size_t>(c)] - norm);
      }
      counted += w(t);
    }
  return reduce_to(losses, counted, kept);
}

Array soft_loss(const Array& x, const Array& target, double smoothing, Kept kept) {
  const Scores walk(x);
  Shape sizes = x.sizes;
  sizes.erase(x.rank() == 1 ? 0 : 1);
  Array losses(sizes);
  for (int64_t n = 0; n < walk.batch; ++n)
    for (int64_t s = 0; s < walk.inner; ++s) {
      const std::vector<double> row = walk.row(n, s, x), q = walk.row(n, s, target);
      const double norm = log_sum_exp(row);
      for (size_t c = 0; c < row.size(); ++c)
        losses[n * walk.inner + s] -=
            (q[c] * (1 - smoothing) + smoothing / static_cast<double>(walk.classes)) * (row[c] - norm);
    }
  return reduce_to(losses, static_cast<double>(losses.numel()), kept);
}

Array elementwise(const Refs& r, const std::function<double(double, double)>& f, Kept kept = Kept::Mean) {
  const Array losses = map(r[0], r[1], f);
  return reduce_to(losses, static_cast<double>(losses.numel()), kept);
}

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
double huber(double d, double delta) {
  return std::abs(d) <= delta ? d * d / 2 : delta * (std::abs(d) - delta / 2);
}
double binary(double x, double t) {
  return -(t * std::max(std::log(x), -100.0) + (1 - t) * std::max(std::log(1 - x), -100.0));
}
Tensor signs(const Tensor& x) {
  return where(x.detach() < 0, -1, ones_like(x.detach()));
}
double sign(double x) {
  return x < 0 ? -1 : 1;
}

double distance(const Array& a, const Array& b, int64_t row, double eps) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(-1); ++i) {
    const double d = a[row * a.size(-1) + i] - b[row * a.size(-1) + i] + eps;
    sum += d * d;
  }
  return std::sqrt(sum);
}

Array triplets(const Refs& r, double margin, bool swap, Kept kept) {
  Array losses({r[0].size(0)});
  for (int64_t i = 0; i < losses.numel(); ++i) {
    double far = distance(r[0], r[2], i, 1e-6);
    if (swap) far = std::min(far, distance(r[1], r[2], i, 1e-6));
    losses[i] = std::max(0.0, distance(r[0], r[1], i, 1e-6) - far + margin);
  }
  return reduce_to(losses, static_cast<double>(losses.numel()), kept);
}

// What the classes weigh, in both worlds.
const Array kWeight = [] {
  Array w({3});
  w.data = {0.5, 1, 1.5};
  return w;
}();
Tensor class_weight(const Args& a) {
  return arange(0.5, 2, 0.5, {.dtype = kFloat64}).to(a.device, a.dtype);
}

const Rows rows({
    {.name = "cross_entropy",
     .cases =
         {{.inputs = {real({kN, 5}), index({kN}, 5)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1]); },
           .reference = [](const Refs& r) { return class_loss(r[0], r[1], {}, Kept::Mean); },
           .note = "mean"},
          {.inputs = {real({kS, 1027}), index({kS}, 1027)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1], {.reduction = "sum"}); },
           .reference = [](const Refs& r) { return class_loss(r[0], r[1], {}, Kept::Sum); },
           .note = "many classes"},
          {.inputs = {real({kN, 4}), index({kN}, 4)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1], {.ignore_index = 2, .reduction = "none"}); },
           .reference = [](const Refs& r) { return class_loss(r[0], r[1], {.ignore = 2}, Kept::None); },
           .note = "ignore_index, none"},
          {.inputs = {real({2, 3, kN, 2}), index({2, kN, 2}, 3)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1], {.label_smoothing = 0.2}); },
           .reference = [](const Refs& r) { return class_loss(r[0], r[1], {.smoothing = 0.2}, Kept::Mean); },
           .note = "(N,C,d1,d2), label smoothing"},
          {.inputs = {real({kS, 3}), index({kS}, 3)},
           .call =
               [](const Args& a) {
                 return cross_entropy(a[0], a[1], {.weight = class_weight(a), .label_smoothing = 0.1});
               },
           .reference = [](const Refs& r) { return class_loss(r[0], r[1], {.weight = &kWeight, .smoothing = 0.1}, Kept::Mean); },
           .note = "weight, label smoothing"},
          {.inputs = {real({5}), index({}, 5)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1]); },
           .reference = [](const Refs& r) { return class_loss(r[0], r[1], {}, Kept::Mean); },
           .note = "(C)"},
          {.inputs = {real({kN, 4}), real({kN, 4}, 0, 1)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1], {.label_smoothing = 0.1}); },
           .reference = [](const Refs& r) { return soft_loss(r[0], r[1], 0.1, Kept::Mean); },
           .note = "probabilities"},
          {.inputs = {real({2, 3, kS}), real({2, 3, kS}, 0, 1)},
           .call = [](const Args& a) { return cross_entropy(a[0], a[1], {.reduction = "none"}); },
           .reference = [](const Refs& r) { return soft_loss(r[0], r[1], 0, Kept::None); },
           .note = "probabilities (N,C,d)"}},
     .growth = kComposed,
     .gradient = 2,
     .errors =
         {{"probabilities and a class to ignore", [](Device d) {
             cross_entropy(zeros({2, 3}, {.device = d}), ones({2, 3}, {.device = d}), {.ignore_index = 0});
           },
           "cross_entropy: ignore_index is not supported for floating point target"},
          {"target too large", [](Device d) { cross_entropy(zeros({2, 3, 2}, {.device = d}), tensor({0, 7, 1, 2}, {.device = d}).view({2, 2})); },
           "cross_entropy: Target 7 is out of bounds: position [0, 1] of the targets, 3 classes"},
          {"target negative", [](Device d) { cross_entropy(zeros({2, 3}, {.device = d}), full({2}, -1, {.device = d})); },
           "cross_entropy: Target -1 is out of bounds"},
          {"float classes", [](Device d) { cross_entropy(zeros({2, 3}, {.device = d}), zeros({2}, {.device = d})); },
           "cross_entropy: expected target dtype to be int64 or uint8, but got float32 [2]"},
          {"int probabilities", [](Device d) { cross_entropy(zeros({2, 3}, {.device = d}), zeros({2, 3}, {.dtype = kInt64, .device = d})); },
           "cross_entropy: Expected floating point type for target with class probabilities, got int64"},
          {"shape", [](Device d) { cross_entropy(zeros({2, 3}, {.device = d}), zeros({3}, {.dtype = kInt64, .device = d})); },
           "cross_entropy: Expected target size [2], got [3] (the input's is [2, 3])"},
          {"weight", [](Device d) {
             cross_entropy(zeros({2, 3}, {.device = d}), zeros({2}, {.dtype = kInt64, .device = d}), {.weight = ones({2}, {.device = d})});
           },
           "but got weight tensor of shape: [2]"},
          {"smoothing", [](Device d) {
             cross_entropy(zeros({2, 3}, {.device = d}), zeros({2}, {.dtype = kInt64, .device = d}), {.label_smoothing = 1.5});
           },
           "cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: 1.5"},
          {"reduction", [](Device d) {
             cross_entropy(zeros({2, 3}, {.device = d}), zeros({2}, {.dtype = kInt64, .device = d}), {.reduction = "avg"});
           },
           "cross_entropy: avg is not a valid value for reduction"}}},
    {.name = "nll_loss",
     .cases = {{.inputs = {real({kN, 5}), index({kN}, 5)},
                .call = [](const Args& a) { return nll_loss(a[0], a[1]); },
                .reference = [](const Refs& r) { return class_loss(r[0], r[1], {.scores = false}, Kept::Mean); }},
               {.inputs = {real({2, 3, kS}), index({2, kS}, 3)},
                .call = [](const Args& a) { return nll_loss(a[0], a[1], {.weight = class_weight(a), .ignore_index = 0, .reduction = "sum"}); },
                .reference = [](const Refs& r) { return class_loss(r[0], r[1], {.weight = &kWeight, .ignore = 0, .scores = false}, Kept::Sum); }}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"target", [](Device d) { nll_loss(zeros({2, 3}, {.device = d}), tensor({0, 3}, {.device = d})); },
                 "nll_loss: Target 3 is out of bounds: position [1] of the targets, 3 classes"}}},
    {.name = "mse_loss",
     .cases = {{.inputs = {real({kN, 2}), real({kN, 2})},
                .call = [](const Args& a) { return mse_loss(a[0], a[1]); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return (x - t) * (x - t); }); }},
               {.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return mse_loss(a[0], a[1], {.reduction = "none"}); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return (x - t) * (x - t); }, Kept::None); }}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"reduction", [](Device d) { mse_loss(zeros({2}, {.device = d}), zeros({2}, {.device = d}), {.reduction = "Mean"}); },
                 "mse_loss: Mean is not a valid value for reduction; choose mean, sum or none"},
                {"integers", [](Device d) { mse_loss(zeros({2}, {.dtype = kInt64, .device = d}), zeros({2}, {.dtype = kInt64, .device = d})); },
                 "mse_loss: expected floating point tensors, but got int64 and int64"}}},
    {.name = "l1_loss",
     .cases = {{.inputs = {off_kinks({kN}), off_kinks({kN})},
                .call = [](const Args& a) { return l1_loss(a[0], a[1], {.reduction = "sum"}); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return std::abs(x - t); }, Kept::Sum); }}},
     .growth = kComposed,
     .gradient = 1},
    {.name = "smooth_l1_loss",
     .cases = {{.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return smooth_l1_loss(a[0], a[1]); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return huber(x - t, 1); }); }},
               {.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return smooth_l1_loss(a[0], a[1], {.reduction = "none", .beta = 0.5}); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return huber(x - t, 0.5) / 0.5; }, Kept::None); }}},
     .growth = kComposed,
     .gradient = 1,
     .errors = {{"beta", [](Device d) { smooth_l1_loss(zeros({2}, {.device = d}), zeros({2}, {.device = d}), {.beta = -1}); },
                 "smooth_l1_loss: does not support negative values for beta, but got -1"}}},
    {.name = "huber_loss",
     .cases = {{.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return huber_loss(a[0], a[1], {.delta = 1.5}); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return huber(x - t, 1.5); }); }}},
     .growth = kComposed,
     .gradient = 1,
     .errors = {{"delta", [](Device d) { huber_loss(zeros({2}, {.device = d}), zeros({2}, {.device = d}), {.delta = 0}); },
                 "huber_loss: does not support non-positive values for delta, but got 0"}}},
    {.name = "binary_cross_entropy",
     .cases = {{.inputs = {real({kN}, 0.1, 0.9), real({kN}, 0, 1)},
                .call = [](const Args& a) { return binary_cross_entropy(a[0], a[1]); },
                .reference = [](const Refs& r) { return elementwise(r, binary); }},
               {.inputs = {real({kN, 2}, 0.1, 0.9), real({kN, 2}, 0, 1), real({2}, 0.5, 2)},
                .call = [](const Args& a) { return binary_cross_entropy(a[0], a[1], {.weight = a[2], .reduction = "none"}); },
                .reference = [](const Refs& r) { return map(elementwise(r, binary, Kept::None), r[2], [](double l, double w) { return l * w; }); }}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"not a probability", [](Device d) { binary_cross_entropy(full({2}, 1.5, {.device = d}), zeros({2}, {.device = d})); },
                 "binary_cross_entropy: all elements of input should be between 0 and 1"},
                {"no target", [](Device d) { binary_cross_entropy(full({2}, 0.5, {.device = d}), full({2}, 2.0, {.device = d})); },
                 "binary_cross_entropy: all elements of target should be between 0 and 1"},
                {"integer target", [](Device d) { binary_cross_entropy(full({2}, 0.5, {.device = d}), ones({2}, {.dtype = kInt64, .device = d})); },
                 "binary_cross_entropy: the target must have the input's dtype float32, but it is int64"},
                {"shape", [](Device d) { binary_cross_entropy(zeros({2}, {.device = d}), zeros({3, 2}, {.device = d})); },
                 "binary_cross_entropy: Using a target size ([3, 2]) that is different to the input size ([2]) is not allowed"}},
     .no_specials = "inputs outside of [0, 1] are an error"},
    {.name = "binary_cross_entropy_with_logits",
     .cases = {{.inputs = {real({kN}), real({kN}, 0, 1)},
                .call = [](const Args& a) { return binary_cross_entropy_with_logits(a[0], a[1]); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return (1 - t) * x + softplus(-x); }); }},
               {.inputs = {real({kN, 2}), real({kN, 2}, 0, 1), real({2}, 0.5, 2), real({2}, 0.5, 2)},
                .call =
                    [](const Args& a) {
                      return binary_cross_entropy_with_logits(a[0], a[1], {.weight = a[2], .reduction = "none", .pos_weight = a[3]});
                    },
                .reference =
                    [](const Refs& r) {
                      const Array factors = map(r[1], r[3], [](double t, double p) { return (p - 1) * t + 1; });
                      const Array losses = map(r[0], r[1], factors, [](double x, double t, double f) { return (1 - t) * x + f * softplus(-x); });
                      return map(losses, r[2], [](double l, double w) { return l * w; });
                    },
                .note = "weight, pos_weight"}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"shape", [](Device d) { binary_cross_entropy_with_logits(zeros({2}, {.device = d}), zeros({3, 2}, {.device = d})); },
                 "binary_cross_entropy_with_logits: Target size ([3, 2]) must be the same as input size ([2])"}}},
    {.name = "kl_div",
     .cases = {{.inputs = {real({kN, 3}), real({kN, 3}, 0.1, 1)},
                .call = [](const Args& a) { return kl_div(a[0], a[1]); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return (t == 0 ? 0 : t * std::log(t)) - t * x; }); }},
               {.inputs = {real({kS, 3}), real({kS, 3})},
                .call = [](const Args& a) { return kl_div(a[0], a[1], {.reduction = "batchmean", .log_target = true}); },
                .reference =
                    [](const Refs& r) {
                      Array y = elementwise(r, [](double x, double t) { return std::exp(t) * (t - x); }, Kept::Sum);
                      y[0] /= static_cast<double>(r.s);
                      return y;
                    },
                .note = "batchmean, log_target"}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"reduction", [](Device d) { kl_div(zeros({2}, {.device = d}), zeros({2}, {.device = d}), {.reduction = "batch"}); },
                 "kl_div: batch is not a valid value for reduction"}}},
    {.name = "hinge_embedding_loss",
     .cases = {{.inputs = {off_kinks({kN}), off_kinks({kN})},
                .call = [](const Args& a) { return hinge_embedding_loss(a[0], signs(a[1]), {.margin = 0.75}); },
                .reference = [](const Refs& r) {
                  return elementwise(r, [](double x, double t) { return sign(t) == 1 ? x : std::max(0.0, 0.75 - x); });
                }}},
     .growth = kComposed,
     .gradient = 1,
     .no_specials = "targets are signs"},
    {.name = "soft_margin_loss",
     .cases = {{.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return soft_margin_loss(a[0], signs(a[1])); },
                .reference = [](const Refs& r) { return elementwise(r, [](double x, double t) { return softplus(-sign(t) * x); }); }}},
     .growth = kComposed,
     .gradient = 1,
     .no_specials = "targets are signs"},
    {.name = "margin_ranking_loss",
     .cases = {{.inputs = {off_kinks({kN}), off_kinks({kN}), off_kinks({kN})},
                .call = [](const Args& a) { return margin_ranking_loss(a[0], a[1], signs(a[2]), {.margin = 0.0125, .reduction = "none"}); },
                .reference =
                    [](const Refs& r) {
                      return map(r[0], r[1], r[2], [](double x, double y, double t) { return std::max(0.0, -sign(t) * (x - y) + 0.0125); });
                    }}},
     .growth = kComposed,
     .gradient = 1,
     .no_specials = "targets are signs"},
    {.name = "triplet_margin_loss",
     .cases = {{.inputs = {real({kS, 4}), real({kS, 4}), real({kS, 4})},
                .call = [](const Args& a) { return triplet_margin_loss(a[0], a[1], a[2]); },
                .reference = [](const Refs& r) { return triplets(r, 1, false, Kept::Mean); }},
               {.inputs = {real({kS, 4}), real({kS, 4}), real({kS, 4})},
                .call = [](const Args& a) { return triplet_margin_loss(a[0], a[1], a[2], {.margin = 0.5, .swap = true, .reduction = "none"}); },
                .reference = [](const Refs& r) { return triplets(r, 0.5, true, Kept::None); }}},
     .growth = kComposed,
     .gradient = 1,
     .no_specials = "a distance of NaN is compared"},
});

}  // namespace

}  // namespace tantu::optest
