#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <cmath>

// Maxima and minima. Ties are common among integers and halves: the references say who gets the index.
namespace tantu::optest {

namespace {

using Values = std::vector<double>;

size_t place(const Values& v, bool largest) {
  size_t best = 0;
  for (size_t i = 1; i < v.size(); ++i)
    if (std::isnan(v[i]) ? !std::isnan(v[best]) : largest ? v[i] > v[best] : v[i] < v[best]) best = i;
  return best;
}
double most(const Values& v) {
  return v[place(v, true)];
}
double least(const Values& v) {
  return v[place(v, false)];
}
double most_at(const Values& v) {
  return static_cast<double>(place(v, true));
}
double least_at(const Values& v) {
  return static_cast<double>(place(v, false));
}

const std::string kNoDim = "Expected reduction dim to be specified for input.numel() == 0.";

const Rows rows({
    {.name = "max",
     .cases = {{.inputs = {distinct({5, 7})},
                .call = [](const Args& a) { return max(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, most); }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"of nothing",
                 [](Device d) {
                   max(zeros({0, 3}, {.device = d}));
                 },
                 "max: " + kNoDim},
                {"of nothing along",
                 [](Device d) {
                   max(zeros({2, 0}, {.device = d}), 1);
                 },
                 "max: Expected reduction dim 1 to have non-zero size."}}},
    {.name = "min",
     .cases = {{.inputs = {distinct({5, 7})},
                .call = [](const Args& a) { return min(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, least); }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"of nothing", [](Device d) { min(zeros({0}, {.device = d})); }, "min: " + kNoDim}}},
    {.name = "max (dim)",
     .cases = {{.inputs = {distinct({kN, 6})},
                .call = [](const Args& a) { return max(a[0], 1); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {1}, false, most), reduce(r[0], {1}, false, most_at)});
                    }},
               {.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return max(a[0], -2, true); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, true, most), reduce(r[0], {0}, true, most_at)});
                    }},
               {.inputs = {distinct({40, kN, 3})},
                .call = [](const Args& a) { return max(a[0], 0); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, false, most), reduce(r[0], {0}, false, most_at)});
                    }},
               {.inputs = {distinct({2, 65})},
                .call = [](const Args& a) { return max(a[0], 1); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {1}, false, most), reduce(r[0], {1}, false, most_at)});
                    }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return max(a[0], 0); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({r[0], Array(Shape())});
                    }}},
     .dtypes = kAllTypes,
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2},
    {.name = "min (dim)",
     .cases = {{.inputs = {distinct({kN, 6})},
                .call = [](const Args& a) { return min(a[0], 1); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {1}, false, least), reduce(r[0], {1}, false, least_at)});
                    }},
               {.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return min(a[0], 0, true); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, true, least), reduce(r[0], {0}, true, least_at)});
                    }}},
     .dtypes = kAllTypes,
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2},
    {.name = "amax",
     .cases = {{.inputs = {distinct({3, kN, 4})},
                .call =
                    [](const Args& a) {
                      return amax(a[0], {0, 2});
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 2}, false, most);
                    }},
               {.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return amax(a[0], 0, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, true, most); }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"of nothing", [](Device d) { amax(zeros({0}, {.device = d})); }, "amax: " + kNoDim},
                {"of nothing along", [](Device d) { amax(zeros({2, 0}, {.device = d}), {0, 1}); },
                 "amax: Expected reduction dim 1 to have non-zero size."}}},
    {.name = "amin",
     .cases = {{.inputs = {distinct({3, kN, 4})},
                .call =
                    [](const Args& a) {
                      return amin(a[0], {0, 2}, true);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 2}, true, least);
                    }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2},
    {.name = "argmax",
     .cases = {{.inputs = {real({kN, 6})},
                .call = [](const Args& a) { return argmax(a[0], 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, most_at); }},
               {.inputs = {real({5, 9})},
                .call = [](const Args& a) { return argmax(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, most_at); }},
               {.inputs = {real({5, kN, 3})},
                .call = [](const Args& a) { return argmax(a[0], 0, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, true, most_at); }}},
     .dtypes = kNumberTypes,
     .result = {index_type},
     .growth = kExact,
     .errors = {{"of nothing", [](Device d) { argmax(zeros({0}, {.device = d})); }, "argmax: " + kNoDim},
                {"bool", [](Device d) { argmax(zeros({2}, {.dtype = kBool, .device = d})); },
                 "argmax: does not support bool input"}}},
    {.name = "argmin",
     .cases = {{.inputs = {real({kN, 6})},
                .call = [](const Args& a) { return argmin(a[0], 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, least_at); }},
               {.inputs = {real({5, 9})},
                .call = [](const Args& a) { return argmin(a[0], {}, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, true, least_at); }}},
     .dtypes = kNumberTypes,
     .result = {index_type},
     .growth = kExact,
     .errors = {{"bool", [](Device d) { argmin(zeros({2}, {.dtype = kBool, .device = d}), 0); },
                 "argmin: does not support bool input"}}},
});

}  // namespace

}  // namespace tantu::optest
