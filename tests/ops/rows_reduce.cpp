#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <cmath>
#include <limits>

namespace tantu::optest {

namespace {

using Values = std::vector<double>;

double total(const Values& v) {
  long double t = 0;  // exact enough to judge float64 by
  for (double x : v) t += x;
  return static_cast<double>(t);
}

double average(const Values& v) {
  return total(v) / static_cast<double>(v.size());
}

double product(const Values& v) {
  long double t = 1;
  for (double x : v) t *= x;
  return static_cast<double>(t);
}

// Where the first NaN is, else the first of the largest.
size_t place_of_largest(const Values& v) {
  size_t best = 0;
  for (size_t i = 0; i < v.size(); ++i)
    if (std::isnan(v[i]) ? !std::isnan(v[best]) : v[i] > v[best]) best = i;
  return best;
}
Values negated(Values v) {
  for (double& x : v) x = -x;
  return v;
}
double largest(const Values& v) {
  return v[place_of_largest(v)];
}
double smallest(const Values& v) {
  return v[place_of_largest(negated(v))];
}

std::function<double(const Values&)> variance(double correction) {
  return [correction](const Values& v) {
    const double n = static_cast<double>(v.size()), mean = average(v);
    long double t = 0;
    for (double x : v) t += (static_cast<long double>(x) - mean) * (static_cast<long double>(x) - mean);
    return static_cast<double>(t) / std::max(n - correction, 0.0);
  };
}
std::function<double(const Values&)> deviation(double correction) {
  return [correction](const Values& v) { return std::sqrt(variance(correction)(v)); };
}

std::function<double(const Values&)> norm_of(double p) {
  return [p](Values v) {
    for (double& x : v) x = p == 0 ? static_cast<double>(x != 0) : std::fabs(x);
    if (p == 0) return total(v);
    if (std::isinf(p)) return v.empty() ? 0 : p > 0 ? largest(v) : smallest(v);
    for (double& x : v) x = std::pow(x, p);
    return std::pow(total(v), 1 / p);
  };
}
constexpr double kInf = std::numeric_limits<double>::infinity();

DType truth_type(DType t) {
  return t == kUInt8 ? kUInt8 : kBool;
}

// x with some columns set to zero, as an op and as a reference: for products with zeros.
Tensor with_zeros(const Tensor& x, const Values& keep) {
  return x * tensor(keep, {.dtype = x.dtype(), .device = x.device()});
}
Array with_zeros(const Array& x, const Values& keep) {
  Array mask({static_cast<int64_t>(keep.size())});
  mask.data = keep;
  return map(x, mask, [](double a, double b) { return a * b; });
}

Values running_sums(Values v) {
  long double sum = 0;
  for (double& x : v) x = static_cast<double>(sum += x);
  return v;
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
                .call =
                    [](const Args& a) {
                      return sum(a[0], {1, -3}, true);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 1}, true, total);
                    }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return sum(a[0], -1); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = kAllTypes,
     .result = {sum_type},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"dim outside",
                 [](Device d) {
                   sum(zeros({2, 3}, {.device = d}), 2);
                 },
                 "sum: Dimension out of range"},
                {"dim twice",
                 [](Device d) {
                   sum(zeros({2, 3}, {.device = d}), {1, -1});
                 },
                 "sum: dim 1 appears multiple times in the list of dims"}}},
    {.name = "mean",
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return mean(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, average); }},
               {.inputs = {real({kN, 3, kS})},
                .call =
                    [](const Args& a) {
                      return mean(a[0], {0, -1}, true);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 2}, true, average);
                    }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return mean(a[0], 0); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"integers", [](Device d) { mean(ones({2}, {.dtype = kInt64, .device = d})); },
                 "mean: could not infer output dtype"}}},
    {.name = "sum_to_size",
     .cases = {{.inputs = {real({kN, 3, kS})},
                .call =
                    [](const Args& a) {
                      return sum_to_size(a[0], {3, 1});
                    },
                .reference = [](const Refs& r) { return reduce(reduce(r[0], {0}, false, total), {1}, true, total); }}},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"not expandable",
                 [](Device d) {
                   sum_to_size(zeros({2, 3}, {.device = d}), {2});
                 },
                 "is not expandable to size"}}},
    {.name = "prod",
     .cases = {{.inputs = {real({kN, 4}, -2, 2)},
                .call = [](const Args& a) { return prod(a[0], 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, product); }},
               {.inputs = {real({kS}, 0.7, 1.3)},
                .call = [](const Args& a) { return prod(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, product); }},
               {.inputs = {real({5, kS}, -2, 2)},
                .call = [](const Args& a) { return prod(a[0], -2, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, true, product); }},
               {.inputs = {real({kN, 4}, -2, 2)},
                .call =
                    [](const Args& a) {
                      return prod(with_zeros(a[0], {1, 0, 1, 1}), 1);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(with_zeros(r[0], {1, 0, 1, 1}), {1}, false, product);
                    },
                .note = "a zero"},
               {.inputs = {real({kN, 4}, -2, 2)},
                .call =
                    [](const Args& a) {
                      return prod(with_zeros(a[0], {0, 1, 0, 1}), 1);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(with_zeros(r[0], {0, 1, 0, 1}), {1}, false, product);
                    },
                .note = "two zeros"},
               {.inputs = {real({2, 3}, -2, 2)},
                .call =
                    [](const Args& a) {
                      return prod(with_zeros(a[0], {0, 1, 1}));
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(with_zeros(r[0], {0, 1, 1}), {}, false, product);
                    },
                .note = "zeros, over all"},
               {.inputs = {real({})},
                .call = [](const Args& a) { return prod(a[0]); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = {kFloat64, kFloat32, kFloat16, kBFloat16, kInt64, kInt32},
     .result = {sum_type},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"dim outside", [](Device d) { prod(zeros({2}, {.device = d}), 1); }, "prod: Dimension out of range"}}},
    {.name = "all",
     .cases = {{.inputs = {real({kN}, 0, 3)},
                .call = [](const Args& a) { return all(a[0]); },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {}, false, [](const Values& v) {
                        for (double x : v)
                          if (x == 0) return 0.0;
                        return 1.0;
                      });
                    }},
               {.inputs = {real({3, kN, 2}, 0, 3)},
                .call =
                    [](const Args& a) {
                      return all(a[0], {0, 2}, true);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 2}, true, [](const Values& v) {
                        for (double x : v)
                          if (x == 0) return 0.0;
                        return 1.0;
                      });
                    }}},
     .dtypes = kAllTypes,
     .result = {truth_type},
     .growth = kExact},
    {.name = "any",
     .cases = {{.inputs = {real({kN}, 0, 3)},
                .call = [](const Args& a) { return any(a[0]); },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {}, false, [](const Values& v) {
                        for (double x : v)
                          if (x != 0) return 1.0;
                        return 0.0;
                      });
                    }},
               {.inputs = {real({3, kN, 2}, 0, 3)},
                .call =
                    [](const Args& a) {
                      return any(a[0], {0, 2});
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {0, 2}, false, [](const Values& v) {
                        for (double x : v)
                          if (x != 0) return 1.0;
                        return 0.0;
                      });
                    }}},
     .dtypes = kAllTypes,
     .result = {truth_type},
     .growth = kExact},
    {.name = "var",
     .cases = {{.inputs = {real({65})},
                .call = [](const Args& a) { return var(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, variance(1)); }},
               {.inputs = {real({5, kN})},
                .call = [](const Args& a) { return var(a[0], 0, 0, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, true, variance(0)); }},
               {.inputs = {real({kN, 4, 2})},
                .call =
                    [](const Args& a) {
                      return var(a[0], {1, 2}, 2.5);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {1, 2}, false, variance(2.5));
                    }}},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"integers", [](Device d) { var(ones({2}, {.dtype = kInt64, .device = d})); },
                 "std and var only support floating point dtypes"}}},
    {.name = "std",
     .cases = {{.inputs = {distinct({5, 13})},
                .call = [](const Args& a) { return tantu::std(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, deviation(1)); }},
               {.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return tantu::std(a[0], 0, 0, true); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, true, deviation(0)); }}},
     .growth = kSummed,
     .gradient = 2},
    {.name = "var_mean",
     .cases = {{.inputs = {real({5, kN})},
                .call = [](const Args& a) { return var_mean(a[0], 0, 1, true); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, true, variance(1)), reduce(r[0], {0}, true, average)});
                    }}},
     .growth = kSummed,
     .gradient = 2},
    {.name = "std_mean",
     .cases = {{.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return std_mean(a[0], 0, 0); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, false, deviation(0)), reduce(r[0], {0}, false, average)});
                    }}},
     .growth = kSummed,
     .gradient = 2},
    {.name = "norm (p = 0)",  // a count: its gradient is zero, and has none itself
     .cases = {{.inputs = {real({kN})},
                .call = [](const Args& a) { return norm(a[0], 0); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, norm_of(0)); }}},
     .growth = kSummed,
     .gradient = 1},
    {.name = "norm",
     .cases = {{.inputs = {off_kinks({3, kN})},
                .call = [](const Args& a) { return norm(a[0], 1, 0); },
                .reference = [](const Refs& r) { return reduce(r[0], {0}, false, norm_of(1)); }},
               {.inputs = {off_kinks({kN, 3, kS})},
                .call =
                    [](const Args& a) {
                      return norm(a[0], 2, {1, 2}, true);
                    },
                .reference =
                    [](const Refs& r) {
                      return reduce(r[0], {1, 2}, true, norm_of(2));
                    }},
               {.inputs = {off_kinks({kN, 3})},
                .call = [](const Args& a) { return norm(a[0], 3, 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, norm_of(3)); }},
               {.inputs = {off_kinks({kN, 3})},
                .call = [](const Args& a) { return norm(a[0], 1.5, 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, norm_of(1.5)); }},
               {.inputs = {distinct({kN, 3}, 0.5, 3)},
                .call = [](const Args& a) { return norm(a[0], kInf, 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, norm_of(kInf)); }},
               {.inputs = {distinct({kN, 3}, 0.5, 3)},
                .call = [](const Args& a) { return norm(a[0], -kInf, 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, norm_of(-kInf)); }},
               {.inputs = {off_kinks({kN, 3})},
                .call = [](const Args& a) { return norm(a[0], -1, 1); },
                .reference = [](const Refs& r) { return reduce(r[0], {1}, false, norm_of(-1)); }}},
     .growth = kSummed,
     .gradient = 2,
     .errors =
         {{"integers", [](Device d) { norm(ones({2}, {.dtype = kInt64, .device = d})); },
           "norm: Expected a floating point tensor as input. Got int64"},
          {"inf of nothing", [](Device d) { norm(ones({0}, {.device = d}), kInf); },
           "norm: cannot compute the inf norm on an empty tensor because the operation does not have an identity"}}},
    {.name = "cumsum",
     .cases = {{.inputs = {real({kN}, 0, 2)},
                .call = [](const Args& a) { return cumsum(a[0], 0); },
                .reference = [](const Refs& r) { return along(r[0], 0, running_sums); }},
               {.inputs = {real({5, kN, 3})},
                .call = [](const Args& a) { return cumsum(a[0], -3); },
                .reference = [](const Refs& r) { return along(r[0], 0, running_sums); }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return cumsum(a[0], 0); },
                .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = kAllTypes,
     .result = {sum_type},
     .growth = kComposed,
     .gradient = 2,
     .scan = true},
});

}  // namespace

}  // namespace tantu::optest
