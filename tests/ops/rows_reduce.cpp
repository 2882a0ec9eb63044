#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

namespace tantu::optest {

namespace {

double total(const std::vector<double>& v) {
  double t = 0;
  for (double x : v) t += x;
  return t;
}

const Rows rows({
    {.name = "sum",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return sum(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, total); }},
               {.inputs = {real({kN, 3})},
                .call = [](const Args& a) { return sum(a[0], 0); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, false, total); }},
               {.inputs = {real({2, kN, kS})},
                .call = [](const Args& a) { return sum(a[0], {1, -3}, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {0, 1}, true, total); }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return sum(a[0], -1); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = kAllTypes,
     .result = {sum_type},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"dim outside", [](Device d) { sum(zeros({2, 3}, {.device = d}), 2); }, "sum: Dimension out of range"},
                {"dim twice", [](Device d) { sum(zeros({2, 3}, {.device = d}), {1, -1}); },
                 "sum: dim 1 appears multiple times in the list of dims"}}},
});

}  // namespace

}  // namespace tantu::optest
