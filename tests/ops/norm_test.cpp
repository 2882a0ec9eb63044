#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>

#include <cmath>
#include <random>

// Means far from zero, huge values, constant rows, running statistics, repeated indices: where normalizations,
// embedding and dropout go wrong without being noticed.
using namespace tantu;

namespace {

std::vector<float> spread_around(double mean, double spread, size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(mean, spread);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(normal(engine));
  return x;
}

struct Moments {
  double mean = 0, var = 0;
  explicit Moments(const std::vector<float>& x) {
    long double m = 0, v = 0;
    for (float e : x) m += e;
    m /= static_cast<long double>(x.size());
    for (float e : x) v += (e - m) * (e - m);
    mean = static_cast<double>(m);
    var = static_cast<double>(v / static_cast<long double>(x.size()));
  }
};

void check_close(const Tensor& got, const std::vector<double>& want, double tolerance) {
  const std::vector<double> values = got.detach().to_vector<double>();
  REQUIRE(values.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("element " << i << ": " << values[i] << " instead of " << want[i]);
    REQUIRE(std::abs(values[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i])));
  }
}

}  // namespace

TEST_CASE("layer_norm and batch_norm keep the spread of values far from zero, and of huge ones") {
  for (const double mean : {0.0, 1e2, 1e4, 1e7, 1e30})
    for (const double spread : {1e-3, 1.0, 0.1 * mean}) {
      if (spread == 0 || spread < mean * 0x1p-23) continue;  // not there in float32
      const std::vector<float> x = spread_around(mean, spread, 1000, 7);
      const Moments m(x);
      INFO("mean " << mean << ", spread " << spread);
      std::vector<double> want, g(x.size()), want_g(x.size());
      for (float v : x) want.push_back((v - m.mean) / std::sqrt(m.var + 1e-5));
      Tensor row = tensor(x).view({1, 1000}).requires_grad_(), column = tensor(x).view({1000, 1}).requires_grad_();
      const Tensor by_row = layer_norm(row, {1000}), by_column = batch_norm(column, {}, {}, {}, {}, true);
      check_close(by_row, want, 1e-6);
      check_close(by_column, want, 1e-6);
      double level = 0, along = 0;
      for (size_t i = 0; i < g.size(); ++i) {
        g[i] = std::sin(static_cast<double>(i));
        level += g[i] / 1000;
        along += g[i] * want[i] / 1000;
      }
      for (size_t i = 0; i < g.size(); ++i) want_g[i] = (g[i] - level - want[i] * along) / std::sqrt(m.var + 1e-5);
      const Tensor direction = tensor(g, {.dtype = kFloat32});
      by_row.backward(direction.view({1, 1000}), true);
      by_column.backward(direction.view({1000, 1}), true);
      const double scale = std::max(1.0, 1 / std::sqrt(m.var + 1e-5));
      check_close(row.grad(), want_g, 2e-6 * scale);
      check_close(column.grad(), want_g, 2e-6 * scale);
      const Tensor composed = grad({by_row}, {row}, {direction.view({1, 1000})}, false, true)[0];
      check_close(composed, want_g, 2e-6 * scale);
    }
}

TEST_CASE("a constant row is all zeros, its gradient finite") {
  for (const double value : {0.1, 1e7, 3e38}) {
    Tensor x = full({2, 9}, value, {.dtype = kFloat32}).requires_grad_();
    const Tensor y = layer_norm(x, {9}, ones({9}), full({9}, 0.5));
    check_close(y, std::vector<double>(18, 0.5), 0);
    y.backward(arange(18, {.dtype = kFloat32}).view({2, 9}));
    std::vector<double> want;
    for (int i = 0; i < 18; ++i) want.push_back((i % 9 - 4) / std::sqrt(1e-5));
    check_close(x.grad(), want, 1e-6);
  }
}

TEST_CASE("batch_norm: running statistics, evaluation, versions") {
  const std::vector<float> values = spread_around(3, 2, 60, 3);
  const Tensor x = tensor(values).view({5, 2, 6});
  Tensor mean = tensor({1, 2}, {.dtype = kFloat32}), var = tensor({3, 4}, {.dtype = kFloat32});
  const uint32_t before = mean.version();
  batch_norm(x, mean, var, {}, {}, false);
  CHECK(mean.version() == before);
  check_close(mean, {1, 2}, 0);
  batch_norm(x, mean, var, {}, {}, true, 0.25);
  CHECK(mean.version() > before);
  for (int64_t c = 0; c < 2; ++c) {
    const Moments m(x.select(1, c).to_vector<float>());
    CHECK(mean.select(0, c).item<double>() == Approx(0.75 * (1 + c) + 0.25 * m.mean).epsilon(1e-6));
    CHECK(var.select(0, c).item<double>() == Approx(0.75 * (3 + c) + 0.25 * m.var * 30 / 29).epsilon(1e-6));
  }
  // A failed call leaves them alone.
  const std::vector<double> kept = mean.to_vector<double>();
  CHECK_THROWS_AS(batch_norm(zeros({1, 2}), mean, var, {}, {}, true), ValueError);
  check_close(mean, kept, 0);
  // Empty batches have no statistics to add.
  batch_norm(zeros({0, 2, 3}), mean, var, {}, {}, true);
  check_close(mean, kept, 0);
}

TEST_CASE("batch_norm: a channel's layout in memory does not matter") {
  const Tensor x = tensor(spread_around(0, 1, 2 * 3 * 4 * 5, 11)).view({2, 3, 4, 5});
  const Tensor w = tensor({1, -2, 0.5}, {.dtype = kFloat32}), b = tensor({0, 1, 2}, {.dtype = kFloat32});
  const std::vector<double> want = batch_norm(x, {}, {}, w, b, true).to_vector<double>();
  const Tensor last = x.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2});
  check_close(batch_norm(last, {}, {}, w, b, true), want, 0);
  const Tensor flat = x.permute({0, 2, 3, 1}).reshape({40, 3});
  check_close(batch_norm(flat, {}, {}, w, b, true).view({2, 4, 5, 3}).permute({0, 3, 1, 2}), want, 1e-7);
}

TEST_CASE("embedding: padding and frequency in the gradient; its sum repeats and does not stop growing") {
  const Tensor index = tensor({1, 2, 1, 0, 1, 2}).view({2, 3});
  Tensor w = ones({4, 2}).requires_grad_();
  embedding(index, w, 2).sum().backward();
  check_close(w.grad(), {1, 1, 3, 3, 0, 0, 0, 0}, 0);
  w.set_grad({});
  embedding(index, w, -2, true).sum().backward();
  check_close(w.grad(), {1, 1, 1, 1, 0, 0, 0, 0}, 0);
  w.set_grad({});
  // Second order: the gradient is linear in g, with the same shares.
  Tensor g = ones({2, 3, 2}).requires_grad_();
  const Tensor first = grad({embedding(index, w, 2, true)}, {w}, {g}, false, true)[0];
  const Tensor second = grad({first}, {g}, {ones({4, 2})})[0];
  const double third = 1.0 / 3;
  check_close(second, {third, third, 0, 0, third, third, 1, 1, third, third, 0, 0}, 1e-7);

  Tensor half = zeros({3, 1}, {.dtype = kFloat16}).requires_grad_();
  embedding(zeros({100000}, {.dtype = kInt64}), half).backward(full({100000, 1}, 0.01, {.dtype = kFloat16}));
  CHECK(half.grad().select(0, 0).item<double>() == Approx(1000).epsilon(1e-3));
}

TEST_CASE("embedding: int32 and strided indices; a bad index is named with its place") {
  const Tensor w = arange(12, {.dtype = kFloat32}).view({4, 3});
  const Tensor index = tensor({3, 0, 1, 2}).view({2, 2});
  check_close(embedding(index.t().to(kInt32), w), {9, 10, 11, 3, 4, 5, 0, 1, 2, 6, 7, 8}, 0);
  check_close(embedding(index, w.t().contiguous().t()).select(0, 0).select(0, 0), {9, 10, 11}, 0);
  try {
    embedding(tensor({0, 1, 2, 4}).view({2, 2}), w);
    FAIL("did not throw");
  } catch (const IndexError& e) {
    CHECK(std::string(e.what()) == "embedding: index out of range in self: index 4 at position [1, 1], 4 embeddings");
  }
}

TEST_CASE("dropout with p = 1 is zero even for infinities, and draws nothing; its mask is that of the gradient") {
  Tensor x = full({4}, INFINITY).requires_grad_();
  manual_seed(5);
  const uint32_t next = default_generator().random();
  manual_seed(5);
  const Tensor y = dropout(x, 1);
  check_close(y, {0, 0, 0, 0}, 0);
  y.sum().backward();
  check_close(x.grad(), {0, 0, 0, 0}, 0);
  dropout(x, 0);
  dropout(x, 0.5, false);
  dropout(zeros({0, 3}), 0.5);
  CHECK(default_generator().random() == next);

  Tensor ones_in = ones({1000}).requires_grad_();
  const Tensor dropped = dropout(ones_in, 0.3);
  dropped.sum().backward();
  check_close(ones_in.grad(), dropped.to_vector<double>(), 0);
}
