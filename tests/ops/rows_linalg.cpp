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

// a × b along dimension `dim`, the others broadcast.
Array cross_product(const Array& a, const Array& b, int dim) {
  Array y(broadcast_shapes("reference", a.sizes, b.sizes));
  int64_t n = 0;
  for_each_index(y.sizes, [&](const Dims& at) {
    Dims i = at, j = at;
    i[dim] = (at[dim] + 1) % 3;
    j[dim] = (at[dim] + 2) % 3;
    y[n++] = a.at(i) * b.at(j) - a.at(j) * b.at(i);
  });
  return y;
}

Array shaped(Array a, const Shape& sizes) {
  a.sizes = sizes;
  return a;
}

Array transposed(const Array& a) {
  Shape sizes = a.sizes;
  const int r = sizes.size();
  std::swap(sizes[r - 1], sizes[r - 2]);
  Array y(sizes);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) {
    Dims from = at;
    std::swap(from[r - 1], from[r - 2]);
    y[i++] = a.at(from);
  });
  return y;
}

Array sum_of(const Array& a, double fa, const Array& b, double fb) {
  return map(a, b, [=](double x, double y) { return fa * x + fb * y; });
}

// Every sum of products, straight from the notation: a loop over all letters. No ellipsis, no broadcasting.
Array contracted(const std::string& equation, const std::vector<Array>& operands) {
  const size_t arrow = equation.find("->");
  std::string letters;
  std::vector<std::string> terms{""};
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') terms.emplace_back();
    else {
      terms.back() += c;
      if (letters.find(c) == std::string::npos) letters += c;
    }
  }
  Shape all, out;
  for (char c : letters)
    for (size_t t = 0, found = 0; t < terms.size() && !found; ++t)
      if (const size_t d = terms[t].find(c); d != std::string::npos) {
        all.push_back(operands[t].size(static_cast<int>(d)));
        found = 1;
      }
  const auto select = [&](const std::string& term, const Dims& at) {
    Dims index;
    for (char c : term) index.push_back(at.empty() ? 0 : at[static_cast<int>(letters.find(c))]);
    return index;
  };
  const std::string result = equation.substr(arrow + 2);
  for (char c : result) out.push_back(all[static_cast<int>(letters.find(c))]);
  Array y(out);
  for_each_index(all, [&](const Dims& at) {
    double p = 1;
    for (size_t t = 0; t < terms.size(); ++t) p *= operands[t].at(select(terms[t], at));
    y.at(select(result, at)) += p;
  });
  return y;
}

Case einsum_case(const char* equation, const char* spelt_out, std::vector<Input> inputs) {
  return {.inputs = std::move(inputs),
          .call = [=](const Args& a) { return einsum(equation, a.x); },
          .reference = [=](const Refs& r) { return contracted(spelt_out, r.x); },
          .note = equation};
}

const Rows rows({
    {.name = "mm",
     .cases = {{.inputs = {real({kN, 3}), real({3, kS})},
                .call = [](const Args& a) { return mm(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(r[0], r[1]); }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"rank", [](Device d) { mm(zeros({2, 3, 4}, {.device = d}), zeros({4, 2}, {.device = d})); }, "mm: self must be a matrix"},
                {"sizes", [](Device d) { mm(zeros({2, 3}, {.device = d}), zeros({4, 2}, {.device = d})); },
                 "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)"},
                {"bool", [](Device d) { mm(zeros({2, 2}, {.dtype = kBool, .device = d}), zeros({2, 2}, {.dtype = kBool, .device = d})); },
                 "mm: not implemented for bool"}}},
    {.name = "bmm",
     .cases = {{.inputs = {real({kS, 3, kN}), real({kS, kN, 2})},
                .call = [](const Args& a) { return bmm(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(r[0], r[1]); }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"batches differ", [](Device d) { bmm(zeros({2, 3, 4}, {.device = d}), zeros({1, 4, 2}, {.device = d})); },
                 "bmm: Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [1, 4]"}}},
    {.name = "mv",
     .cases = {{.inputs = {real({kS, kN}), real({kN})},
                .call = [](const Args& a) { return mv(a[0], a[1]); },
                .reference = [](const Refs& r) { return shaped(product(r[0], shaped(r[1], {r.n, 1})), {r.s}); }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"sizes", [](Device d) { mv(zeros({2, 3}, {.device = d}), zeros({2}, {.device = d})); },
                 "mv: size mismatch, got input (2x3), vec (2)"}}},
    {.name = "dot",
     .cases = {{.inputs = {real({kN}), real({kN})},
                .call = [](const Args& a) { return dot(a[0], a[1]); },
                .reference = [](const Refs& r) { return shaped(product(shaped(r[0], {1, r.n}), shaped(r[1], {r.n, 1})), {}); }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"lengths", [](Device d) { dot(zeros({2}, {.device = d}), zeros({3}, {.device = d})); }, "dot: inconsistent tensor size"},
                {"rank", [](Device d) { dot(zeros({2, 1}, {.device = d}), zeros({2}, {.device = d})); },
                 "dot: 1D tensors expected, but got 2D and 1D tensors"}}},
    {.name = "outer",
     .cases = {{.inputs = {real({kN}), real({kS})},
                .call = [](const Args& a) { return outer(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(shaped(r[0], {r.n, 1}), shaped(r[1], {1, r.s})); }}},
     .dtypes = kNumberTypes,
     .gradient = 2,
     .errors = {{"rank", [](Device d) { outer(zeros({2, 1}, {.device = d}), zeros({2}, {.device = d})); }, "outer: self must be a vector"}}},
    {.name = "cross",
     .cases = {{.inputs = {real({kN, 3}), real({kN, 3})},
                .call = [](const Args& a) { return cross(a[0], a[1]); },
                .reference = [](const Refs& r) { return cross_product(r[0], r[1], 1); }},
               {.inputs = {real({3, kN, 1}), real({3, 1, kS})},
                .call = [](const Args& a) { return cross(a[0], a[1], 0); },
                .reference = [](const Refs& r) { return cross_product(r[0], r[1], 0); },
                .note = "broadcast"}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"two elements", [](Device d) { cross(zeros({2}, {.device = d}), zeros({2}, {.device = d})); },
                 "cross: inputs dimension -1 must have length 3. Got 2 and 2"},
                {"ranks", [](Device d) { cross(zeros({1, 3}, {.device = d}), zeros({3}, {.device = d})); },
                 "cross: inputs must have the same number of dimensions"},
                {"bool", [](Device d) { cross(ones({3}, {kBool, d}), ones({3}, {kBool, d})); }, "cross: not implemented for bool"}}},
    {.name = "addmm",
     .cases = {{.inputs = {real({kN, 3}), real({kN, kS}), real({kS, 3})},
                .call = [](const Args& a) { return addmm(a[0], a[1], a[2]); },
                .reference = [](const Refs& r) { return sum_of(r[0], 1, product(r[1], r[2]), 1); }},
               {.inputs = {real({3}), real({2, kN}, -1, 1), real({kN, 3}, -1, 1)},
                .call = [](const Args& a) { return addmm(a[0], a[1], a[2], 2, 3); },
                .reference = [](const Refs& r) { return sum_of(r[0], 2, product(r[1], r[2]), 3); }}},
     .dtypes = {kFloat64, kFloat32, kFloat16, kBFloat16, kInt64, kInt32},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"input's shape", [](Device d) { addmm(zeros({5}, {.device = d}), zeros({2, 3}, {.device = d}), zeros({3, 4}, {.device = d})); },
                 "addmm"}}},
    {.name = "baddbmm",
     .cases = {{.inputs = {real({kS, 1, 2}), real({kS, 3, kN}, -1, 1), real({kS, kN, 2}, -1, 1)},
                .call = [](const Args& a) { return baddbmm(a[0], a[1], a[2], 3, 2); },
                .reference = [](const Refs& r) { return sum_of(r[0], 3, product(r[1], r[2]), 2); }}},
     .dtypes = {kFloat64, kFloat32, kFloat16, kBFloat16, kInt64, kInt32},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"batches differ", [](Device d) {
                   baddbmm(zeros({1}, {.device = d}), zeros({2, 3, 4}, {.device = d}), zeros({3, 4, 2}, {.device = d}));
                 },
                 "baddbmm: mat1 and mat2 shapes cannot be multiplied ([2, 3, 4] and [3, 4, 2])"}}},
    {.name = "linear",
     .cases = {{.inputs = {real({kN, kS}), real({3, kS}), real({3})},
                .call = [](const Args& a) { return linear(a[0], a[1], a[2]); },
                .reference = [](const Refs& r) { return sum_of(product(r[0], transposed(r[1])), 1, r[2], 1); }},
               {.inputs = {real({2, kS, kN}), real({3, kN})},
                .call = [](const Args& a) { return linear(a[0], a[1]); },
                .reference = [](const Refs& r) { return product(r[0], transposed(r[1])); }},
               {.inputs = {real({kN}), real({2, kN}), real({2})},
                .call = [](const Args& a) { return linear(a[0], a[1], a[2]); },
                .reference = [](const Refs& r) { return sum_of(shaped(product(shaped(r[0], {1, r.n}), transposed(r[1])), {2}), 1, r[2], 1); }},
               {.inputs = {real({kS, kN}), real({kN}), real({})},
                .call = [](const Args& a) { return linear(a[0], a[1], a[2]); },
                .reference = [](const Refs& r) { return sum_of(shaped(product(r[0], shaped(r[1], {r.n, 1})), {r.s}), 1, r[2], 1); },
                .note = "weight of one dimension"}},
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"features", [](Device d) { linear(zeros({2, 3}, {.device = d}), zeros({5, 4}, {.device = d})); },
                 "linear: mat1 and mat2 shapes cannot be multiplied"},
                {"bias", [](Device d) { linear(zeros({2, 3}, {.device = d}), zeros({5, 3}, {.device = d}), zeros({4}, {.device = d})); },
                 "linear: The size of tensor a (5) must match the size of tensor b (4)"}}},
    {.name = "einsum",
     .cases = {einsum_case("ij,jk->ik", "ij,jk->ik", {real({2, kN}), real({kN, 3})}),
               einsum_case("ij,jk", "ij,jk->ik", {real({2, kN}), real({kN, 3})}),
               einsum_case("ba", "ba->ab", {real({3, kN})}),
               einsum_case("ij->", "ij->", {real({3, kN})}),
               einsum_case("ii->i", "ii->i", {real({5, 5})}),
               einsum_case("ii", "ii->", {real({kS, kS})}),
               einsum_case("iji->j", "iji->j", {real({kS, 3, kS})}),
               einsum_case("i,j->ji", "i,j->ji", {real({kN}), real({3})}),
               einsum_case("ij,ij->ij", "ij,ij->ij", {real({kN, 2}), real({kN, 2})}),
               einsum_case("bhqd, bhkd -> bhqk", "bhqd,bhkd->bhqk", {real({2, 2, 3, kS}), real({2, 2, 5, kS})}),
               {.inputs = {real({2, 3, 4}), real({2, 4, kS}), real({2, kS})},
                .call = [](const Args& a) { return einsum("bij,bjk,bk->bi", a.x); },
                .reference =
                    [](const Refs& r) {
                      return contracted("bik,bk->bi", {contracted("bij,bjk->bik", {r[0], r[1]}), r[2]});
                    },
                .note = "three operands, pair by pair"},
               einsum_case("...ij,...jk->...ik", "abij,abjk->abik", {real({2, 3, 1, kS}), real({2, 3, kS, 2})}),
               einsum_case("i...->...", "iab->ab", {real({kS, 2, 3})}),
               einsum_case("aB,bA", "aB,bA->ABab", {real({2, 3}), real({2, kS})})},
     .growth = kComposed,
     .gradient = 2,
     .errors = {{"sizes", [](Device d) { einsum("ij,jk->ik", {zeros({2, 3}, {.device = d}), zeros({4, 2}, {.device = d})}); },
                 "einsum: operands do not broadcast: subscript j has size 4 for operand 1 but 3 before"},
                {"count", [](Device d) { einsum("ij,jk->ik", {zeros({2, 3}, {.device = d})}); },
                 "einsum: 1 operands were provided, but the equation \"ij,jk->ik\" has 2"},
                {"letters", [](Device d) { einsum("ijk->ik", {zeros({2, 3}, {.device = d})}); },
                 "einsum: the number of subscripts in the equation (3) does not match the number of dimensions (2) for operand 0 and no ellipsis was given"},
                {"output twice", [](Device d) { einsum("ij->ii", {zeros({2, 3}, {.device = d})}); },
                 "einsum: output subscript i appears more than once in the output"},
                {"output unknown", [](Device d) { einsum("ij->k", {zeros({2, 3}, {.device = d})}); },
                 "einsum: output subscript k does not appear in the equation for any input operand"},
                {"not a letter", [](Device d) { einsum("i2->i", {zeros({2}, {.device = d})}); }, "subscripts must be in [a-zA-Z]"},
                {"dots", [](Device d) { einsum("i..->i", {zeros({2}, {.device = d})}); }, "einsum: found '.' that is not part of the one ellipsis"},
                {"diagonal", [](Device d) { einsum("ii->i", {zeros({2, 3}, {.device = d})}); },
                 "einsum: subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"}}},
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
                 "matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"},
                {"0-d", [](Device d) { matmul(zeros({}, {.device = d}), zeros({3}, {.device = d})); },
                 "matmul: both arguments need to be at least 1D, but they are 0D and 1D"},
                {"dtypes", [](Device d) { matmul(zeros({2, 2}, {.device = d}), zeros({2, 2}, {.dtype = kFloat64, .device = d})); },
                 "matmul: expected all operands to have the same dtype, but got float32 and float64"}}},
});

}  // namespace

}  // namespace tantu::optest
