#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>

#include <cmath>
#include <random>

// What the op table's random inputs don't reach: ignored rows, wide rows, rows of -inf, huge scores, words of errors.
using namespace tantu;

namespace {

Tensor random_normal(const Shape& sizes, DType dtype, unsigned seed, double scale = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(static_cast<size_t>(numel(sizes)));
  for (double& v : values) v = normal(engine);
  return tensor(values, {.dtype = dtype}).view(sizes);
}

std::vector<int64_t> random_classes(int64_t n, int64_t classes, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<int64_t> t(static_cast<size_t>(n));
  for (int64_t& v : t) v = static_cast<int64_t>(engine()) % classes;
  return t;
}

void check_close(const Tensor& got, const std::vector<double>& want, double tolerance) {
  const std::vector<double> values = got.detach().to_vector<double>();
  REQUIRE(values.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("element " << i << ": " << values[i] << " instead of " << want[i]);
    REQUIRE((std::isnan(want[i]) ? std::isnan(values[i])
                                 : std::abs(values[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i]))));
  }
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// Losses and the mean's gradient, straight from the definition.
struct Reference {
  std::vector<double> losses, gradient;
  double mean = 0;

  Reference(const std::vector<double>& x, const std::vector<int64_t>& t, int64_t classes, int64_t ignore)
      : gradient(x.size()) {
    double counted = 0;
    for (int64_t v : t) counted += v != ignore;
    for (size_t p = 0; p < t.size(); ++p) {
      const double* row = x.data() + p * static_cast<size_t>(classes);
      if (t[p] == ignore) {
        losses.push_back(0);
        continue;
      }
      double largest = -INFINITY, sum = 0;
      for (int64_t c = 0; c < classes; ++c) largest = std::max(largest, row[c]);
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
      losses.push_back(std::log(sum) + largest - row[t[p]]);
      for (int64_t c = 0; c < classes; ++c)
        gradient[p * static_cast<size_t>(classes) + static_cast<size_t>(c)] =
            (std::exp(row[c] - largest) / sum - (c == t[p])) / counted;
      mean += losses.back() / counted;
    }
  }
};

}  // namespace

TEST_CASE("cross entropy over 2 to 50257 classes, some targets ignored") {
  for (const int64_t classes : {2, 3, 15, 16, 17, 1000, 8003, 50257}) {
    for (const double scale : {1.0, 1e4}) {
      const int64_t n = 7;
      Tensor x = random_normal({n, classes}, kFloat32, static_cast<unsigned>(classes), scale).requires_grad_();
      std::vector<int64_t> t = random_classes(n, classes, 5);
      t[1] = t[4] = -100;
      INFO(classes << " classes, scores of " << scale);
      const Reference want(x.detach().to_vector<double>(), t, classes, -100);
      const Tensor loss = cross_entropy(x, tensor(t));
      check_close(loss, {want.mean}, 1e-6);
      loss.backward();
      check_close(x.grad(), want.gradient, 1e-6);
      check_close(cross_entropy(x, tensor(t), {.reduction = "none"}), want.losses, 1e-6);
    }
  }
}

TEST_CASE("cross entropy with every target ignored: the mean is NaN, the gradient exactly 0") {
  for (const bool create_graph : {false, true}) {
    Tensor x = random_normal({3, 5}, kFloat32, 1).requires_grad_();
    const Tensor loss = cross_entropy(x, full({3}, 2), {.ignore_index = 2});
    CHECK(std::isnan(loss.item<double>()));
    const Tensor g = grad({loss}, {x}, {}, false, create_graph)[0];
    for (double v : g.to_vector<double>()) CHECK(v == 0);
  }
  CHECK(cross_entropy(zeros({3, 5}), full({3}, 2), {.ignore_index = 2, .reduction = "sum"}).item<double>() == 0);
  CHECK(std::isnan(cross_entropy(zeros({0, 5}), zeros({0}, {.dtype = kInt64})).item<double>()));
}

TEST_CASE("cross entropy meets infinities as PyTorch does") {
  Tensor masked = zeros({2, 100000});
  masked.slice(1, 1).fill_(-INFINITY);  // one class is left
  masked.requires_grad_();
  const Tensor loss = cross_entropy(masked, zeros({2}, {.dtype = kInt64}));
  CHECK(loss.item<double>() == 0);
  loss.backward();
  for (double v : masked.grad().to_vector<double>()) REQUIRE(v == 0);
  CHECK(cross_entropy(masked, full({2}, 7)).item<double>() == INFINITY);
  CHECK(std::isnan(cross_entropy(full({1, 4}, -INFINITY), zeros({1}, {.dtype = kInt64})).item<double>()));
  CHECK(std::isnan(cross_entropy(full({1, 4}, INFINITY), zeros({1}, {.dtype = kInt64})).item<double>()));
}

TEST_CASE("cross entropy of (N,C,d) equals that of its rows, in any layout, and takes uint8 classes") {
  const Tensor x = random_normal({3, 4, 5}, kFloat64, 3), rows = x.permute({0, 2, 1}).reshape({15, 4});
  const std::vector<int64_t> t = random_classes(15, 4, 9);
  const Tensor target = tensor(t).view({3, 5}), weight = tensor({0.5, 1, 2, 4}, {.dtype = kFloat64});
  for (const char* reduction : {"none", "sum", "mean"}) {
    const CrossEntropyOptions options{
        .weight = weight, .ignore_index = 1, .reduction = reduction, .label_smoothing = 0.3};
    const std::vector<double> want = cross_entropy(rows, tensor(t), options).to_vector<double>();
    check_close(cross_entropy(x, target, options), want, 1e-14);
    check_close(
        cross_entropy(x.permute({2, 1, 0}).contiguous().permute({2, 1, 0}), target.t().contiguous().t(), options), want,
        1e-14);
    check_close(cross_entropy(x, target.to(kUInt8), options), want, 1e-14);
    check_close(nll_loss(x.log_softmax(1), target, {.weight = weight, .ignore_index = 1, .reduction = reduction}),
                cross_entropy(rows, tensor(t), {.weight = weight, .ignore_index = 1, .reduction = reduction})
                    .to_vector<double>(),
                1e-14);
  }
}

TEST_CASE("probabilities that name one class equal that class; smoothing of both agrees") {
  const Tensor x = random_normal({6, 3}, kFloat64, 8);
  const std::vector<int64_t> t = random_classes(6, 3, 4);
  Tensor one_hot = zeros({6, 3}, {.dtype = kFloat64});
  for (size_t p = 0; p < t.size(); ++p) one_hot.select(0, static_cast<int64_t>(p)).narrow(0, t[p], 1).fill_(1);
  for (const double smoothing : {0.0, 0.1, 1.0})
    check_close(cross_entropy(x, one_hot, {.label_smoothing = smoothing}),
                cross_entropy(x, tensor(t), {.label_smoothing = smoothing}).to_vector<double>(), 1e-14);
}

TEST_CASE("a target out of bounds is named with its place, whatever the reduction") {
  std::vector<int64_t> t(70000, 1);
  t[69999] = 3;
  t[66000] = -5;
  for (const char* reduction : {"none", "sum", "mean"}) {
    CHECK(message([&] {
            cross_entropy(zeros({70000, 3}), tensor(t), {.reduction = reduction});
          }) == "cross_entropy: Target -5 is out of bounds: position [66000] of the targets, 3 classes");
    CHECK_THROWS_AS(cross_entropy(zeros({70000, 3}), tensor(t), {.reduction = reduction}), IndexError);
  }
  CHECK(cross_entropy(zeros({1, 3}), full({1}, -100), {.reduction = "sum"}).item<double>() ==
        0);  // and the next call works
}

TEST_CASE("binary cross entropy at and beyond the ends") {
  Tensor x = tensor({0, 1, 0, 1}, {.dtype = kFloat32}).requires_grad_();
  const Tensor t = tensor({0, 1, 1, 0}, {.dtype = kFloat32});
  const Tensor loss = binary_cross_entropy(x, t, {.reduction = "none"});
  check_close(loss, {0, 0, 100, 100}, 0);
  loss.sum().backward();
  for (double v : x.grad().to_vector<double>()) CHECK(std::isfinite(v));
  Tensor scores = tensor({-1e4, 1e4, 800, -800}, {.dtype = kFloat32}).requires_grad_();
  const Tensor with_logits = binary_cross_entropy_with_logits(scores, t, {.reduction = "none"});
  check_close(with_logits, {0, 0, 0, 0}, 0);
  with_logits.sum().backward();
  check_close(scores.grad(), {0, 0, 0, 0}, 0);
  CHECK_THROWS_AS(binary_cross_entropy(tensor({NAN}), tensor({1.0})), ValueError);
}

TEST_CASE("losses with straight ends take infinite differences") {
  Tensor x = tensor({INFINITY, -INFINITY, 3}, {.dtype = kFloat32}).requires_grad_();
  const Tensor t = zeros({3});
  huber_loss(x, t, {.reduction = "sum", .delta = 2}).backward();
  check_close(x.grad(), {2, -2, 2}, 0);
  x.set_grad({});
  smooth_l1_loss(x, t, {.reduction = "sum", .beta = 0}).backward();
  check_close(x.grad(), {1, -1, 1}, 0);
}

TEST_CASE("kl_div of a target with zeros") {
  Tensor x = tensor({-1, -2}, {.dtype = kFloat64}).requires_grad_();
  const Tensor loss = kl_div(x, tensor({0, 0.5}, {.dtype = kFloat64}), {.reduction = "sum"});
  check_close(loss, {0.5 * (std::log(0.5) + 2)}, 1e-15);
  loss.backward();
  check_close(x.grad(), {0, -0.5}, 0);
}

TEST_CASE("what PyTorch takes though it looks odd: batchmean of one number, a bool input, a vector of one class") {
  CHECK(kl_div(tensor(1.0), tensor(2.0), {.reduction = "batchmean"}).item<float>() == Approx(-0.6137056350708008));
  CHECK(mse_loss(tensor({true}), tensor({2.0})).item<float>() == 1);
  const Tensor scores = tensor({1.0, 2.0}), one = tensor({1});
  for (const char* reduction : {"mean", "none"}) {
    const Tensor loss = cross_entropy(scores, one, {.reduction = reduction});
    CHECK(loss.dim() == 0);
    CHECK(loss.item<float>() == Approx(0.31326165795326233));
    CHECK(nll_loss(scores, one, {.reduction = reduction}).item<float>() == -2);
  }
  CHECK_THROWS_AS(nll_loss(scores, tensor({1, 0})), ShapeError);
  CHECK_THROWS_AS(binary_cross_entropy(tensor({0.5}), tensor({NAN})), ValueError);
}

TEST_CASE("dropout that drops nothing takes any dtype") {
  const Tensor whole = tensor({1, 2});
  CHECK(dropout(whole, 0.5, false).is_same(whole));
  CHECK_THROWS_AS(dropout(whole, 0.5, true), DTypeError);
}

TEST_CASE("cat of nothing along any dimension") {
  CHECK(cat({zeros({0}), zeros({0})}, 1).sizes() == Shape{0});
  CHECK(cat({zeros({0}), zeros({2, 2})}, 1).sizes() == Shape{2, 2});
}
