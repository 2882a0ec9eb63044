#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/compare.h>
#include <tantu/tests/ops/op_table.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Random operations have no reference here (tests/golden compares the values with PyTorch's); their rows state what
// must hold of every draw.
namespace tantu::optest {

namespace {

Generator seeded(Device device) {
  return Generator(device).manual_seed(20);
}

// Sizes as asked, every value accepted by `holds`, and the same values again from the same seed.
std::function<std::string(const Args&, const TensorList&)> draws(std::function<Tensor(const Args&, Generator)> call,
                                                                 std::function<bool(double)> holds) {
  return [=](const Args& a, const TensorList& y) -> std::string {
    if (!(y[0].sizes() == a[0].sizes())) return fmt::format("sizes {}", y[0].sizes());
    for (double v : y[0].to_vector<double>())
      if (!holds(v)) return fmt::format("drew {}", v);
    return difference(y[0], call(a, seeded(a.device)), 0);
  };
}

Case drawing(std::function<Tensor(const Args&, Generator)> call, std::function<bool(double)> holds,
             Input sizes = real({kN, 3})) {
  return {.inputs = {sizes},
          .call = [call](const Args& a) { return call(a, seeded(a.device)); },
          .property = draws(call, holds)};
}

bool in_unit(double v) {
  return v >= 0 && v <= 1;
}  // the half types may round up to 1
bool is_bit(double v) {
  return v == 0 || v == 1;
}
bool is_finite(double v) {
  return std::isfinite(v);
}

std::string is_permutation(const Args& a, const TensorList& y) {
  std::vector<int64_t> values = y[0].to_vector<int64_t>();
  std::sort(values.begin(), values.end());
  if (static_cast<int64_t>(values.size()) != a.n) return fmt::format("{} values", values.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i)) return fmt::format("{} is missing", i);
  return "";
}

std::string are_categories(const Args&, const TensorList& y) {
  if (!(y[0].sizes() == Shape{2, 3})) return fmt::format("sizes {}", y[0].sizes());
  for (int64_t v : y[0].to_vector<int64_t>())
    if (v < 0 || v >= 5) return fmt::format("drew {}", v);
  return "";
}

const Rows rows({
    {.name = "rand",
     .cases = {drawing([](const Args& a, Generator g) { return rand(a[0].sizes(), a.options(), g); }, in_unit)},
     .errors = {{"integers", [](Device d) { rand({2}, {.dtype = kInt64, .device = d}); }, "rand: "}}},
    {.name = "rand_like", .cases = {drawing([](const Args& a, Generator g) { return rand_like(a[0], g); }, in_unit)}},
    {.name = "randn",
     .cases = {drawing([](const Args& a, Generator g) { return randn(a[0].sizes(), a.options(), g); }, is_finite)},
     .errors = {{"integers", [](Device d) { randn({2}, {.dtype = kInt64, .device = d}); }, "randn: "}}},
    {.name = "randn_like",
     .cases = {drawing([](const Args& a, Generator g) { return randn_like(a[0], g); }, is_finite)}},
    {.name = "randint",
     .cases = {drawing([](const Args& a, Generator g) { return randint(-2, 5, a[0].sizes(), a.options(), g); },
                       [](double v) { return v >= -2 && v < 5 && v == std::floor(v); }),
               drawing([](const Args& a, Generator g) { return randint(4, a[0].sizes(), a.options(), g); },
                       [](double v) { return v >= 0 && v < 4 && v == std::floor(v); })},
     .dtypes = {kInt64, kInt32, kFloat32, kFloat64},
     .errors = {{"empty range", [](Device d) { randint(3, 3, {2}, {.device = d}); }, "randint: "}}},
    {.name = "randperm",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return randperm(a.n, a.options(), seeded(a.device)); },
                .property = is_permutation}},
     .dtypes = {kInt64, kInt32, kFloat64},
     .errors = {{"negative", [](Device d) { randperm(-1, {.device = d}); }, "randperm: "}}},
    {.name = "bernoulli",
     .cases = {drawing([](const Args& a, Generator g) { return bernoulli(a[0], g); }, is_bit, real({kN, 3}, 0, 1)),
               drawing([](const Args& a, Generator g) { return bernoulli(a[0], 0.3, g); }, is_bit)},
     .errors = {{"probability", [](Device d) { bernoulli(zeros({2}, {.device = d}), 1.5); }, "bernoulli: "}},
     .no_specials = "NaN is no probability"},
    {.name = "normal",
     .cases = {drawing([](const Args& a, Generator g) { return normal(a[0], 0.5, g); }, is_finite),
               drawing([](const Args& a, Generator g) { return normal(1.0, a[0], g); }, is_finite, real({kN, 3}, 0, 2)),
               drawing([](const Args& a, Generator g) { return normal(a[0], a[0].clone(), g); }, is_finite,
                       real({kN, 3}, 0, 2)),
               drawing([](const Args& a, Generator g) { return normal(0.0, 2.0, a[0].sizes(), a.options(), g); },
                       is_finite)},
     .errors = {{"negative std", [](Device d) { normal(zeros({2}, {.device = d}), -1.0); }, "normal: "}},
     .no_specials = "NaN is no standard deviation"},
    {.name = "multinomial",
     .cases = {{.inputs = {real({2, 5}, 0.1, 1)},
                .call = [](const Args& a) { return multinomial(a[0], 3, false, seeded(a.device)); },
                .property = are_categories},
               {.inputs = {real({2, 5}, 0.1, 1)},
                .call = [](const Args& a) { return multinomial(a[0], 3, true, seeded(a.device)); },
                .property = are_categories}},
     .result = {index_type},
     .errors = {{"negative weight", [](Device d) { multinomial(full({3}, -1.0, {.device = d}), 1); }, "multinomial: "},
                {"too many", [](Device d) { multinomial(ones({3}, {.device = d}), 4); }, "multinomial: "}},
     .no_specials = "NaN is no weight"},
});

}  // namespace

}  // namespace tantu::optest
