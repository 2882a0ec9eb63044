#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/kernels/dropout.h>
#include <tantu/kernels/philox.h>

#include <algorithm>
#include <cmath>
#include <set>

// Random fills of a GPU: values by element, offsets, layouts, what was published, and how they are spread.
using namespace tantu;

TEST_CASE("seed 0 and 42 give the published numbers, call after call") {
  for (Device device : gpu_devices()) {
    const auto check = [](const Tensor& got, const std::vector<double>& want) {
      const std::vector<double> values = got.to_vector<double>();
      for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(values[i] - want[i]) <= 5.1e-5);
    };
    manual_seed(0);
    check(rand({6}, {.device = device}), {0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967});
    check(rand({4}, {.device = device}), {0.9722, 0.7910, 0.4690, 0.3300});
    manual_seed(0);
    check(randn({4}, {.device = device}), {-0.9247, -0.4253, -2.6438, 0.1452});
    manual_seed(42);
    check(rand({4}, {.device = device}), {0.6130, 0.0101, 0.3984, 0.0403});
  }
}

TEST_CASE("an element's value depends on seed, offset and index alone") {
  for (Device device : gpu_devices()) {
    Generator g(device);
    g.manual_seed(7);
    rand({}, {.device = device}, g);
    CHECK(g.next_offset(0) == kPhiloxStep);
    rand({0}, {.device = device}, g);
    CHECK(g.next_offset(0) == kPhiloxStep);
    for (const int64_t n : {1, 5, 1000, 2000000}) {
      g.manual_seed(7);
      rand({}, {.device = device}, g);
      const std::vector<float> got = rand({n}, {.device = device}, g).to_vector<float>();
      bool same = true;
      for (size_t i = 0; i < got.size(); ++i) same &= got[i] == philox_uniform(philox(7, kPhiloxStep, i), 0, 1);
      CHECK(same);
    }
    // any strides, and a view that starts in the middle
    Tensor x = zeros({5, 7}, {.device = device}), y = x.narrow(1, 2, 3).t();
    y.uniform_(-1, 3, g.manual_seed(9));
    const std::vector<float> got = y.to_vector<float>();
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == philox_uniform(philox(9, 0, i), -1, 4));
  }
}

TEST_CASE("dropout: the mask of the rule, for every dtype; that of the gradient; the ends") {
  for (Device device : gpu_devices())
    for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16})
      for (const int64_t n : {1, 3, 4, 5, 1027}) {
        manual_seed(11);
        Tensor x = ones({n}, {.dtype = t, .device = device}).requires_grad_();
        const Tensor y = dropout(x, 0.3);
        y.sum().backward();
        const std::vector<double> out = y.detach().to_vector<double>(), g = x.grad().to_vector<double>();
        for (size_t i = 0; i < out.size(); ++i) {
          CHECK((out[i] != 0) == philox_keep(11, 0, i, 1 - 0.3f));
          CHECK(g[i] == out[i]);
        }
        const Generator& stream = default_generator(device);
        const auto before = stream.get_state();
        CHECK(dropout(x, 1).detach().to_vector<double>() == std::vector<double>(static_cast<size_t>(n), 0));
        CHECK(stream.get_state() == before);
      }
}

TEST_CASE("dropout keeps no mask, takes any strides, and equals the CPU's to the bit") {
  for (Device device : gpu_devices())
    for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      const Tensor here = randn({9, 14}).to(t);
      for (const int offset : {0, 1})
        for (const bool turned : {false, true}) {
          Tensor x = placed(here, device, offset);
          const Tensor same = turned ? here.t() : here;
          if (turned) x = x.t();
          manual_seed(5);
          const int64_t before = gpu::memory_allocated(device);
          x.requires_grad_();
          const Tensor y = dropout(x, 0.4);
          CHECK(gpu::memory_allocated(device) - before < y.nbytes() + 512);
          Tensor expected = empty(same.sizes(), {.dtype = t});
          CpuContext cpu;
          dropout_from(cpu, same.in(), expected.out(), 0.6, 5, 0);
          CHECK(equal(y.detach().cpu(), expected));
          const TensorList g = grad({y}, {x}, {ones_like(y)}, true, true);
          const Tensor one = ones(same.sizes(), {.dtype = t});
          dropout_from(cpu, one.in(), expected.out(), 0.6, 5, 0);
          CHECK(equal(g[0].detach().cpu(), expected));
        }
    }
}

TEST_CASE("randperm is a permutation, multinomial never chooses what has no weight") {
  for (Device device : gpu_devices()) {
    for (const int64_t n : {0, 1, 2, 2049, 5000}) {
      std::vector<int64_t> p = randperm(n, {.device = device}).to_vector<int64_t>();
      std::sort(p.begin(), p.end());
      for (size_t i = 0; i < p.size(); ++i) CHECK(p[i] == static_cast<int64_t>(i));
    }
    const Tensor w = tensor({{0, 1, 0, 3, 0}, {2, 0, 0, 0, 2}}, {.dtype = kFloat32, .device = device});
    const std::vector<int64_t> picked = multinomial(w, 4000, true).to_vector<int64_t>();
    int64_t threes = 0, zeros = 0;
    for (size_t i = 0; i < 4000; ++i) {
      CHECK((picked[i] == 1 || picked[i] == 3));
      CHECK((picked[4000 + i] == 0 || picked[4000 + i] == 4));
      threes += picked[i] == 3;
      zeros += picked[4000 + i] == 0;
    }
    CHECK(std::abs(static_cast<double>(threes) - 3000) < 6 * std::sqrt(4000 * 0.25 * 0.75));
    CHECK(std::abs(static_cast<double>(zeros) - 2000) < 6 * std::sqrt(4000 * 0.25));
    int64_t first = 0;
    for (int round = 0; round < 400; ++round) {
      const std::vector<int64_t> two = multinomial(w, 2).to_vector<int64_t>();
      CHECK(std::set<int64_t>(two.begin(), two.begin() + 2) == std::set<int64_t>{1, 3});
      CHECK(std::set<int64_t>(two.begin() + 2, two.end()) == std::set<int64_t>{0, 4});
      first += two[0] == 3;
    }
    CHECK(std::abs(static_cast<double>(first) - 300) < 6 * std::sqrt(400 * 0.25 * 0.75));
    CHECK_THROWS_WITH(multinomial(tensor({1.0, NAN}, {.device = device}), 1),
                      contains("`inf`, `nan` or element < 0 (nan)"));
    CHECK_THROWS_WITH(bernoulli(tensor({0.5, 2.0, 3.0}, {.device = device})), contains("p=2"));
  }
}

TEST_CASE("moments and distribution of a million values") {
  for (Device device : gpu_devices())
    for (DType t : {kFloat32, kFloat64}) {
      manual_seed(3);
      const size_t n = 1000000;
      const auto sorted = [&](const Tensor& x) {
        std::vector<double> v = x.to_vector<double>();
        std::sort(v.begin(), v.end());
        return v;
      };
      const auto distance = [&](const std::vector<double>& v, auto cumulative) {
        double worst = 0;
        for (size_t i = 0; i < n; ++i)
          worst = std::max(worst, std::abs(cumulative(v[i]) - (static_cast<double>(i) + 0.5) / static_cast<double>(n)));
        return worst;
      };
      const double limit = 2.5 / std::sqrt(static_cast<double>(n));  // p = 7e-6
      const Tensor x = zeros({1000, 1000}, {.dtype = t, .device = device});
      CHECK(distance(sorted(rand_like(x)), [](double v) { return v; }) < limit);
      CHECK(distance(sorted(randn_like(x)), [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2)); }) < limit);
      CHECK(distance(sorted(Tensor(x).exponential_(2)), [](double v) { return 1 - std::exp(-2 * v); }) < limit);
      const double share = bernoulli(x, 0.3).sum().item<double>() / static_cast<double>(n);
      CHECK(std::abs(share - 0.3) < 6 * std::sqrt(0.21 / static_cast<double>(n)));
      CHECK(bernoulli(x, 1).sum().item<double>() == static_cast<double>(n));
    }
}
