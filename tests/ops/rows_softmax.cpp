#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <algorithm>
#include <cmath>

namespace tantu::optest {

namespace {

using Values = std::vector<double>;

double log_of_sum(const Values& v, double shift) {
  long double t = 0;
  for (double x : v) t += std::exp(static_cast<long double>(x) - shift);
  return static_cast<double>(std::log(t));
}

double maximum_of(const Values& v) {
  double m = -INFINITY;
  for (double x : v) m = std::isnan(x) || std::isnan(m) ? NAN : std::max(m, x);
  return m;
}

Values log_softmax_of(Values v) {
  const double m = maximum_of(v), rest = log_of_sum(v, m);
  for (double& x : v) x = (x - m) - rest;
  return v;
}
Values softmax_of(Values v) {
  const double m = maximum_of(v), rest = std::exp(log_of_sum(v, m));
  for (double& x : v) x = std::exp(x - m) / rest;
  return v;
}
double logsumexp_of(const Values& v) {
  const double m = maximum_of(v), shift = std::isinf(m) ? 0 : m;
  return log_of_sum(v, shift) + shift;
}

const Rows rows({
    {.name = "softmax",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return softmax(a[0], 0); },
                .reference = [](const Refs& r) { return along(r[0], 0, softmax_of); }},
               {.inputs = {real({kN, 5}, -30, 30)},
                .call = [](const Args& a) { return softmax(a[0], -1); },
                .reference = [](const Refs& r) { return along(r[0], 1, softmax_of); }},
               {.inputs = {real({2, 4, kN})},
                .call = [](const Args& a) { return softmax(a[0], 1); },
                .reference = [](const Refs& r) { return along(r[0], 1, softmax_of); }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return softmax(a[0], 0); },
                .reference =
                    [](const Refs& r) { return map(r[0], [](double x) { return std::isfinite(x) ? 1.0 : NAN; }); }}},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"integers", [](Device d) { softmax(ones({2}, {.dtype = kInt64, .device = d}), 0); },
                 "softmax: not implemented for int64"},
                {"dim outside", [](Device d) { softmax(ones({2}, {.device = d}), 1); },
                 "softmax: Dimension out of range"}}},
    {.name = "log_softmax",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return log_softmax(a[0], 0); },
                .reference = [](const Refs& r) { return along(r[0], 0, log_softmax_of); }},
               {.inputs = {real({kN, 5}, -30, 30)},
                .call = [](const Args& a) { return log_softmax(a[0], -1); },
                .reference = [](const Refs& r) { return along(r[0], 1, log_softmax_of); }},
               {.inputs = {real({2, 4, kN})},
                .call = [](const Args& a) { return log_softmax(a[0], 1); },
                .reference = [](const Refs& r) { return along(r[0], 1, log_softmax_of); }}},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"integers", [](Device d) { log_softmax(ones({2}, {.dtype = kInt64, .device = d}), 0); },
                 "log_softmax: not implemented for int64"}}},
    {.name = "logsumexp",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return logsumexp(a[0], 0); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, false, logsumexp_of); }},
               {.inputs = {real({4, kN, 3}, -5, 5)},
                .call =
                    [](const Args& a) {
                      return logsumexp(a[0], {0, 2}, true);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 2}, true, logsumexp_of);
                    }},
               {.inputs = {real({40, kN})},
                .call = [](const Args& a) { return logsumexp(a[0], 0); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, false, logsumexp_of); }}},
     .growth = kSummed,
     .gradient = 2},
});

}  // namespace

}  // namespace tantu::optest
