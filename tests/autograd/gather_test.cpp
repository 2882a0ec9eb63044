#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/thread_pool.h>

#include <cstring>
#include <random>

// What the rows of the op table do not reach: sizes that are cut over threads, order and precision of sums, dtypes
// mixed.
using namespace tantu;

namespace {

std::vector<int64_t> random_ids(int64_t count, int64_t below, uint32_t seed, const char* kind) {
  std::mt19937 random(seed);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(*kind == 'e'   ? below / 2
                  : *kind == 's' ? i * below / count
                                 : static_cast<int64_t>(random() % static_cast<uint64_t>(below)));
  return ids;
}

Tensor random_values(const Shape& sizes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> v;
  for (int64_t i = 0; i < numel(sizes); ++i) v.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
  return tensor(v).reshape(sizes);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(a.data_ptr(), b.data_ptr(), static_cast<size_t>(a.nbytes())) == 0;
}

}  // namespace

TEST_CASE("sums at repeated positions are made in order: the same bits for any number of threads") {
  const char* const kinds[] = {"equal", "sorted", "random"};
  const int threads = get_num_threads();
  for (const char* kind : kinds)
    for (const auto& [rows, count, width] :
         {std::tuple{1000, 20000, 7}, {3, 100000, 1}, {50, 400, 513}, {65537, 65536, 2}}) {
      const std::vector<int64_t> ids = random_ids(count, rows, 5, kind);
      const Tensor i = tensor(ids), values = random_values({count, width}, 6);
      const Tensor start = random_values({rows, width}, 7);
      Tensor want = start.clone();
      float* to = want.data_ptr<float>();
      const float* from = values.data_ptr<float>();
      for (int64_t n = 0; n < count; ++n)
        for (int64_t c = 0; c < width; ++c) to[ids[static_cast<size_t>(n)] * width + c] += from[n * width + c];
      for (int t : {1, 2, 5}) {
        set_num_threads(t);
        CAPTURE(kind, rows, count, width, t);
        CHECK(same_bits(index_add(start, 0, i, values), want));
        CHECK(same_bits(index_put(start, {i}, values, true), want));
        CHECK(same_bits(scatter_add(start, 0, i.unsqueeze(1).expand({count, width}), values), want));
        // The same along the last dimension.
        const Tensor turned = index_add(start.transpose(0, 1).contiguous(), 1, i, values.transpose(0, 1));
        CHECK(same_bits(turned.transpose(0, 1).contiguous(), want));
        // The last value stays.
        const Tensor put = index_put(start, {i}, values), rows_of = put.index_select(0, i.narrow(0, count - 1, 1));
        CHECK(same_bits(rows_of, values.narrow(0, count - 1, 1)));
      }
      set_num_threads(threads);
    }
}

TEST_CASE("half types sum in float32 and round once") {
  for (DType t : {kFloat16, kBFloat16}) {
    const int64_t n = 100000;
    const Tensor ids = tensor(random_ids(n, 8, 1, "sorted")), small = full({n}, 0.01, {.dtype = t});
    const double one = small.narrow(0, 0, 1).item<double>();
    for (const Tensor& y :
         {index_add(zeros({8}, {.dtype = t}), 0, ids, small), scatter_add(zeros({8}, {.dtype = t}), 0, ids, small),
          index_put(zeros({8}, {.dtype = t}), {ids}, small, true)})
      for (double v : y.to_vector<double>())
        CHECK(std::abs(v - 12500 * one) <= 12500 * one * (t == kFloat16 ? 0x1p-11 : 0x1p-8) * 1.01);
    const Tensor x = ones({8}, {.dtype = t, .requires_grad = true});
    x.index_select(0, ids).backward(small);
    for (double v : x.grad().to_vector<double>())
      CHECK(std::abs(v - 12500 * one) <= 12500 * one * (t == kFloat16 ? 0x1p-11 : 0x1p-8) * 1.01);
  }
}

TEST_CASE("large copies by index, in every layout") {
  const int64_t rows = 700, width = 513, count = 900;
  const Tensor x = random_values({rows, width}, 1), i = tensor(random_ids(count, rows, 2, "random"));
  const std::vector<int64_t> ids = i.to_vector<int64_t>();
  const auto check = [&](const Tensor& y, auto want) {
    const std::vector<float> got = y.to_vector<float>();
    bool right = true;
    for (int64_t n = 0; n < count; ++n)
      for (int64_t c = 0; c < width; ++c) right &= got[static_cast<size_t>(n * width + c)] == want(n, c);
    CHECK(right);
  };
  const float* data = x.data_ptr<float>();
  const auto row_of = [&](int64_t n, int64_t c) { return data[ids[static_cast<size_t>(n)] * width + c]; };
  check(x.index_select(0, i), row_of);
  check(x.transpose(0, 1).contiguous().transpose(0, 1).index_select(0, i), row_of);
  check(x.transpose(0, 1).index_select(1, i).transpose(0, 1), row_of);
  check(x.unsqueeze(1).expand({rows, 3, width}).index_select(0, i).select(1, 2), row_of);
  check(x.gather(0, i.unsqueeze(1).expand({count, width})), row_of);
  check(x.index({i}), row_of);
  check(x.index({i.unsqueeze(1), arange(width)}), row_of);
  check(x.transpose(0, 1).contiguous().index({Slice(), i}).transpose(0, 1), row_of);
  std::vector<int64_t> columns;
  for (int64_t c = 0; c < width; ++c) columns.push_back(c % (width - 1));
  check(x.narrow(1, 0, width - 1).index_select(0, i).index({Slice(), tensor(columns)}),
        [&](int64_t n, int64_t c) { return row_of(n, c % (width - 1)); });
}

TEST_CASE("take_along_dim broadcasts x too") {
  const Tensor x = random_values({3, 4, 1}, 3).to(kFloat64).requires_grad_();
  const Tensor i = tensor(random_ids(10, 4, 4, "random")).reshape({1, 5, 2}) - 4;
  const Tensor y = take_along_dim(x, i, 1);
  REQUIRE(y.sizes() == Shape{3, 5, 2});
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < 5; ++b)
      for (int64_t c = 0; c < 2; ++c)
        CHECK(y[a][b][c].item<double>() == x[a][i[0][b][c].item<int64_t>() + 4][0].item<double>());
  CHECK(gradgradcheck(
      [&](const TensorList& v) { return TensorList{take_along_dim(v[0], i, 1) * take_along_dim(v[0], i, 1)}; }, {x}));
}

TEST_CASE("one_hot finds the number of classes") {
  const Tensor y = one_hot(tensor({0, 2, 1}));
  CHECK(y.sizes() == Shape{3, 3});
  CHECK(y.to_vector<int64_t>() == std::vector<int64_t>{1, 0, 0, 0, 0, 1, 0, 1, 0});
  CHECK(one_hot(zeros({0, 2}, {.dtype = kInt64}), 3).sizes() == Shape{0, 2, 3});
}

TEST_CASE("cat and stack promote, and gradients come back in each tensor's dtype") {
  const Tensor a = ones({2}, {.dtype = kFloat16, .requires_grad = true}),
               b = ones({2}, {.dtype = kFloat64, .requires_grad = true});
  const Tensor i = ones({2}, {.dtype = kInt64});
  CHECK(cat({i, a}).dtype() == kFloat16);
  CHECK(stack({i, zeros({2}, {.dtype = kInt32})}).dtype() == kInt64);
  CHECK(cat({i, zeros({0}, {.dtype = kFloat32})}).dtype() == kFloat32);
  CHECK(stack({full({}, 1), full({}, true)}).dtype() == kInt64);
  const Tensor y = cat({a, i, b});
  CHECK(y.dtype() == kFloat64);
  y.backward(arange(6, {.dtype = kFloat64}));
  CHECK(a.grad().dtype() == kFloat16);
  CHECK(a.grad().to_vector<double>() == std::vector<double>{0, 1});
  CHECK(b.grad().to_vector<double>() == std::vector<double>{4, 5});
}
