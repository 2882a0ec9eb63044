#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tantu::optest {

namespace {

using Values = std::vector<double>;

bool below(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

// Where the elements of the sorted line were; equal ones in their order.
std::vector<size_t> order(const Values& v, bool descending) {
  std::vector<size_t> places(v.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return descending ? below(v[b], v[a]) : below(v[a], v[b]); });
  return places;
}

Arrays sorted(const Array& x, int dim, bool descending) {
  const auto of = [&](bool values) {
    return along(x, dim, [&](const Values& v) {
      Values out;
      for (size_t place : order(v, descending)) out.push_back(values ? v[place] : static_cast<double>(place));
      return out;
    });
  };
  return Arrays({of(true), of(false)});
}

// The first k of the sorted lines of the last dimension.
Arrays first_sorted(const Array& x, int64_t k, bool descending) {
  const Arrays all = sorted(x, x.rank() - 1, descending);
  Shape shape = x.sizes;
  const int64_t n = shape.back();
  shape[shape.size() - 1] = k;
  std::vector<Array> cut;
  for (const Array& a : all) {
    Array part(shape);
    for (int64_t i = 0; i < part.numel(); ++i) part[i] = a[i / k * n + i % k];
    cut.push_back(part);
  }
  return Arrays(cut);
}

// Element k (from 0) of the sorted group, or its place.
std::function<double(const Values&)> kth(size_t k, bool value) {
  return [k, value](const Values& v) {
    const size_t place = order(v, false)[k];
    return value ? v[place] : static_cast<double>(place);
  };
}
std::function<double(const Values&)> middle(bool value) {
  return [value](const Values& v) {
    for (size_t i = 0; i < v.size(); ++i)
      if (std::isnan(v[i])) return value ? v[i] : static_cast<double>(i);
    return kth((v.size() - 1) / 2, value)(v);
  };
}

const Rows rows({
    {.name = "sort",
     .cases = {{.inputs = {distinct({kN})},
                .call = [](const Args& a) { return sort(a[0]); },
                .reference = [](const Refs& r) { return sorted(r[0], 0, false); }},
               {.inputs = {distinct({kN, 3})},
                .call = [](const Args& a) { return sort(a[0], 0, true); },
                .reference = [](const Refs& r) { return sorted(r[0], 0, true); }},
               {.inputs = {distinct({2, 4, kS})},
                .call = [](const Args& a) { return sort(a[0], -2); },
                .reference = [](const Refs& r) { return sorted(r[0], 1, false); }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return sort(a[0]); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({r[0], Array(Shape())});
                    }}},
     .dtypes = kAllTypes,
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2,
     .errors = {{"dim outside", [](Device d) { sort(zeros({2}, {.device = d}), 1); }, "sort: Dimension out of range"}}},
    {.name = "argsort",
     .cases = {{.inputs = {real({3, kN})},
                .call = [](const Args& a) { return argsort(a[0], 1, true); },
                .reference = [](const Refs& r) { return sorted(r[0], 1, true)[1]; },
                .note = "ties keep their order"}},
     .dtypes = kAllTypes,
     .result = {index_type},
     .growth = kExact},
    {.name = "topk",
     .cases = {{.inputs = {distinct({kN, 7})},
                .call = [](const Args& a) { return topk(a[0], 3); },
                .reference = [](const Refs& r) { return first_sorted(r[0], 3, true); }},
               {.inputs = {distinct({kS, 130})},
                .call = [](const Args& a) { return topk(a[0], 2, -1, false); },
                .reference = [](const Refs& r) { return first_sorted(r[0], 2, false); },
                .note = "few of many"},
               {.inputs = {distinct({kS, 5})},
                .call = [](const Args& a) { return topk(a[0], 5, 1); },
                .reference = [](const Refs& r) { return first_sorted(r[0], 5, true); }}},
     .dtypes = kNumberTypes,
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2,
     .errors = {{"k too large", [](Device d) { topk(zeros({3}, {.device = d}), 4); },
                 "topk: selected index k out of range"},
                {"bool", [](Device d) { topk(zeros({3}, {.dtype = kBool, .device = d}), 1); },
                 "topk: not implemented for bool"}}},
    {.name = "kthvalue",
     .cases = {{.inputs = {distinct({kN, 6})},
                .call = [](const Args& a) { return kthvalue(a[0], 2, 1); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {1}, false, kth(1, true)), reduce(r[0], {1}, false, kth(1, false))});
                    }},
               {.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return kthvalue(a[0], 5, 0, true); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, true, kth(4, true)), reduce(r[0], {0}, true, kth(4, false))});
                    }}},
     .dtypes = kNumberTypes,
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2,
     .errors = {{"k is 0", [](Device d) { kthvalue(zeros({3}, {.device = d}), 0); },
                 "kthvalue: selected number k out of range for dimension 0"},
                {"of nothing",
                 [](Device d) {
                   kthvalue(zeros({2, 0}, {.device = d}), 1);
                 },
                 "kthvalue: Expected reduction dim 1 to have non-zero size."},
                {"bool", [](Device d) { kthvalue(zeros({3}, {.dtype = kBool, .device = d}), 1); },
                 "kthvalue: not implemented for bool"}}},
    {.name = "median",
     .cases = {{.inputs = {distinct({6})},
                .call = [](const Args& a) { return median(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, middle(true)); }},
               {.inputs = {distinct({5, 7})},
                .call = [](const Args& a) { return median(a[0]); },
                .reference = [](const Refs& r) { return reduce(r[0], {}, false, middle(true)); }}},
     .dtypes = kNumberTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"bool", [](Device d) { median(zeros({3}, {.dtype = kBool, .device = d})); },
                 "median: not implemented for bool"}}},
    {.name = "median (dim)",
     .cases = {{.inputs = {distinct({kN, 6})},
                .call = [](const Args& a) { return median(a[0], 1); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {1}, false, middle(true)), reduce(r[0], {1}, false, middle(false))});
                    }},
               {.inputs = {distinct({5, kN})},
                .call = [](const Args& a) { return median(a[0], 0, true); },
                .reference =
                    [](const Refs& r) {
                      return Arrays({reduce(r[0], {0}, true, middle(true)), reduce(r[0], {0}, true, middle(false))});
                    }}},
     .dtypes = kNumberTypes,
     .result = {same_type, index_type},
     .growth = kExact,
     .gradient = 2,
     .errors = {{"of nothing", [](Device d) { median(zeros({2, 0}, {.device = d}), 1); },
                 "median: Expected reduction dim 1 to have non-zero size."}}},
});

}  // namespace

}  // namespace tantu::optest
