#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

namespace tantu::optest {

namespace {

// (…,m,k)·(…,k,n) with broadcast leading dimensions.
Array product(const Array& a, const Array& b) {
  Shape lead_a = a.sizes, lead_b = b.sizes;
  for (Shape* s : {&lead_a, &lead_b})
    for (int i = 0; i < 2; ++i) s->pop_back();
  Shape out = broadcast_shapes("reference", lead_a, lead_b);
  const int rank = out.size();
  out.push_back(a.size(-2));
  out.push_back(b.size(-1));
  Array y(out);
  int64_t i = 0;
  for_each_index(out, [&](const Dims& at) {
    Dims left = at, right = at;
    for (int64_t k = 0; k < a.size(-1); ++k) {
      left[rank + 1] = right[rank] = k;
      y[i] += a.at(left) * b.at(right);
    }
    ++i;
  });
  return y;
}

Array shaped(Array a, const Shape& sizes) {
  a.sizes = sizes;
  return a;
}

const Rows rows({
    {.name = "matmul",
     .cases = {{.inputs = {real({kN, kS}), real({kS, 3})},
                .call = [](const Args& a) { return matmul(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(r[0], r[1]); }},
               {.inputs = {real({2, kN}), real({kN, kS})},
                .call = [](const Args& a) { return matmul(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(r[0], r[1]); }},
               {.inputs = {real({2, 1, 3, kS}), real({4, kS, 5})},
                .call = [](const Args& a) { return matmul(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(r[0], r[1]); },
                .note = "batches broadcast"},
               {.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return matmul(a[0], a[1]); },
                .reference =
                    [](const Refs& r) { return shaped(product(shaped(r[0], {1, r.n}), shaped(r[1], {r.n, 1})), {}); }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"inner sizes", [](Device d) { matmul(zeros({2, 3}, {.device = d}), zeros({2, 3}, {.device = d})); },
                 "matmul: mat1 and mat2 shapes cannot be multiplied ([2, 3] and [2, 3])"},
                {"0-d", [](Device d) { matmul(zeros({}, {.device = d}), zeros({3}, {.device = d})); },
                 "matmul: both arguments need to be at least 1D, but they are 0D and 1D"},
                {"dtypes", [](Device d) { matmul(zeros({2, 2}, {.device = d}), zeros({2, 2}, {.dtype = kFloat64, .device = d})); },
                 "matmul: expected both operands to have the same dtype, but got float32 and float64"}}},
});

}  // namespace

}  // namespace tantu::optest
