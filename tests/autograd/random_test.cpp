#include <tantu/autograd/ops.h>
#include <tantu/core/thread_pool.h>
#include <tantu/tests/catch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

// What the recorded figures do not reach: draw counts, the spare value, memory order, bad input, statistics, threads.

using namespace tantu;

namespace {

// How many 32-bit words `call` takes from a generator of this seed; -1 if the stream stands nowhere near.
int64_t draws(const std::function<void()>& call, uint64_t seed = 31) {
  manual_seed(seed);
  Generator reference(seed);
  call();
  const uint64_t here = default_generator().random64();
  uint64_t window = reference.random64();
  for (int64_t n = 0; n < 100000; ++n) {
    if (window == here) return n;
    window = window << 32 | reference.random();
  }
  return -1;
}

template <class Error>
void refuses(const std::function<void()>& call) {
  manual_seed(77);
  const std::vector<uint8_t> before = default_generator().get_state();
  CHECK_THROWS_AS(call(), Error);
  CHECK(default_generator().get_state() == before);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() && x.dtype() == y.dtype() &&
         (x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), static_cast<size_t>(x.nbytes())) == 0);
}

Tensor seeded(const std::function<Tensor()>& call, uint64_t seed = 5) {
  manual_seed(seed);
  return call();
}

double phi(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// The greatest distance between the values' distribution and F, times sqrt(n): above 1.95 once in a thousand.
double kolmogorov(std::vector<double> values, const std::function<double(double)>& f) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = f(values[i]), k = static_cast<double>(i);
    const double distance = std::max(std::abs(p - k / n), std::abs(p - (k + 1) / n));
    worst = distance <= worst ? worst : distance;
  }
  return worst * std::sqrt(n);
}

}  // namespace

TEST_CASE("random: draw counts") {
  const std::pair<int64_t, int64_t> normal_draws[] = {{0, 0},   {1, 4},   {2, 4},   {3, 8},   {15, 32},
                                                      {16, 16}, {17, 33}, {31, 47}, {32, 32}, {33, 49}};
  for (const auto& [n, words] : normal_draws) {
    CAPTURE(n);
    CHECK(draws([n = n] { randn({n}); }) == words);
    CHECK(draws([n = n] { randn({n}, {.dtype = kFloat64}); }) == (n < 16 ? words : 2 * words));
    CHECK(draws([n = n] { randn({n}, {.dtype = kFloat16}); }) == words);
    CHECK(draws([n = n] { randn({n}, {.dtype = kBFloat16}); }) == words);
  }
  CHECK(draws([] { rand({1025}); }) == 1025);
  CHECK(draws([] { rand({1025}, {.dtype = kFloat64}); }) == 2050);
  CHECK(draws([] { rand({0, 7}); }) == 0);
  CHECK(draws([] { randint(0, 10, {1030}); }) == 1030);
  CHECK(draws([] { randint(0, (int64_t{1} << 32) - 1, {3}); }) == 3);
  CHECK(draws([] { randint(0, int64_t{1} << 32, {3}); }) == 6);
  CHECK(draws([] { randperm(0); }) == 0);
  CHECK(draws([] { randperm(1); }) == 0);
  CHECK(draws([] { randperm(2); }) == 1);
  CHECK(draws([] { randperm(3000); }) == 2999);
  CHECK(draws([] { empty({1029}).bernoulli_(0.5); }) == 2058);
  CHECK(draws([] { empty({3}, {.dtype = kBool}).bernoulli_(0); }) == 6);
  CHECK(draws([] { bernoulli(full({1027}, 0.5)); }) == 1027);
  CHECK(draws([] { bernoulli(full({1027}, 0.5, {.dtype = kFloat64})); }) == 2054);
  CHECK(draws([] { bernoulli(full({7}, 0.5, {.dtype = kFloat16})); }) == 7);
  CHECK(draws([] { empty({5}).exponential_(); }) == 10);
  CHECK(draws([] { multinomial(full({2, 5}, 0.2), 3); }) == 20);
  CHECK(draws([] { multinomial(full({2, 5}, 0.2), 1, true); }) == 20);
  CHECK(draws([] { multinomial(full({2, 5}, 0.2), 3, true); }) == 12);
  CHECK(draws([] { normal(zeros({4, 1}), full({5}, 2.0)); }) == 20 + 16);
  for (const auto& [dtype, words] :
       {std::pair(kInt64, 10), std::pair(kInt32, 5), std::pair(kUInt8, 5), std::pair(kBool, 5), std::pair(kFloat32, 5),
        std::pair(kFloat64, 10), std::pair(kFloat16, 5), std::pair(kBFloat16, 5)}) {
    CAPTURE(name(dtype));
    CHECK(draws([dtype = dtype] { empty({5}, {.dtype = dtype}).random_(); }) == words);
  }
}

TEST_CASE("random: the spare normal value") {
  const std::vector<double> all = seeded([] { return randn({8}, {.dtype = kFloat64}); }, 3).to_vector<double>();
  const auto scalar = [](const Tensor& t) { return t.to_vector<double>(); };

  manual_seed(3);
  std::vector<double> got = scalar(randn({3}, {.dtype = kFloat64}));
  for (double v : scalar(randn({3}, {.dtype = kFloat64}))) got.push_back(v);
  CHECK(got == std::vector<double>(all.begin(), all.begin() + 6));

  manual_seed(3);
  randn({1});
  rand({4});
  randn({16});
  randint(0, 5, {3});
  CHECK(randn({1}, {.dtype = kFloat64}).item<double>() == all[1]);

  manual_seed(3);
  randn({1});
  manual_seed(3);
  CHECK(randn({1}, {.dtype = kFloat64}).item<double>() == all[0]);

  manual_seed(3);
  randn({1});
  const std::vector<uint8_t> state = default_generator().get_state();
  manual_seed(4);
  default_generator().set_state(state);
  CHECK(randn({1}, {.dtype = kFloat64}).item<double>() == all[1]);
}

TEST_CASE("random: outputs are visited in memory order") {
  for (const auto& fill : std::vector<std::function<void(Tensor)>>{
           [](Tensor t) { t.uniform_(-2, 3); }, [](Tensor t) { t.normal_(1, 2); }, [](Tensor t) { t.random_(-9, 9); },
           [](Tensor t) { t.bernoulli_(0.4); }, [](Tensor t) { t.exponential_(2); }}) {
    // A dense tensor in any permutation is its block of memory; below 16 elements normal_ takes the same path for both.
    const Tensor flat = seeded([&] {
      Tensor t = empty({12});
      fill(t);
      return t;
    });
    for (const Dims& order : {Dims{2, 0, 1}, Dims{1, 0, 2}, Dims{2, 1, 0}, Dims{0, 2, 1}}) {
      Tensor block = empty({2, 3, 2});
      manual_seed(5);
      fill(block.permute(order));
      CHECK(same_bits(block.view({12}), flat));
    }
    // Holes: slots 0, 2, 4 … are written, the others kept.
    Tensor holed = full({3, 8}, 7.0);
    manual_seed(5);
    fill(holed.slice(1, 0, 8, 2));
    CHECK(same_bits(holed.slice(1, 0, 8, 2).contiguous().view({12}), flat));
    CHECK(same_bits(holed.slice(1, 1, 8, 2), full({3, 4}, 7.0)));
    Tensor across = full({8, 3}, 7.0);
    manual_seed(5);
    fill(across.slice(0, 0, 8, 2).t());
    CHECK(same_bits(across.slice(0, 0, 8, 2).contiguous().view({12}), flat));
  }
}

TEST_CASE("random: long strided fills cross chunk borders") {
  const Tensor flat = seeded([] { return rand({3 * 1111}); });
  Tensor block = empty({1111, 3});
  manual_seed(5);
  block.t().uniform_();
  CHECK(same_bits(block.view({3 * 1111}), flat));
  Tensor holed = empty({3 * 1111, 2});
  manual_seed(5);
  holed.select(1, 1).uniform_();
  CHECK(same_bits(holed.select(1, 1), flat));
}

TEST_CASE("random: *_like keeps the order in memory") {
  const Tensor x = empty({3, 5});
  CHECK(randn_like(x.t()).strides() == x.t().strides());
  CHECK(rand_like(x.expand({2, 3, 5})).is_contiguous());
  CHECK(rand_like(x.slice(1, 0, 4)).is_contiguous());
  CHECK(same_bits(seeded([&] { return rand_like(x.t()); }).t(), seeded([&] { return rand({3, 5}); })));
  CHECK(same_bits(seeded([&] { return randn_like(empty({4, 5})); }), seeded([&] { return randn({4, 5}); })));
}

TEST_CASE("random: other dtypes are the float value rounded, or the integer converted") {
  const auto ints = seeded([] { return randint(-7, 9, {100}); });
  for (const DType t : {kInt32, kFloat32, kFloat64, kFloat16, kBFloat16})
    CHECK(same_bits(seeded([t] { return randint(-7, 9, {100}, {.dtype = t}); }), ints.to(t)));
  const auto mask = seeded([] { return empty({100}).bernoulli_(0.3); });
  for (const DType t : {kBool, kUInt8, kInt32, kInt64, kFloat64, kFloat16, kBFloat16})
    CHECK(same_bits(seeded([t] { return empty({100}, {.dtype = t}).bernoulli_(0.3); }), mask.to(t)));
  const auto normal9 = seeded([] { return randn({9}, {.dtype = kFloat64}); });
  for (const DType t : {kFloat32, kFloat16, kBFloat16})
    CHECK(same_bits(seeded([t] { return randn({9}, {.dtype = t}); }), normal9.to(t)));
  const auto exponential = seeded([] { return empty({9}, {.dtype = kFloat64}).exponential_(3); });
  CHECK(same_bits(seeded([] { return empty({9}).exponential_(3); }), exponential.to(kFloat32)));
}

TEST_CASE("random: equal bits with 1 and 2 threads") {
  const int threads = get_num_threads();
  for (const DType t : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    set_num_threads(1);
    const Tensor one = seeded([t] { return randn({100003}, {.dtype = t}); });
    set_num_threads(2);
    CHECK(same_bits(one, seeded([t] { return randn({100003}, {.dtype = t}); })));
    CHECK((one - one == 0).sum().item<int64_t>() == one.numel());
  }
  set_num_threads(threads);
}

TEST_CASE("random: a generator of its own leaves the default one alone") {
  Generator g(5);
  manual_seed(1);
  const Tensor own = rand({9}, {}, g);
  CHECK(same_bits(own, seeded([] { return rand({9}); })));
  CHECK(!same_bits(rand({9}, {}, g), own));
  CHECK(draws([&] {
          randn({40}, {}, g);
          randperm(5, {}, g);
          empty({3}).bernoulli_(0.5, g);
        }) == 0);
}

TEST_CASE("random: bad input is refused before any draw") {
  const double nan = std::nan(""), inf = INFINITY;
  Tensor x = zeros({4}), i8 = zeros({4}, {.dtype = kUInt8}), i32 = zeros({4}, {.dtype = kInt32}),
         i64 = zeros({4}, {.dtype = kInt64}), half = zeros({4}, {.dtype = kFloat16}),
         d = zeros({4}, {.dtype = kFloat64});
  refuses<ValueError>([&] { x.uniform_(1, 0); });
  refuses<ValueError>([&] { x.uniform_(nan, 1); });
  refuses<ValueError>([&] { x.uniform_(0, nan); });
  refuses<ValueError>([&] { x.uniform_(0, inf); });
  refuses<ValueError>([&] { x.uniform_(-inf, 0); });
  refuses<ValueError>([&] { x.uniform_(-3e38, 3e38); });
  refuses<ValueError>([&] { x.uniform_(0, 1e39); });
  refuses<ValueError>([&] { d.uniform_(-1.7e308, 1.7e308); });
  refuses<ValueError>([&] { half.uniform_(-40000, 40000); });
  refuses<DTypeError>([&] { i64.uniform_(); });
  refuses<ValueError>([&] { x.normal_(0, -1); });
  refuses<ValueError>([&] { x.normal_(0, nan); });
  refuses<DTypeError>([&] { i64.normal_(); });
  refuses<DTypeError>([&] { rand({3}, {.dtype = kInt64}); });
  refuses<DTypeError>([&] { randn({3}, {.dtype = kBool}); });
  for (const double p : {-0.1, 1.1, nan, inf}) {
    refuses<ValueError>([&] { x.bernoulli_(p); });
    refuses<ValueError>([&] { bernoulli(x, p); });
    refuses<ValueError>([&] { bernoulli(tensor({0.5, p})); });
  }
  refuses<DTypeError>([&] { bernoulli(i64); });
  refuses<ValueError>([&] { randint(3, 3, {2}); });
  refuses<ValueError>([&] { randint(0, {2}); });
  refuses<ValueError>([&] { i8.random_(0, 257); });
  refuses<ValueError>([&] { i8.random_(-1, 5); });
  refuses<ValueError>([&] { i32.random_(0, (int64_t{1} << 31) + 1); });
  refuses<ValueError>([&] { half.random_(0, 70000); });
  refuses<ValueError>([&] { randint(0, 3, {2}, {.dtype = kBool}); });
  refuses<ValueError>([&] { randperm(-1); });
  refuses<ValueError>([&] { randperm(int64_t{1} << 32); });
  refuses<ValueError>([&] { randperm(257, {.dtype = kUInt8}); });
  refuses<ValueError>([&] { x.exponential_(0); });
  refuses<ValueError>([&] { x.exponential_(-1); });
  refuses<ValueError>([&] { x.exponential_(nan); });
  refuses<ValueError>([&] { multinomial(tensor({0.5, -0.1}), 1); });
  refuses<ValueError>([&] { multinomial(tensor({0.5, nan}), 1); });
  refuses<ValueError>([&] { multinomial(tensor({0.5, inf}), 1, true); });
  refuses<ValueError>([&] { multinomial(zeros({3}), 1, true); });
  refuses<ValueError>([&] { multinomial(tensor({{0.5, 0.5}, {0.0, 0.0}}), 1); });
  refuses<ValueError>([&] { multinomial(tensor({0.5, 0.5, 0.0}), 3); });
  refuses<ValueError>([&] { multinomial(ones({3}), 4); });
  refuses<ValueError>([&] { multinomial(ones({3}), 0); });
  refuses<ShapeError>([&] { multinomial(ones({2, 2, 2}), 1); });
  refuses<DTypeError>([&] { multinomial(i64, 1); });
  refuses<ValueError>([&] { normal(x, tensor({1.0, 1.0, -1.0, 1.0})); });
  refuses<ValueError>([&] { normal(x, tensor({1.0, 1.0, nan, 1.0})); });
  refuses<ValueError>([&] { normal(x, -1.0); });
  refuses<ShapeError>([&] { normal(x, ones({3})); });
  refuses<ShapeError>([&] { rand({-1}); });
  refuses<ShapeError>([&] { zeros({1, 4}).expand({3, 4}).uniform_(); });
  refuses<AutogradError>([&] { zeros({4}).requires_grad_().normal_(); });
}

TEST_CASE("random: the texts name the values") {
  const auto text = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(text([] { empty({2}).uniform_(2, 1); }) ==
        "uniform_: expects to return a [from, to) range, but found from=2 > to=1");
  CHECK(text([] { empty({2}).normal_(0, -3); }) == "normal_: expects std >= 0.0, but found std -3");
  CHECK(text([] { randint(4, 2, {3}); }) == "randint: expects 'from' to be less than 'to', but got from=4 >= to=2");
  CHECK(text([] { bernoulli(tensor({0.5, 1.5})); }) == "bernoulli: expects every p to be in [0, 1], but got p=1.5");
}

TEST_CASE("random: statistics of a million values") {
  constexpr int64_t n = 1000000;
  for (const DType t : {kFloat32, kFloat64}) {
    CHECK(!(kolmogorov(seeded([t] { return rand({n}, {.dtype = t}); }).to_vector<double>(),
                       [](double x) { return x; }) > 1.95));
    CHECK(!(kolmogorov(seeded([t] { return randn({n}, {.dtype = t}); }).to_vector<double>(), phi) > 1.95));
    CHECK(!(kolmogorov(seeded([t] { return empty({n}, {.dtype = t}).exponential_(2); }).to_vector<double>(),
                       [](double x) { return -std::expm1(-2 * x); }) > 1.95));
    CHECK(!(kolmogorov(seeded([t] {
                         return empty({1000, 1000}, {.dtype = t}).t().normal_(3, 2);
                       }).to_vector<double>(),
                       [](double x) { return phi((x - 3) / 2); }) > 1.95));
  }
  for (const DType t : {kFloat16, kBFloat16}) {  // coarse: mean and variance
    const auto values = seeded([t] { return randn({n}, {.dtype = t}); }).to_vector<double>();
    double mean = 0, square = 0;
    for (const double v : values) mean += v, square += v * v;
    CHECK(!(std::abs(mean / n) > 0.02));
    CHECK(!(std::abs(square / n - 1) > 0.02));
  }
  std::vector<int64_t> counts(10);
  for (const int64_t v : seeded([] { return randint(0, 10, {n}); }).to_vector<int64_t>())
    ++counts.at(static_cast<size_t>(v));
  double chi = 0;
  for (const int64_t c : counts) chi += std::pow(static_cast<double>(c) - 1e5, 2) / 1e5;
  CHECK(!(chi > 27.9));  // 9 degrees of freedom, one in a thousand
  const auto picks = seeded([] { return multinomial(tensor({1.0, 0.0, 3.0}), n, true); }).to_vector<int64_t>();
  CHECK(std::count(picks.begin(), picks.end(), 1) == 0);
  CHECK(!(std::abs(static_cast<double>(std::count(picks.begin(), picks.end(), 2)) / n - 0.75) > 0.002));
}

TEST_CASE("random: multinomial without replacement never repeats or takes a zero weight") {
  manual_seed(9);
  int64_t first = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto got = multinomial(tensor({0.2, 0.0, 0.5, 0.3}), 3).to_vector<int64_t>();
    CHECK((got[0] != got[1] && got[1] != got[2] && got[0] != got[2]));
    CHECK(std::count(got.begin(), got.end(), 1) == 0);
    first += got[0] == 2;
  }
  CHECK(!(std::abs(static_cast<double>(first) / 2000 - 0.5) > 0.04));
}

TEST_CASE("random: randperm permutes; bounds of floating integers stay inside") {
  for (const int64_t n : {0, 1, 2, 3, 1024, 1025, 5000}) {
    auto p = randperm(n).to_vector<int64_t>();
    std::sort(p.begin(), p.end());
    bool whole = true;
    for (int64_t i = 0; i < n; ++i) whole = whole && p[static_cast<size_t>(i)] == i;
    CHECK(whole);
  }
  const auto values = empty({20000}, {.dtype = kFloat16}).random_(0, 3000).to_vector<double>();
  CHECK(*std::max_element(values.begin(), values.end()) < 3000);
}

TEST_CASE("random: gradients through a refilled tensor are zero") {
  Tensor x = ones({20}).requires_grad_();
  Tensor y = x * 2;
  y.uniform_();
  y.sum().backward();
  CHECK(same_bits(x.grad(), zeros({20})));
  Tensor p = full({5}, 0.5).requires_grad_();
  bernoulli(p).sum().backward();
  CHECK(same_bits(p.grad(), zeros({5})));
  CHECK(rand({2}, {.requires_grad = true}).requires_grad());
}

TEST_CASE("random: normal of tensors scales and shifts standard values") {
  const Tensor mean = tensor({{1.0, 2.0, 3.0}}), std = tensor({{0.5}, {2.0}});
  const Tensor z = seeded([] { return randn({2, 3}); });
  CHECK(same_bits(seeded([&] { return normal(mean, std); }), z * std + mean));
  CHECK(same_bits(seeded([&] { return normal(4.0, std); }), seeded([] { return randn({2, 1}); }) * std + 4.0));
  CHECK(same_bits(seeded([&] { return normal(mean, 1.7); }), seeded([] {
                                                               return empty({1, 3}).normal_(0, 1.7);
                                                             }) + mean));
  CHECK(same_bits(seeded([&] { return normal(1.0, 2.0, {20}); }), seeded([] { return empty({20}).normal_(1, 2); })));
}
