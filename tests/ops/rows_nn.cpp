#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <cmath>

namespace tantu::optest {

namespace {

// Each run of x's last `dims` dimensions normalized, then scaled and shifted.
Array row_norm(const Array& x, int dims, const Array* weight, const Array* bias, double eps, bool centered) {
  int64_t n = 1;
  for (int d = x.rank() - dims; d < x.rank(); ++d) n *= x.size(d);
  Array y(x.sizes);
  for (int64_t start = 0; start + n <= x.numel() && n > 0; start += n) {
    long double mean = 0, var = 0;
    for (int64_t i = 0; i < n && centered; ++i) mean += x[start + i];
    mean /= static_cast<long double>(n);
    for (int64_t i = 0; i < n; ++i) var += (x[start + i] - mean) * (x[start + i] - mean);
    var /= static_cast<long double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const long double normal = (x[start + i] - mean) / std::sqrt(var + eps);
      y[start + i] = static_cast<double>(normal * (weight ? (*weight)[i] : 1) + (bias ? (*bias)[i] : 0));
    }
  }
  return y;
}

struct Channel {
  int64_t batch, channels, inner = 1;
  explicit Channel(const Array& x) : batch(x.size(0)), channels(x.size(1)) {
    for (int d = 2; d < x.rank(); ++d) inner *= x.size(d);
  }
  template <class F>
  void each(int64_t c, F f) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < inner; ++i) f((b * channels + c) * inner + i);
  }
  double count() const { return static_cast<double>(batch * inner); }
};

struct Moments {
  std::vector<double> mean, var;  // var: biased
};
Moments moments(const Array& x) {
  const Channel ch(x);
  Moments m;
  for (int64_t c = 0; c < ch.channels; ++c) {
    long double mean = 0, var = 0;
    ch.each(c, [&](int64_t i) { mean += x[i]; });
    mean /= ch.count();
    ch.each(c, [&](int64_t i) { var += (x[i] - mean) * (x[i] - mean); });
    m.mean.push_back(static_cast<double>(mean));
    m.var.push_back(static_cast<double>(var / ch.count()));
  }
  return m;
}

Array channel_norm(const Array& x, const Moments& m, const Array* weight, const Array* bias, double eps) {
  const Channel ch(x);
  Array y(x.sizes);
  for (int64_t c = 0; c < ch.channels; ++c)
    ch.each(c, [&](int64_t i) {
      const double normal = (x[i] - m.mean[static_cast<size_t>(c)]) / std::sqrt(m.var[static_cast<size_t>(c)] + eps);
      y[i] = normal * (weight ? (*weight)[c] : 1) + (bias ? (*bias)[c] : 0);
    });
  return y;
}

// The running values after one batch, next to the result.
Results trained(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var) {
  Tensor m = mean.detach().clone(), v = var.detach().clone();
  const Tensor y = batch_norm(x, m, v, weight, bias, true, 0.3, 1e-2);
  return TensorList{y, m, v};
}

Array running(const Array& before, const std::vector<double>& batch, double momentum, double factor) {
  Array after = before;
  for (int64_t c = 0; c < after.numel(); ++c)
    after[c] = (1 - momentum) * before[c] + momentum * factor * batch[static_cast<size_t>(c)];
  return after;
}

Arrays trained_reference(const Refs& r) {
  const Moments m = moments(r[0]);
  const double n = Channel(r[0]).count();
  return {{channel_norm(r[0], m, &r[1], &r[2], 1e-2), running(r[3], m.mean, 0.3, 1),
           running(r[4], m.var, 0.3, n / (n - 1))}};
}

// Running values for evaluation: first, first + 1/4, …
std::vector<double> ramp(int64_t n, double first) {
  std::vector<double> values;
  for (int64_t c = 0; c < n; ++c) values.push_back(first + 0.25 * static_cast<double>(c));
  return values;
}
Tensor ramp(const Args& a, double first) {
  return tensor(ramp(a.s, first), {.dtype = kFloat64}).to(a.device, a.dtype);
}

Array grouped(const Array& x, int64_t groups, const Array* weight, const Array* bias, double eps = 1e-5) {
  Array rows = x;
  Shape sizes{x.size(0) * groups, x.size(1) / groups};
  for (int d = 2; d < x.rank(); ++d) sizes.push_back(x.size(d));
  rows.sizes = sizes;
  Array y = row_norm(rows, sizes.size() - 1, nullptr, nullptr, eps, true);
  y.sizes = x.sizes;
  const Channel ch(x);
  for (int64_t c = 0; c < ch.channels; ++c)
    ch.each(c, [&](int64_t i) { y[i] = y[i] * (weight ? (*weight)[c] : 1) + (bias ? (*bias)[c] : 0); });
  return y;
}

Array rows_of(const Array& index, const Array& weight) {
  Shape sizes = index.sizes;
  sizes.push_back(weight.size(1));
  Array y(sizes);
  for (int64_t p = 0; p < index.numel(); ++p)
    for (int64_t i = 0; i < weight.size(1); ++i)
      y[p * weight.size(1) + i] = weight[static_cast<int64_t>(index[p]) * weight.size(1) + i];
  return y;
}

// What dropout leaves: zeros and x / (1 - p), whole channels of them where `inner` elements share one draw.
std::string dropped(const Tensor& x, const Tensor& y, double p, int64_t inner) {
  const Array a = to_array(x), b = to_array(y);
  const double scale = 1 / (1 - p), slack = is_half(x.dtype()) ? 0x1p-6 : 1e-6;
  int64_t zeros = 0;
  for (int64_t start = 0; start < a.numel(); start += inner) {
    bool all_zero = true, all_kept = true;
    for (int64_t i = start; i < start + inner; ++i) {
      all_zero &= b[i] == 0;
      all_kept &= std::abs(b[i] - a[i] * scale) <= slack * std::max(1.0, std::abs(a[i]) * scale);
    }
    if (!all_zero && !all_kept) return "an element is neither dropped nor scaled as its channel is";
    zeros += all_zero;
  }
  const double draws = static_cast<double>(a.numel()) / static_cast<double>(std::max<int64_t>(1, inner));
  const double expected = draws * p, spread = 6 * std::sqrt(draws * p * (1 - p)) + 1;
  if (std::abs(static_cast<double>(zeros) - expected) > spread) return "an unlikely number of zeros";
  return "";
}

Case dropout_case(Tensor (*f)(const Tensor&, double, bool, Site), const Shape& shape, double p, int64_t inner) {
  return {.inputs = {real(shape, 0.5, 3)},
          .call =
              [=](const Args& a) {
                manual_seed(1234);
                return f(a[0], p, true, Site::here());
              },
          .property = [=](const Args& a, const TensorList& y) { return dropped(a[0], y[0], p, inner); }};
}

Case identity_case(Tensor (*f)(const Tensor&, double, bool, Site), const Shape& shape, double p, bool training) {
  return {.inputs = {real(shape)},
          .call = [=](const Args& a) { return f(a[0], p, training, Site::here()); },
          .property = [](const Args& a,
                         const TensorList& y) { return y[0].is_same(a[0]) ? "" : "it is not the input itself"; },
          .note = training ? "p = 0" : "not training"};
}

Row dropout_row(const char* name, Tensor (*f)(const Tensor&, double, bool, Site), const Shape& shape, int64_t inner) {
  return {.name = name,
          .cases = {dropout_case(f, shape, 0.25, inner), dropout_case(f, shape, 0.75, inner),
                    identity_case(f, shape, 0.5, false), identity_case(f, shape, 0, true)},
          .growth = kComposed,
          .gradient = 2,
          .errors = {{"p",
                      [f, shape](Device d) {
                        f(zeros(Shape::filled(shape.size(), 2), {.device = d}), 1.5, true, Site::here());
                      },
                      "dropout probability has to be between 0 and 1, but got 1.5"}},
          .no_specials = "what is dropped is told from its value",
          .draws = true};
}

const Rows rows({
    {.name = "layer_norm",
     .cases = {{.inputs = {real({kN, 5}), real({5}), real({5})},
                .call = [](const Args& a) { return layer_norm(a[0], {5}, a[1], a[2]); },
                .reference = [](const Refs& r) { return row_norm(r[0], 1, &r[1], &r[2], 1e-5, true); }},
               {.inputs = {real({2, kN}), real({kN}), real({kN})},
                .call = [](const Args& a) { return layer_norm(a[0], {a.n}, a[1], a[2], 1e-3); },
                .reference = [](const Refs& r) { return row_norm(r[0], 1, &r[1], &r[2], 1e-3, true); }},
               {.inputs = {real({kS, 3, 4}), real({3, 4})},
                .call =
                    [](const Args& a) {
                      return layer_norm(a[0], {3, 4}, a[1]);
                    },
                .reference = [](const Refs& r) { return row_norm(r[0], 2, &r[1], nullptr, 1e-5, true); },
                .note = "two dimensions, no bias"},
               {.inputs = {real({kS, 7})},
                .call = [](const Args& a) { return layer_norm(a[0], {7}); },
                .reference = [](const Refs& r) { return row_norm(r[0], 1, nullptr, nullptr, 1e-5, true); }}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"shape",
                 [](Device d) {
                   layer_norm(zeros({2, 3}, {.device = d}), {4});
                 },
                 "layer_norm: Given normalized_shape=[4], expected input with shape ending in it, but got input of "
                 "size [2, 3]"},
                {"weight",
                 [](Device d) {
                   layer_norm(zeros({2, 3}, {.device = d}), {3}, zeros({2}, {.device = d}));
                 },
                 "layer_norm: Expected weight to be of same shape as normalized_shape, but got weight of shape [2] and "
                 "normalized_shape = [3]"},
                {"integers",
                 [](Device d) {
                   layer_norm(zeros({2, 3}, {.dtype = kInt64, .device = d}), {3});
                 },
                 "layer_norm: expected a floating point input, but got int64"}}},
    {.name = "rms_norm",
     .cases = {{.inputs = {real({kN, 5}), real({5})},
                .call = [](const Args& a) { return rms_norm(a[0], {5}, a[1], 1e-4); },
                .reference = [](const Refs& r) { return row_norm(r[0], 1, &r[1], nullptr, 1e-4, false); }},
               {.inputs = {real({2, kN})},
                .call = [](const Args& a) { return rms_norm(a[0], {a.n}); },
                .reference =
                    [](const Refs& r) {
                      return row_norm(r[0], 1, nullptr, nullptr, r.dtype == kFloat64 ? 0x1p-52 : 0x1p-23, false);
                    },
                .note = "eps of the dtype"}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"shape",
                 [](Device d) {
                   rms_norm(zeros({2, 3}, {.device = d}), {2});
                 },
                 "rms_norm: Given normalized_shape=[2]"}}},
    {.name = "group_norm",
     .cases = {{.inputs = {real({2, 6, kS}), real({6}), real({6})},
                .call = [](const Args& a) { return group_norm(a[0], 3, a[1], a[2]); },
                .reference = [](const Refs& r) { return grouped(r[0], 3, &r[1], &r[2]); }},
               {.inputs = {real({kN, 4})},
                .call = [](const Args& a) { return group_norm(a[0], 2, {}, {}, 1e-2); },
                .reference = [](const Refs& r) { return grouped(r[0], 2, nullptr, nullptr, 1e-2); }}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"no channels", [](Device d) { group_norm(zeros({2, 0, 3}, {.device = d}), 1); },
                 "group_norm: Expected number of channels to be greater than 0, got 0"},
                {"groups", [](Device d) { group_norm(zeros({2, 6}, {.device = d}), 4); },
                 "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of "
                 "shape [2, 6] and num_groups=4"}}},
    {.name = "instance_norm",
     .cases = {{.inputs = {real({2, 3, 4, 2}), real({3}), real({3})},
                .call = [](const Args& a) { return instance_norm(a[0], a[1], a[2]); },
                .reference = [](const Refs& r) { return grouped(r[0], 3, &r[1], &r[2]); }}},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"one value", [](Device d) { instance_norm(zeros({2, 3, 1}, {.device = d})); },
                 "instance_norm: Expected more than 1 spatial element when training, got input size [2, 3, 1]"}}},
    {.name = "batch_norm",
     .cases = {{.inputs = {real({33, kS}), real({kS}), real({kS}), real({kS}), real({kS}, 0.5, 2)},
                .call = [](const Args& a) { return trained(a[0], a[1], a[2], a[3], a[4]); },
                .reference = trained_reference,
                .note = "training (N,C)"},
               {.inputs = {real({2, 3, 7, 2}), real({3}), real({3}), real({3}), real({3}, 0.5, 2)},
                .call = [](const Args& a) { return trained(a[0], a[1], a[2], a[3], a[4]); },
                .reference = trained_reference,
                .note = "training (N,C,H,W)"},
               {.inputs = {real({2, kS, 3}), real({kS}), real({kS})},
                .call = [](const Args& a) { return batch_norm(a[0], ramp(a, -0.5), ramp(a, 0.5), a[1], a[2]); },
                .reference =
                    [](const Refs& r) {
                      return channel_norm(r[0], {ramp(r.s, -0.5), ramp(r.s, 0.5)}, &r[1], &r[2], 1e-5);
                    },
                .note = "evaluation (N,C,L)"}},
     .growth = kComposed,
     .gradient = 2,
     .errors =
         {{"one value", [](Device d) { batch_norm(zeros({1, 3}, {.device = d}), {}, {}, {}, {}, true); },
           "batch_norm: Expected more than 1 value per channel when training, got input size [1, 3]"},
          {"no statistics", [](Device d) { batch_norm(zeros({2, 3}, {.device = d}), {}, {}); },
           "batch_norm: Expected running_mean and running_var to be defined when training=False"},
          {"channels",
           [](Device
                  d) { batch_norm(zeros({2, 3}, {.device = d}), zeros({2}, {.device = d}), zeros({3}, {.device = d})); },
           "batch_norm: running_mean should contain 3 elements not [2]"}}},
    {.name = "embedding",
     .cases = {{.inputs = {index({kN}, 7), real({7, 3})},
                .call = [](const Args& a) { return embedding(a[0], a[1]); },
                .reference = [](const Refs& r) { return rows_of(r[0], r[1]); }},
               {.inputs = {index({2, 3}, kS), real({kS, kN})},
                .call =
                    [](const Args& a) {
                      return a.s == 0 ? zeros({2, 3, a.n}, a.options()) : embedding(a[0], a[1]);
                    },
                .reference =
                    [](const Refs& r) {
                      return r.s == 0 ? Array({2, 3, r.n}) : rows_of(r[0], r[1]);
                    }}},
     .growth = kExact,
     .gradient = 2,
     .errors =
         {{"index",
           [](Device d) { embedding(tensor({0, 4, 5, 1}, {.device = d}).view({2, 2}), zeros({5, 3}, {.device = d})); },
           "embedding: index out of range in self: index 5 at position [1, 0], 5 embeddings"},
          {"dtype", [](Device d) { embedding(zeros({2}, {.device = d}), zeros({5, 3}, {.device = d})); },
           "embedding: Expected tensor for argument 'indices' to have one of the following scalar types: int64, int32; "
           "but got float32"},
          {"padding",
           [](Device d) { embedding(zeros({2}, {.dtype = kInt64, .device = d}), zeros({5, 3}, {.device = d}), 5); },
           "embedding: Padding_idx must be within num_embeddings"}}},
    dropout_row("dropout", dropout, {kN, 3}, 1),
    dropout_row("dropout1d", dropout1d, {kS, 3, 4}, 4),
    dropout_row("dropout2d", dropout2d, {kS, 3, 2, 2}, 4),
    dropout_row("dropout3d", dropout3d, {kS, 2, 2, 1, 2}, 4),
});

}  // namespace

}  // namespace tantu::optest
