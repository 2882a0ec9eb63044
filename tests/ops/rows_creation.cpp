#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <cmath>

namespace tantu::optest {

namespace {

// Most of these take no tensor: a[0] only lends its sizes.
const Input kSizes = real({kN, 3});

std::function<Arrays(const Refs&)> filled(double value) {
  return [value](const Refs& r) { return Array(r[0].sizes, value); };
}

std::string of_sizes(const Args& a, const TensorList& y) {
  return y[0].sizes() == a[0].sizes() && y[0].is_contiguous() ? "" : "wrong sizes or strides";
}

Array numbers(int64_t n, double first, double step) {
  Array y({n});
  for (int64_t i = 0; i < n; ++i) y[i] = first + static_cast<double>(i) * step;
  return y;
}

// The CPU memory of a contiguous tensor, seen once more.
Tensor seen_again(const Args& a) {
  static Tensor kept;  // from_blob does not own its memory
  kept = a[0].cpu().contiguous();
  return from_blob(kept.data_ptr(), kept.sizes(), kept.dtype());
}

const Rows rows({
    {.name = "empty",
     .cases = {{.inputs = {kSizes},
                .call = [](const Args& a) { return empty(a[0].sizes(), a.options()); },
                .property = of_sizes}},
     .dtypes = kAllTypes,
     .errors = {{"negative size",
                 [](Device d) {
                   empty({2, -1}, {.device = d});
                 },
                 "empty: "},
                {"too large",
                 [](Device d) {
                   empty({int64_t{1} << 40, int64_t{1} << 40}, {.device = d});
                 },
                 "empty: "}}},
    {.name = "empty_like",
     .cases = {{.inputs = {kSizes}, .call = [](const Args& a) { return empty_like(a[0]); }, .property = of_sizes}},
     .dtypes = kAllTypes},
    {.name = "zeros",
     .cases = {{.inputs = {kSizes},
                .call = [](const Args& a) { return zeros(a[0].sizes(), a.options()); },
                .reference = filled(0)}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .errors = {{"negative size", [](Device d) { zeros({-3}, {.device = d}); }, "zeros: "},
                {"strides too large",
                 [](Device d) {
                   zeros({0, INT64_MAX, INT64_MAX}, {.device = d});
                 },
                 "zeros: Stride calculation overflowed"},
                {"too many dimensions", [](Device d) { zeros(Shape(std::vector<int64_t>(13, 1)), {.device = d}); },
                 "shape: tensors have at most 12 dimensions"}}},
    {.name = "zeros_like",
     .cases = {{.inputs = {kSizes}, .call = [](const Args& a) { return zeros_like(a[0]); }, .reference = filled(0)}},
     .dtypes = kAllTypes,
     .growth = kExact},
    {.name = "ones",
     .cases = {{.inputs = {kSizes},
                .call = [](const Args& a) { return ones(a[0].sizes(), a.options()); },
                .reference = filled(1)}},
     .dtypes = kAllTypes,
     .growth = kExact},
    {.name = "ones_like",
     .cases = {{.inputs = {kSizes}, .call = [](const Args& a) { return ones_like(a[0]); }, .reference = filled(1)}},
     .dtypes = kAllTypes,
     .growth = kExact},
    {.name = "full",
     .cases = {{.inputs = {kSizes},
                .call = [](const Args& a) { return full(a[0].sizes(), 2.5, a.options()); },
                .reference = filled(2.5)},
               {.inputs = {kSizes},
                .call = [](const Args& a) { return full(a[0].sizes(), NAN, a.options()); },
                .reference = filled(NAN)}},
     .growth = kExact,
     .errors = {{"too large for float16", [](Device d) { full({2}, 1e6, {.dtype = kFloat16, .device = d}); },
                 "full: value cannot be converted to type float16 without overflow: 1000000"},
                {"NaN as an integer", [](Device d) { full({2}, NAN, {.dtype = kInt64, .device = d}); },
                 "full: value cannot be converted to type int64 without overflow: nan"}}},
    {.name = "full_like",
     .cases = {{.inputs = {kSizes}, .call = [](const Args& a) { return full_like(a[0], 7); }, .reference = filled(7)}},
     .dtypes = kNumberTypes,
     .growth = kExact,
     .errors = {{"too large", [](Device d) { full_like(zeros({2}, {.dtype = kUInt8, .device = d}), 300); },
                 "full_like: value cannot be converted to type uint8 without overflow: 300"}}},
    {.name = "arange",
     .cases = {{.inputs = {kSizes},
                .call = [](const Args& a) { return arange(Scalar(a.n), a.options()); },
                .reference = [](const Refs& r) { return numbers(r.n, 0, 1); }},
               {.inputs = {real({kS})},
                .call =
                    [](const Args& a) { return arange(2.0, 2.0 + 0.5 * static_cast<double>(a.s), 0.5, a.options()); },
                .reference = [](const Refs& r) { return numbers(r.s, 2, 0.5); }},
               {.inputs = {real({kS})},
                .call = [](const Args& a) { return arange(Scalar(a.s), 0, -1, a.options()); },
                .reference = [](const Refs& r) { return numbers(r.s, static_cast<double>(r.s), -1); }}},
     .dtypes = {kFloat64, kFloat32, kFloat16},
     .errors = {{"no step", [](Device d) { arange(0, 3, 0, {.device = d}); }, "arange: step must be nonzero"},
                {"wrong way", [](Device d) { arange(3, 0, 1, {.device = d}); },
                 "arange: upper bound and lower bound inconsistent with step sign"},
                {"infinite", [](Device d) { arange(0.0, INFINITY, 1.0, {.device = d}); },
                 "arange: unsupported range"}}},
    {.name = "linspace",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return linspace(-1, 3, a.n, a.options()); },
                .reference =
                    [](const Refs& r) { return numbers(r.n, -1, r.n > 1 ? 4.0 / static_cast<double>(r.n - 1) : 0); }}},
     .errors = {{"negative", [](Device d) { linspace(0, 1, -1, {.device = d}); },
                 "linspace: number of steps must be non-negative"},
                {"bool", [](Device d) { linspace(0, 1, 2, {.dtype = kBool, .device = d}); },
                 "linspace: not implemented for bool"},
                {"an end too large", [](Device d) { linspace(0, 1000, 5, {.dtype = kUInt8, .device = d}); },
                 "linspace: value cannot be converted to type uint8 without overflow: 1000"}}},
    {.name = "eye",
     .cases = {{.inputs = {real({kS})},
                .call = [](const Args& a) { return eye(a.s, 4, a.options()); },
                .reference =
                    [](const Refs& r) {
                      Array y({r.s, 4});
                      for (int64_t i = 0; i < std::min<int64_t>(r.s, 4); ++i) y.at({i, i}) = 1;
                      return y;
                    }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .errors = {{"negative", [](Device d) { eye(-1, {}, {.device = d}); }, "eye: "}}},
    {.name = "tensor",
     .cases = {{.inputs = {real({3})},
                .call =
                    [](const Args& a) {
                      return tensor({{1.5, 2.0}, {-3.0, 0.0}}, a.options());
                    },
                .reference =
                    [](const Refs&) {
                      Array y({2, 2});
                      y.data = {1.5, 2, -3, 0};
                      return y;
                    }},
               {.inputs = {real({kS})},
                .call = [](const Args& a) { return tensor(a[0].to_vector<double>(), a.options()); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .growth = kExact,
     .errors = {{"too large", [](Device d) { tensor({300}, {.dtype = kUInt8, .device = d}); },
                 "tensor: value cannot be converted to type uint8 without overflow: 300"},
                {"ragged", [](Device d) { tensor({{1, 2}, {3}}, {.device = d}); },
                 "tensor: expected sequence of length 2 at dim 1 (got 1)"},
                {"mixed depth", [](Device d) { tensor({{1}, 2}, {.device = d}); },
                 "tensor: expected a list at depth 1"}}},
    {.name = "from_blob",
     .cases = {{.inputs = {real({kN, 2})},
                .call = [](const Args& a) { return seen_again(a).to(a.device); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .errors = {{"null", [](Device) { from_blob(nullptr, {2}); }, "from_blob: data is null"}}},
    {.name = "clone",
     .cases = {{.inputs = {real({kN, 3})},
                .call = [](const Args& a) { return clone(a[0]); },
                .reference = [](const Refs& r) { return r[0]; }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return clone(a[0]); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2},
    {.name = "equal",
     .cases = {{.inputs = {real({kN, 3})},
                .call = [](const Args& a) { return full({}, equal(a[0], a[0].clone()), {.device = a.device}); },
                .reference =
                    [](const Refs& r) {
                      for (double v : r[0].data)
                        if (std::isnan(v)) return Array({}, 0);
                      return Array({}, 1);
                    }},
               {.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return full({}, equal(a[0], a[1]), {.device = a.device}); },
                .reference = [](const Refs& r) { return Array({}, r[0].data == r[1].data); }},
               {.inputs = {real({2, 3})},
                .call = [](const Args& a) { return full({}, equal(a[0], a[0].view({6})), {.device = a.device}); },
                .reference = [](const Refs&) { return Array({}, 0); },
                .note = "shapes differ"}},
     .dtypes = kAllTypes,
     .result = {bool_type},
     .growth = kExact,
     .no_layouts = "x.view({6}) wants contiguous memory"},
});

}  // namespace

}  // namespace tantu::optest
