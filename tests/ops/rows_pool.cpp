#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <array>
#include <cmath>
#include <optional>

namespace tantu::optest {

namespace {

using Two = std::array<int64_t, 2>;

struct Rule {
  Two kernel, stride, padding{0, 0}, dilation{1, 1};
  bool ceil_mode = false, count_include_pad = true;
  int64_t divisor = 0;
};

// The elements of one dimension that an output gathers (those beyond the edges left out), and how many there would be
// with the padding.
struct Line {
  std::vector<int64_t> elements;
  int64_t padded = 0;
};
using Lines = std::vector<Line>;

Lines lines_of(const Rule& rule, size_t d, int64_t in) {
  const int64_t k = rule.kernel[d], s = rule.stride[d], p = rule.padding[d], dil = rule.dilation[d];
  Lines lines;
  for (int64_t start = -p;; start += s) {
    const int64_t end = start + (k - 1) * dil;  // the last element
    const bool fits = end < in + p;
    if (!fits && !(rule.ceil_mode && start < in && end - s < in + p - 1)) break;
    Line line;
    for (int64_t i = start; i <= end; i += dil) {
      if (i >= 0 && i < in) line.elements.push_back(i);
      if (i < in + p) ++line.padded;
    }
    lines.push_back(line);
  }
  return lines;
}

Lines even_lines(int64_t in, int64_t out) {
  Lines lines;
  for (int64_t o = 0; o < out; ++o) {
    Line line;
    const double width = static_cast<double>(in) / static_cast<double>(out);
    for (int64_t i = static_cast<int64_t>(std::floor(static_cast<double>(o) * width + 1e-9));
         i < static_cast<int64_t>(std::ceil(static_cast<double>(o + 1) * width - 1e-9)); ++i)
      line.elements.push_back(i);
    line.padded = static_cast<int64_t>(line.elements.size());
    lines.push_back(line);
  }
  return lines;
}

// f(values of a window, where they are, the window's padded size) → what the output is
template <class F>
Array pooled(const Array& x, const Lines& down, const Lines& across, int rank, F f) {
  const int64_t H = rank == 1 ? 1 : x.size(x.rank() - 2), W = x.size(x.rank() - 1);
  Shape sizes = x.sizes;
  if (rank == 2) sizes[x.rank() - 2] = static_cast<int64_t>(down.size());
  sizes[x.rank() - 1] = static_cast<int64_t>(across.size());
  Array y(sizes);
  const int64_t planes = H * W == 0 ? 0 : x.numel() / (H * W);
  int64_t at = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (const Line& h : down)
      for (const Line& w : across) {
        std::vector<double> values;
        std::vector<int64_t> places;
        for (int64_t i : h.elements)
          for (int64_t j : w.elements) {
            values.push_back(x[plane * H * W + i * W + j]);
            places.push_back(i * W + j);
          }
        y[at++] = f(values, places, h.padded * w.padded);
      }
  return y;
}

size_t largest(const std::vector<double>& values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i)
    if (!std::isnan(values[best]) && (std::isnan(values[i]) || values[i] > values[best])) best = i;
  return best;
}
double max_value(const std::vector<double>& values, const std::vector<int64_t>&, int64_t) {
  return values[largest(values)];
}
double max_place(const std::vector<double>& values, const std::vector<int64_t>& places, int64_t) {
  return static_cast<double>(places[largest(values)]);
}
double mean(const std::vector<double>& values, double count) {
  long double sum = 0;
  for (double v : values) sum += v;
  return static_cast<double>(sum / static_cast<long double>(count));
}

Pair pair(const Two& a) {
  return {a[0], a[1]};
}

Lines one_line() {
  return {Line{{0}, 1}};
}

Array max_reference(const Array& x, const Rule& rule, int rank, bool places) {
  const Lines down = rank == 1 ? one_line() : lines_of(rule, 0, x.size(x.rank() - 2));
  const Lines across = lines_of(rule, 1, x.size(x.rank() - 1));
  return pooled(x, down, across, rank, places ? max_place : max_value);
}

Array avg_reference(const Array& x, const Rule& rule, int rank) {
  const Lines down = rank == 1 ? one_line() : lines_of(rule, 0, x.size(x.rank() - 2));
  const Lines across = lines_of(rule, 1, x.size(x.rank() - 1));
  return pooled(x, down, across, rank, [&](const std::vector<double>& v, const std::vector<int64_t>&, int64_t padded) {
    const int64_t count = rule.count_include_pad ? padded : static_cast<int64_t>(v.size());
    return mean(v, static_cast<double>(rule.divisor ? rule.divisor : count));
  });
}

const std::vector<std::pair<Shape, Rule>>& plane_settings() {
  static const std::vector<std::pair<Shape, Rule>> settings{
      {{2, 3, 6, 7}, {.kernel = {2, 2}, .stride = {2, 2}}},
      {{kS, 2, 5, 4}, {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 1}}},
      {{2, 7, 8}, {.kernel = {3, 3}, .stride = {2, 3}, .padding = {1, 0}, .ceil_mode = true}},
      {{1, 2, 5, 5}, {.kernel = {2, 2}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true}},
      {{3, 2, 20, 30}, {.kernel = {5, 1}, .stride = {1, 1}}},
  };
  return settings;
}

std::vector<Case> max_planes(bool with_indices) {
  std::vector<Case> cases;
  auto settings = plane_settings();
  settings.push_back({{1, 2, 9, 8}, {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}, .dilation = {2, 3}}});
  for (const auto& [shape, rule] : settings) {
    Case c;
    c.inputs = {distinct(shape)};
    c.call = [rule = rule, with_indices](const Args& a) -> Results {
      if (with_indices)
        return max_pool2d_with_indices(a[0], pair(rule.kernel), pair(rule.stride), pair(rule.padding),
                                       pair(rule.dilation), rule.ceil_mode);
      return max_pool2d(a[0], pair(rule.kernel), pair(rule.stride), pair(rule.padding), pair(rule.dilation),
                        rule.ceil_mode);
    };
    c.reference = [rule = rule, with_indices](const Refs& r) -> Arrays {
      std::vector<Array> results{max_reference(r[0], rule, 2, false)};
      if (with_indices) results.push_back(max_reference(r[0], rule, 2, true));
      return results;
    };
    cases.push_back(c);
  }
  return cases;
}

std::vector<Case> avg_planes() {
  std::vector<Case> cases;
  auto settings = plane_settings();
  for (size_t i = 0, n = settings.size(); i < n; ++i) {
    auto [shape, rule] = settings[i];
    rule.count_include_pad = false;
    settings.push_back({shape, rule});
  }
  settings.push_back({{2, 3, 6, 7}, {.kernel = {2, 3}, .stride = {2, 2}, .divisor = 5}});
  for (const auto& [shape, rule] : settings) {
    Case c;
    c.inputs = {real(shape)};
    c.call = [rule = rule](const Args& a) {
      return avg_pool2d(a[0], pair(rule.kernel), pair(rule.stride), pair(rule.padding), rule.ceil_mode,
                        rule.count_include_pad,
                        rule.divisor ? std::optional<int64_t>(rule.divisor) : std::optional<int64_t>());
    };
    c.reference = [rule = rule](const Refs& r) { return avg_reference(r[0], rule, 2); };
    cases.push_back(c);
  }
  return cases;
}

std::vector<Case> line_cases(bool average) {
  std::vector<Case> cases;
  const std::vector<std::pair<Shape, Rule>> settings{
      {{2, 3, 9}, {.kernel = {1, 3}, .stride = {1, 3}}},
      {{2, 33}, {.kernel = {1, 4}, .stride = {1, 2}, .padding = {0, 2}, .ceil_mode = true}},
  };
  for (const auto& [shape, rule] : settings) {
    Case c;
    c.inputs = {average ? real(shape) : distinct(shape)};
    c.call = [rule = rule, average](const Args& a) {
      return average ? avg_pool1d(a[0], rule.kernel[1], rule.stride[1], rule.padding[1], rule.ceil_mode)
                     : max_pool1d(a[0], rule.kernel[1], rule.stride[1], rule.padding[1], 1, rule.ceil_mode);
    };
    c.reference = [rule = rule, average](const Refs& r) {
      return average ? avg_reference(r[0], rule, 1) : max_reference(r[0], rule, 1, false);
    };
    cases.push_back(c);
  }
  return cases;
}

std::vector<Case> adaptive_cases(bool average, int rank) {
  std::vector<Case> cases;
  const std::vector<std::pair<Shape, Two>> settings =
      rank == 2 ? std::vector<std::pair<Shape, Two>>{{{2, 3, 7, 5}, {3, 2}},
                                                     {{kS, 4, 6}, {2, 6}},
                                                     {{1, 2, 3, 4}, {5, 7}},
                                                     {{2, 2, 3, 3}, {1, 1}},
                                                     {{2, 2, 3, 3}, {0, 2}}}
                : std::vector<std::pair<Shape, Two>>{{{2, 3, 7}, {1, 3}}, {{kS, 10}, {1, 4}}};
  for (const auto& [shape, out] : settings) {
    Case c;
    c.inputs = {average ? real(shape) : distinct(shape)};
    c.call = [out = out, average, rank](const Args& a) {
      if (rank == 1) return average ? adaptive_avg_pool1d(a[0], out[1]) : adaptive_max_pool1d(a[0], out[1]);
      return average ? adaptive_avg_pool2d(a[0], pair(out)) : adaptive_max_pool2d(a[0], pair(out));
    };
    c.reference = [out = out, average, rank](const Refs& r) {
      const Array& x = r[0];
      const Lines down = rank == 1 ? one_line() : even_lines(x.size(x.rank() - 2), out[0]);
      const Lines across = even_lines(x.size(x.rank() - 1), out[1]);
      if (!average) return pooled(x, down, across, rank, max_value);
      return pooled(x, down, across, rank, [](const std::vector<double>& v, const std::vector<int64_t>&, int64_t) {
        return mean(v, static_cast<double>(v.size()));
      });
    };
    cases.push_back(c);
  }
  return cases;
}

const ErrorCase kRankError{"rank",
                           [](Device d) {
                             max_pool2d(zeros({3, 5}, {.device = d}), 2);
                           },
                           "max_pool2d: Expected 3D or 4D (batch mode) tensor, but got input of size: [3, 5]"};
const ErrorCase kPadError{"padding",
                          [](Device d) {
                            max_pool2d(zeros({1, 3, 5, 5}, {.device = d}), 2, 2, 2);
                          },
                          "pad should be at most half of effective kernel size"};
const ErrorCase kSmallError{"too small",
                            [](Device d) {
                              avg_pool2d(zeros({1, 3, 2, 2}, {.device = d}), 3);
                            },
                            "the output size at dimension 1 is 0: too small"};
const ErrorCase kDivisorError{"divisor",
                              [](Device d) {
                                avg_pool2d(zeros({1, 3, 4, 4}, {.device = d}), 3, 1, 0, false, true, 0);
                              },
                              "divisor must be not zero"};

const Rows rows({
    {.name = "max_pool1d", .cases = line_cases(false), .growth = kExact, .gradient = 2},
    {.name = "max_pool2d",
     .cases = max_planes(false),
     .growth = kExact,
     .gradient = 2,
     .errors = {kRankError, kPadError}},
    {.name = "max_pool2d_with_indices",
     .cases = max_planes(true),
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2},
    {.name = "avg_pool1d", .cases = line_cases(true), .growth = kSummed, .gradient = 2},
    {.name = "avg_pool2d",
     .cases = avg_planes(),
     .growth = kSummed,
     .gradient = 2,
     .errors = {kSmallError, kDivisorError}},
    {.name = "adaptive_avg_pool1d", .cases = adaptive_cases(true, 1), .growth = kSummed, .gradient = 2},
    {.name = "adaptive_avg_pool2d", .cases = adaptive_cases(true, 2), .growth = kSummed, .gradient = 2},
    {.name = "adaptive_max_pool1d", .cases = adaptive_cases(false, 1), .growth = kExact, .gradient = 2},
    {.name = "adaptive_max_pool2d", .cases = adaptive_cases(false, 2), .growth = kExact, .gradient = 2},
});

}  // namespace

}  // namespace tantu::optest
