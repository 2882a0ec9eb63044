#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>

#include <cmath>
#include <functional>
#include <random>

// Normalizations and cross-entropy on a GPU against the CPU's float64: long rows, several parts of a channel, means far
// from zero, huge values, images, a vocabulary, all targets ignored.
using namespace tantu;

namespace {

Tensor around(double mean, double spread, const Shape& sizes, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(mean, spread);
  std::vector<float> v(static_cast<size_t>(numel(sizes)));
  for (float& x : v) x = static_cast<float>(normal(engine));
  return tensor(v).view(sizes);
}

using Call = std::function<Tensor(const TensorList&)>;

// The result and the gradients of the floating inputs, in float64 on the CPU or as they are on `device`.
std::vector<std::vector<double>> values_of(const Call& call, const TensorList& inputs, Device device, bool exact) {
  TensorList x;
  for (const Tensor& t : inputs) {
    if (is_floating(t.dtype())) x.push_back(t.to(device, exact ? kFloat64 : t.dtype()).clone().requires_grad_());
    else x.push_back(t.to(device));
  }
  const Tensor y = call(x);
  const Tensor direction = around(0, 1, y.sizes(), 99).to(device, y.dtype());
  y.backward(direction);
  std::vector<std::vector<double>> all{y.detach().to_vector<double>()};
  for (const Tensor& t : x)
    if (is_floating(t.dtype())) all.push_back(t.grad().to_vector<double>());
  return all;
}

// Largest difference over max(1, largest value), by result.
void compare(const Call& call, const TensorList& inputs, double tolerance) {
  for (Device device : gpu_devices()) {
    const auto got = values_of(call, inputs, device, false), want = values_of(call, inputs, kCPU, true);
    for (size_t k = 0; k < want.size(); ++k) {
      double largest = 1, worst = 0;
      bool finite = true;
      for (size_t i = 0; i < want[k].size(); ++i) {
        largest = std::max(largest, std::abs(want[k][i]));
        worst = std::max(worst, std::abs(got[k][i] - want[k][i]));
        finite &= std::isfinite(got[k][i]);
      }
      INFO("result " << k << ": " << worst << " of " << largest);
      CHECK(finite);
      CHECK(worst <= tolerance * largest);
    }
  }
}

}  // namespace

TEST_CASE("layer_norm: short and long rows, many rows") {
  for (const Shape& shape :
       {Shape{3, 1023}, Shape{3, 1024}, Shape{3, 1025}, Shape{2, 5000}, Shape{700, 33}, Shape{1, 1}})
    compare([&](const TensorList& t) { return layer_norm(t[0], {shape[1]}, t[1], t[2]); },
            {around(0, 2, shape, 1), around(1, 1, {shape[1]}, 2), around(0, 1, {shape[1]}, 3)}, 2e-6);
}

TEST_CASE("layer_norm and batch_norm keep the spread of values far from zero, and of huge and tiny ones") {
  for (const double mean : {0.0, 1e2, 1e4, 1e7, 1e30})
    for (const double spread : {1e-3, 1.0, 0.1 * mean, 1e-25}) {
      if (spread == 0 || spread < mean * 0x1p-23) continue;  // not there in float32
      INFO("mean " << mean << ", spread " << spread);
      const double eps = spread < 1e-20 ? 0 : 1e-5;
      for (const int64_t n : {100, 3000})
        compare([=](const TensorList& t) { return layer_norm(t[0], {n}, {}, {}, eps); },
                {around(mean, spread, {2, n}, 7)}, 4e-6);
      for (const Shape& shape : {Shape{300, 2, 1}, Shape{3, 2, 100}, Shape{2, 2, 5000}})
        compare([=](const TensorList& t) { return batch_norm(t[0], {}, {}, {}, {}, true, 0.1, eps); },
                {around(mean, spread, shape, 8)}, 4e-6);
    }
}

TEST_CASE("a constant row is all zeros, its gradient finite") {
  for (Device device : gpu_devices())
    for (const double value : {0.0, 0.1, 1e7, 3e38}) {
      Tensor x = full({2, 9}, value, {.dtype = kFloat32, .device = device}).requires_grad_();
      const Tensor y = layer_norm(x, {9}, ones({9}, {.device = device}), full({9}, 0.5, {.device = device}));
      CHECK(y.detach().to_vector<double>() == std::vector<double>(18, 0.5));
      y.backward(arange(18, {.dtype = kFloat32}).view({2, 9}).to(device));
      const std::vector<double> g = x.grad().to_vector<double>();
      for (int i = 0; i < 18; ++i) CHECK(std::abs(g[static_cast<size_t>(i)] - (i % 9 - 4) / std::sqrt(1e-5)) <= 1e-3);
    }
}

TEST_CASE("batch_norm: parts of lines and of columns, weights, evaluation, running values") {
  for (const Shape& shape : {Shape{1, 3, 9000}, Shape{5, 4, 64}, Shape{200, 5, 1}, Shape{131, 3, 7}, Shape{2, 3, 63}}) {
    compare([](const TensorList& t) { return batch_norm(t[0], {}, {}, t[1], t[2], true); },
            {around(1, 2, shape, 1), around(1, 1, {shape[1]}, 2), around(0, 1, {shape[1]}, 3)}, 4e-6);
    for (Device device : gpu_devices()) {
      const auto run = [&](Device d, DType t) {
        Tensor mean = zeros({shape[1]}, {.dtype = t, .device = d}),
               var = ones({2 * shape[1]}, {.dtype = t, .device = d}).slice(0, 0, std::nullopt, 2);
        const Tensor x = around(1, 2, shape, 1).to(d, t);
        batch_norm(x, mean, var, {}, {}, true, 0.3);
        const Tensor y = batch_norm(x, mean, var, {}, {}, false);
        TensorList all{mean, var, y.reshape({-1})};
        std::vector<double> values;
        for (const Tensor& part : all)
          for (double v : part.to_vector<double>()) values.push_back(v);
        return values;
      };
      const std::vector<double> got = run(device, kFloat32), want = run(kCPU, kFloat64);
      double worst = 0;
      for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
      CHECK(worst <= 4e-6 * 4);
    }
  }
}

TEST_CASE("cross_entropy: vocabularies, images, many rows, smoothing and weights") {
  const auto targets = [](int64_t classes, const Shape& sizes) {
    std::mt19937 engine(5);
    std::vector<int64_t> t(static_cast<size_t>(numel(sizes)));
    for (size_t i = 0; i < t.size(); ++i)
      t[i] = i % 5 == 3 ? -100 : static_cast<int64_t>(engine() % static_cast<uint64_t>(classes));
    return tensor(t).view(sizes);
  };
  for (const std::string reduction : {"mean", "sum", "none"})
    for (const double smoothing : {0.0, 0.1}) {
      const auto loss = [=](const TensorList& t) {
        return cross_entropy(t[0], t[1], {.reduction = reduction, .label_smoothing = smoothing});
      };
      INFO(reduction << ", smoothing " << smoothing);
      compare(loss, {around(0, 3, {6, 8003}, 1), targets(8003, {6})}, 4e-6);
      compare(loss, {around(0, 3, {2, 50257}, 2), targets(50257, {2})}, 4e-6);
      compare(loss, {around(0, 3, {3, 5, 4, 7}, 3), targets(5, {3, 4, 7})}, 4e-6);
      compare(loss, {around(0, 3, {20000, 3}, 4), targets(3, {20000})}, 4e-6);
      const Tensor weight = tensor({0.5, 2.0, 0.0, 1.0}, {.dtype = kFloat32});
      compare(
          [=](const TensorList& t) {
            return cross_entropy(t[0], t[1],
                                 {.weight = weight.to(t[0].device(), t[0].dtype()),
                                  .reduction = reduction,
                                  .label_smoothing = smoothing});
          },
          {around(0, 3, {100, 4}, 6), targets(4, {100})}, 4e-6);
    }
}

TEST_CASE("cross_entropy: all targets ignored; rows of -inf; the same bits again") {
  for (Device device : gpu_devices()) {
    Tensor x = around(0, 1, {4, 7}, 1).to(device).requires_grad_();
    const Tensor loss = cross_entropy(x, full({4}, -100, {.dtype = kInt64, .device = device}));
    CHECK(std::isnan(loss.item<double>()));
    loss.backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>(28, 0));

    std::vector<float> scores(100000, -INFINITY);
    scores[70001] = 2;
    scores[3] = 1;
    const Tensor tile = tensor(scores, {.device = device}).view({1, 100000});
    CHECK(cross_entropy(tile, tensor({3}, {.device = device})).item<double>() ==
          Approx(std::log1p(std::exp(1.0))).epsilon(1e-6));

    const Tensor many = around(0, 1, {30000, 5}, 2).to(device), t = zeros({30000}, {.dtype = kInt64, .device = device});
    const float first = cross_entropy(many, t).item<float>();
    for (int round = 0; round < 5; ++round) CHECK(cross_entropy(many, t).item<float>() == first);
  }
}
