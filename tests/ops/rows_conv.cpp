#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <array>

namespace tantu::optest {

namespace {

struct Rule {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;
  std::array<int64_t, 2> extra{0, 0};  // output_padding
};

// f(index into x, index into w, index into y) for every product of a convolution of x (N,C,H,W) to y (N,O,P,Q).
template <class F>
void each_product(const Shape& x, const Shape& w, const Shape& y, const Rule& rule, F f) {
  const int64_t per_group = w[1], filters = w[0] / rule.groups;
  for (int64_t n = 0; n < x[0]; ++n)
    for (int64_t o = 0; o < w[0]; ++o)
      for (int64_t p = 0; p < y[2]; ++p)
        for (int64_t q = 0; q < y[3]; ++q)
          for (int64_t c = 0; c < per_group; ++c)
            for (int64_t r = 0; r < w[2]; ++r)
              for (int64_t s = 0; s < w[3]; ++s) {
                const int64_t h = p * rule.stride[0] - rule.padding[0] + r * rule.dilation[0];
                const int64_t v = q * rule.stride[1] - rule.padding[1] + s * rule.dilation[1];
                if (h < 0 || h >= x[2] || v < 0 || v >= x[3]) continue;
                const int64_t channel = o / filters * per_group + c;
                f(((n * x[1] + channel) * x[2] + h) * x[3] + v, ((o * per_group + c) * w[2] + r) * w[3] + s,
                  ((n * w[0] + o) * y[2] + p) * y[3] + q);
              }
}

void add_bias(Array& y, const Array* bias) {
  if (!bias) return;
  const int64_t plane = y.size(2) * y.size(3);
  for (int64_t i = 0; i < y.numel(); ++i) y[i] += (*bias)[i / plane % y.size(1)];
}

Array as_plane(Array x) {
  x.sizes = x.rank() == 3 ? Shape{x.size(0), x.size(1), 1, x.size(2)} : x.sizes;
  return x;
}
Array as_line(Array y, int rank) {
  if (rank == 3) y.sizes = {y.size(0), y.size(1), y.size(3)};
  return y;
}

Array convolved(const Array& given, const Array& weight, const Array* bias, const Rule& rule) {
  const Array x = as_plane(given), w = as_plane(weight);
  Shape sizes{x.size(0), w.size(0), 0, 0};
  for (int d = 0; d < 2; ++d) {
    const auto i = static_cast<size_t>(d);
    sizes[d + 2] =
        (x.size(d + 2) + 2 * rule.padding[i] - rule.dilation[i] * (w.size(d + 2) - 1) - 1) / rule.stride[i] + 1;
  }
  Array y(sizes);
  std::vector<long double> sums(static_cast<size_t>(y.numel()));
  each_product(x.sizes, w.sizes, sizes, rule, [&](int64_t i, int64_t j, int64_t k) {
    sums[static_cast<size_t>(k)] += static_cast<long double>(x[i]) * w[j];
  });
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = static_cast<double>(sums[static_cast<size_t>(i)]);
  add_bias(y, bias);
  return as_line(y, given.rank());
}

Array transposed(const Array& given, const Array& weight, const Array* bias, const Rule& rule) {
  const Array x = as_plane(given), w = as_plane(weight);  // w (C, O/groups, R, S)
  Shape sizes{x.size(0), w.size(1) * rule.groups, 0, 0};
  for (int d = 0; d < 2; ++d) {
    const auto i = static_cast<size_t>(d);
    sizes[d + 2] = (x.size(d + 2) - 1) * rule.stride[i] - 2 * rule.padding[i] + rule.dilation[i] * (w.size(d + 2) - 1) +
                   rule.extra[i] + 1;
  }
  Array y(sizes);
  std::vector<long double> sums(static_cast<size_t>(y.numel()));
  each_product(sizes, w.sizes, x.sizes, rule, [&](int64_t i, int64_t j, int64_t k) {
    sums[static_cast<size_t>(i)] += static_cast<long double>(x[k]) * w[j];
  });
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = static_cast<double>(sums[static_cast<size_t>(i)]);
  add_bias(y, bias);
  return as_line(y, given.rank());
}

Pair pair(const std::array<int64_t, 2>& a) {
  return {a[0], a[1]};
}

Case plane_case(const Shape& x, const Shape& w, const Rule& rule, bool bias, const char* note) {
  Case c;
  c.inputs = {real(x, -1, 1), real(w, -1, 1)};
  if (bias) c.inputs.push_back(real({w[0]}, -1, 1));
  c.call = [=](const Args& a) {
    return conv2d(a[0], a[1], bias ? a[2] : Tensor(), pair(rule.stride), pair(rule.padding), pair(rule.dilation),
                  rule.groups);
  };
  c.reference = [=](const Refs& r) { return convolved(r[0], r[1], bias ? &r[2] : nullptr, rule); };
  c.note = note;
  return c;
}

Case line_case(const Shape& x, const Shape& w, const Rule& rule, bool bias, const char* note) {
  Case c;
  c.inputs = {real(x, -1, 1), real(w, -1, 1)};
  if (bias) c.inputs.push_back(real({w[0]}, -1, 1));
  c.call = [=](const Args& a) {
    return conv1d(a[0], a[1], bias ? a[2] : Tensor(), rule.stride[1], rule.padding[1], rule.dilation[1], rule.groups);
  };
  c.reference = [=](const Refs& r) { return convolved(r[0], r[1], bias ? &r[2] : nullptr, rule); };
  c.note = note;
  return c;
}

Case transposed_case(const Shape& x, const Shape& w, const Rule& rule, bool bias, const char* note) {
  Case c;
  c.inputs = {real(x, -1, 1), real(w, -1, 1)};
  if (bias) c.inputs.push_back(real({w[1] * rule.groups}, -1, 1));
  const bool line = x.size() == 3;
  c.call = [=](const Args& a) {
    const Tensor b = bias ? a[2] : Tensor();
    return line ? conv_transpose1d(a[0], a[1], b, rule.stride[1], rule.padding[1], rule.extra[1], rule.groups,
                                   rule.dilation[1])
                : conv_transpose2d(a[0], a[1], b, pair(rule.stride), pair(rule.padding), pair(rule.extra), rule.groups,
                                   pair(rule.dilation));
  };
  c.reference = [=](const Refs& r) { return transposed(r[0], r[1], bias ? &r[2] : nullptr, rule); };
  c.note = note;
  return c;
}

std::vector<Case> planes() {
  return {
      plane_case({2, 2, 5, 4}, {3, 2, 3, 2}, {}, true, "plain"),
      plane_case({kS, 2, 3, 5}, {2, 2, 2, 2}, {.padding = {1, 1}}, false, "batches"),
      plane_case({1, 2, 6, 7}, {2, 2, 3, 3}, {.stride = {2, 3}, .padding = {2, 1}}, true, "strides"),
      plane_case({1, 1, 7, 6}, {2, 1, 3, 2}, {.padding = {1, 2}, .dilation = {2, 3}}, false, "dilation"),
      plane_case({2, 4, 3, 3}, {6, 2, 2, 2}, {.groups = 2}, true, "groups"),
      plane_case({1, 3, 4, 4}, {3, 1, 3, 3}, {.padding = {1, 1}, .groups = 3}, true, "one channel a group"),
      plane_case({2, 3, 3, 4}, {4, 3, 1, 1}, {}, true, "1x1"),
      plane_case({2, 0, 3, 4}, {4, 0, 2, 2}, {}, true, "no channels"),
      plane_case({1, 2, 2, 2}, {2, 2, 5, 4}, {.padding = {4, 3}}, false, "filters larger than the input"),
      plane_case({1, 2, 9, 9}, {70, 2, 3, 3}, {.padding = {1, 1}}, true, "several tiles"),
      plane_case({2, 1, 70, 70}, {1, 1, 2, 2}, {}, false, "a weight gradient in parts"),
  };
}

std::vector<Case> lines() {
  return {
      line_case({2, 3, kN}, {4, 3, 3}, {.padding = {0, 2}}, true, "lengths"),
      line_case({2, 4, 9}, {2, 2, 2}, {.stride = {1, 2}, .dilation = {1, 3}, .groups = 2}, false, "strides"),
  };
}

std::vector<Case> transposed_planes() {
  return {
      transposed_case({2, 3, 3, 4}, {3, 2, 3, 2}, {}, true, "plain"),
      transposed_case({1, 2, 3, 2}, {2, 3, 3, 3}, {.stride = {2, 3}, .padding = {1, 1}, .extra = {1, 2}}, true,
                      "strides"),
      transposed_case({kS, 4, 2, 3}, {4, 1, 2, 2}, {.dilation = {2, 1}, .groups = 2}, false, "groups"),
      transposed_case({2, 3, 3, 4}, {3, 2, 1, 1}, {}, false, "1x1"),
  };
}

std::vector<Case> transposed_lines() {
  return {
      transposed_case({2, 3, 5}, {3, 2, 3}, {.stride = {1, 2}, .padding = {0, 1}, .extra = {0, 1}}, true, "strides"),
  };
}

const char* kZeros =
    "0 outside of the plane and taps that miss it are left out of the sums, where the reference has no term";

const Rows rows({
    {.name = "conv1d",
     .cases = lines(),
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"channels",
                 [](Device d) {
                   conv1d(zeros({1, 3, 5}, {.device = d}), zeros({2, 4, 3}, {.device = d}));
                 },
                 "conv1d: Given groups=1, weight of size [2, 4, 3], expected input[1, 3, 5] to have 4 channels, but "
                 "got 3 channels instead"},
                {"too short",
                 [](Device d) {
                   conv1d(zeros({1, 3, 2}, {.device = d}), zeros({2, 3, 3}, {.device = d}));
                 },
                 "Kernel size can't be greater than actual input size"}},
     .no_specials = kZeros},
    {.name = "conv2d",
     .cases = planes(),
     .growth = kSummed,
     .gradient = 2,
     .errors =
         {{"rank",
           [](Device d) {
             conv2d(zeros({3, 5}, {.device = d}), zeros({2, 4, 3, 3}, {.device = d}));
           },
           "conv2d: Expected 3D (unbatched) or 4D (batched) input, but got input of size: [3, 5]"},
          {"stride",
           [](Device d) {
             conv2d(zeros({1, 3, 5, 5}, {.device = d}), zeros({2, 3, 3, 3}, {.device = d}), {}, 0);
           },
           "non-positive stride"},
          {"groups",
           [](Device d) {
             conv2d(zeros({1, 4, 5, 5}, {.device = d}), zeros({3, 2, 3, 3}, {.device = d}), {}, 1, 0, 1, 2);
           },
           "divisible by groups"},
          {"bias",
           [](Device d) {
             conv2d(zeros({1, 4, 5, 5}, {.device = d}), zeros({3, 4, 3, 3}, {.device = d}), zeros({4}, {.device = d}));
           },
           "expected bias to be 1-dimensional with 3 elements"},
          {"dtypes",
           [](Device d) {
             conv2d(zeros({1, 4, 5, 5}, {.device = d}), zeros({3, 4, 3, 3}, {.dtype = kFloat64, .device = d}));
           },
           "should be the same"}},
     .no_specials = kZeros},
    {.name = "conv_transpose1d",
     .cases = transposed_lines(),
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"output padding",
                 [](Device d) {
                   conv_transpose1d(zeros({1, 3, 5}, {.device = d}), zeros({3, 2, 3}, {.device = d}), {}, 2, 0, 2);
                 },
                 "output padding must be smaller than either stride or dilation"}},
     .no_specials = kZeros},
    {.name = "conv_transpose2d",
     .cases = transposed_planes(),
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"channels",
                 [](Device d) {
                   conv_transpose2d(zeros({1, 3, 5, 5}, {.device = d}), zeros({2, 4, 3, 3}, {.device = d}));
                 },
                 "to have 2 channels, but got 3 channels instead"}},
     .no_specials = kZeros},
});

}  // namespace

}  // namespace tantu::optest
