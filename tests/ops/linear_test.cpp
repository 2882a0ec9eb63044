#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/trace.h>

#include <cmath>
#include <map>
#include <string>

// What linear costs, told by the trace; and matrix products the table does not reach.
using namespace tantu;

namespace {

struct Counts {
  std::map<std::string, int> ops;
  int allocations = 0;
};

template <class F>
Counts traced(F&& f) {
  Counts counts;
  trace::set_sink(
      [](const trace::Event& e, void* context) {
        auto& c = *static_cast<Counts*>(context);
        if (e.kind == trace::Kind::Op) ++c.ops[e.name];
        if (e.kind == trace::Kind::Alloc) ++c.allocations;
      },
      &counts);
  f();
  trace::set_sink(nullptr);
  return counts;
}

void check_equal(const Tensor& a, const Tensor& b) {
  CHECK(a.to_vector<double>() == b.to_vector<double>());
}

}  // namespace

TEST_CASE("linear is one product forward and one per gradient; only results are allocated") {
  Tensor x = ones({8, 5}).requires_grad_(), w = ones({3, 5}).requires_grad_(), b = ones({3}).requires_grad_(), y;
  const Tensor g = ones({8, 3});
  const Counts forward = traced([&] { y = linear(x, w, b); });
  CHECK(forward.ops == std::map<std::string, int>{{"linear", 1}});
  CHECK(forward.allocations == 1);
  const Counts backward = traced([&] { y.backward(g); });
  CHECK(backward.ops == std::map<std::string, int>{{"linear", 2}, {"sum", 1}});
  CHECK(backward.allocations == 3);
  const Counts frozen = traced([&] { linear(x.detach(), w, b).backward(g); });
  CHECK(frozen.ops.at("linear") == 2);
}

TEST_CASE("products take transposed, expanded and stepped operands as they are") {
  const Tensor a = arange(24, {.dtype = kFloat64}).view({4, 6}), b = arange(30, {.dtype = kFloat64}).view({6, 5}) - 7;
  const Tensor want = mm(a, b);
  const Counts counts = traced([&] {
    check_equal(mm(a.t().contiguous().t(), b), want);
    check_equal(mm(b.t(), a.t()).t(), want);
  });
  CHECK(counts.ops.at("mm") == 2);
  check_equal(mm(a.slice(1, 0, 6, 2), b.slice(0, 0, 6, 2)),
              mm(a.slice(1, 0, 6, 2).contiguous(), b.slice(0, 0, 6, 2).contiguous()));
  check_equal(matmul(a.expand({3, 4, 6}), b), want.expand({3, 4, 5}));
  check_equal(linear(a.view({2, 2, 6}).transpose(0, 1), b.t()), want.view({2, 2, 5}).transpose(0, 1));
}

TEST_CASE("beta = 0 reads no input, NaN or not; an empty product is beta times it") {
  const Tensor nan = full({2, 3}, NAN), a = ones({2, 4}), b = ones({4, 3});
  check_equal(addmm(nan, a, b, 0), full({2, 3}, 4.0));
  CHECK(std::isnan(addmm(nan, a, b).select(0, 0).select(0, 0).item<double>()));
  check_equal(addmm(full({3}, 2.0), zeros({2, 0}), zeros({0, 3}), 0.5), ones({2, 3}));
  CHECK(addmm(zeros({3}), zeros({0, 4}), b).sizes() == Shape{0, 3});
  const TensorOptions whole{.dtype = kInt64};
  check_equal(addmm(full({3}, 5, whole), ones({2, 4}, whole), ones({4, 3}, whole), 1.5, -1.5), full({2, 3}, 1, whole));
}

TEST_CASE("alpha = 0 reads no matrices, as BLAS rules; a batch's it does read, as PyTorch does") {
  const Tensor inf = full({2, 3}, INFINITY), b = ones({3, 2});
  check_equal(addmm(full({2}, 2.0), inf, b, 3, 0), full({2, 2}, 6.0));
  CHECK(std::isnan(baddbmm(ones({1, 2, 2}), inf.unsqueeze(0), b.unsqueeze(0), 1, 0).max().item<double>()));
}

TEST_CASE("a bias of linear may have the output's dimensions") {
  const Tensor x = arange(6, {.dtype = kFloat64}).view({2, 3}), w = ones({4, 3}, {.dtype = kFloat64});
  const Tensor bias = arange(8, {.dtype = kFloat64}).view({2, 4});
  check_equal(linear(x, w, bias), linear(x, w) + bias);
  check_equal(linear(x, w, bias[0].unsqueeze(0)), linear(x, w, bias[0]));
  CHECK(linear(x.expand({5, 2, 3}), w, bias).sizes() == Shape{5, 2, 4});
  CHECK_THROWS_AS(linear(x[0], w, bias), ShapeError);
}

TEST_CASE("einsum broadcasts dimensions of size 1 and ellipses of different lengths, and may show its operand") {
  const Tensor a = arange(6, {.dtype = kFloat64}).view({2, 3}), b = arange(4, {.dtype = kFloat64}).view({4, 1});
  check_equal(einsum("ij,kj->ikj", {a, b}), mul(a.unsqueeze(1), b.unsqueeze(0)));
  check_equal(einsum("...,...->...", {a, b.view({4, 1, 1})}), a * b.view({4, 1, 1}));
  check_equal(einsum("...j->...", {a}), a.sum(1));
  check_equal(einsum("...j->j", {a}), a.sum(0));
  CHECK(einsum("ij->ji", {a}).data_ptr() == a.data_ptr());
  check_equal(einsum(" i , j -> i j ", {a.select(0, 1), b.squeeze(1)}), outer(a.select(0, 1), b.squeeze(1)));
  CHECK(einsum(",->", {tensor(2.0), tensor(3.0)}).item<double>() == 6);
  CHECK_THROWS_AS(einsum("ij", {}), ValueError);
  CHECK_THROWS_WITH(einsum(". ..i", {a}), Catch::Contains("found '.' that is not part of any ellipsis"));
  check_equal(einsum(" ... i -> i", {a}), a.sum(0));
  CHECK_THROWS_WITH(outer(zeros({1}).expand({int64_t{1} << 40}), zeros({1}).expand({int64_t{1} << 40})),
                    Catch::StartsWith("outer: "));
  CHECK_THROWS_AS(einsum("i->i->i", {ones({2})}), ValueError);
  CHECK_THROWS_AS(einsum("\xc3\xa9->", {ones({2})}), Error);
}
