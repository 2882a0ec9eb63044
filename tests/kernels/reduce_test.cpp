#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/thread_pool.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

// What the op table does not reach: many threads, large and awkward layouts, hard numbers.
using namespace tantu;

namespace {

std::mt19937_64 random_source(20240607);

int64_t below(int64_t n) {
  return static_cast<int64_t>(random_source() % static_cast<uint64_t>(n));
}

Tensor random_tensor(const Shape& sizes, double low = -1, double high = 1) {
  std::vector<double> values(static_cast<size_t>(numel(sizes)));
  std::uniform_real_distribution<double> draw(low, high);
  for (double& v : values) v = draw(random_source);
  return tensor(values, {.dtype = kFloat32}).reshape(sizes);
}

// A random view: dimensions permuted, cut, stepped through, now and then expanded.
Tensor random_view(int rank) {
  Shape sizes;
  for (int d = 0; d < rank; ++d) sizes.push_back(1 + below(rank > 3 ? 9 : 40));
  Tensor x = random_tensor(sizes);
  Dims order;
  for (int d = 0; d < rank; ++d) order.insert(static_cast<int>(below(d + 1)), d);
  x = x.permute(order);
  for (int d = 0; d < rank; ++d) {
    if (below(3) == 0 && x.size(d) > 2) x = x.slice(d, 1, {}, 1 + below(2));
    if (below(6) == 0)
      x = x.slice(d, 0, 1).expand([&] {
        Shape s = x.sizes();
        s[d] = 1 + below(20);
        return s;
      }());
  }
  return x;
}

struct Group {
  std::vector<double> values;
};

// The elements of each result, in row-major order of the reduced dimensions, by plain counting.
std::vector<Group> groups(const Tensor& x, const std::vector<bool>& reduced) {
  const std::vector<double> values = x.to_vector<double>();
  int64_t results = 1;
  for (int d = 0; d < x.sizes().size(); ++d) results *= reduced[static_cast<size_t>(d)] ? 1 : x.size(d);
  std::vector<Group> out(static_cast<size_t>(results));
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t rest = i, place = 0, step = 1;
    for (int d = x.sizes().size() - 1; d >= 0; --d) {
      const int64_t index = rest % x.size(d);
      rest /= x.size(d);
      if (reduced[static_cast<size_t>(d)]) continue;
      place += index * step;
      step *= x.size(d);
    }
    out[static_cast<size_t>(place)].values.push_back(values[static_cast<size_t>(i)]);
  }
  return out;
}

void check_close(const Tensor& got, const std::vector<double>& want, double tolerance) {
  const std::vector<double> values = got.to_vector<double>();
  REQUIRE(values.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("element " << i << ": " << values[i] << " instead of " << want[i]);
    if (!(std::fabs(values[i] - want[i]) <= tolerance * std::max(1.0, std::fabs(want[i])))) FAIL("too far");
  }
}

template <class F>
std::vector<double> each(const std::vector<Group>& all, F f) {
  std::vector<double> out;
  for (const Group& g : all) out.push_back(f(g.values));
  return out;
}

double total(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0);
}
double spread(const std::vector<double>& v) {
  const double mean = total(v) / static_cast<double>(v.size());
  double t = 0;
  for (double x : v) t += (x - mean) * (x - mean);
  return t / static_cast<double>(v.size());
}
double square_norm(const std::vector<double>& v) {
  double t = 0;
  for (double x : v) t += x * x;
  return std::sqrt(t);
}
double log_sum(const std::vector<double>& v) {
  double t = 0;
  for (double x : v) t += std::exp(x);
  return std::log(t);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), static_cast<size_t>(a.nbytes())) == 0;
}

}  // namespace

TEST_CASE("reductions of random views equal plain loops") {
  for (int round = 0; round < 400; ++round) {
    const int rank = 1 + static_cast<int>(below(5));
    const Tensor x = random_view(rank);
    Dims dims;
    std::vector<bool> reduced(static_cast<size_t>(rank), false);
    for (int d = 0; d < rank; ++d)
      if (below(2) == 0 || (d == rank - 1 && dims.empty())) {
        dims.push_back(d);
        reduced[static_cast<size_t>(d)] = true;
      }
    INFO("round " << round << ": sizes " << x.sizes().to_string() << " strides " << x.strides().to_string() << " over "
                  << dims.to_string());
    const std::vector<Group> all = groups(x, reduced);
    check_close(sum(x, dims), each(all, total), 1e-5);
    check_close(amax(x, dims), each(all, [](const auto& v) { return *std::max_element(v.begin(), v.end()); }), 0);
    check_close(amin(x, dims), each(all, [](const auto& v) { return *std::min_element(v.begin(), v.end()); }), 0);
    check_close(var(x, dims, 0), each(all, spread), 1e-6);
    check_close(norm(x, 2, dims), each(all, square_norm), 1e-6);
    check_close(logsumexp(x, dims), each(all, log_sum), 2e-6);
    if (dims.size() == 1) {
      const auto [values, indices] = max(x, dims[0]);
      check_close(values, each(all, [](const auto& v) { return *std::max_element(v.begin(), v.end()); }), 0);
      check_close(
          indices,
          each(all,
               [](const auto& v) { return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin()); }),
          0);
      const auto [sorted, order] = sort(x, dims[0]);
      CHECK(same_bits(gather(x, dims[0], order).contiguous(), sorted));
      CHECK(same_bits(sorted.select(dims[0], 0).contiguous(), amin(x, dims)));
      const Tensor soft = softmax(x, dims[0]);
      check_close(sum(soft, dims), std::vector<double>(all.size(), 1.0), 1e-6);
      check_close(sum(exp(log_softmax(x, dims[0])), dims), std::vector<double>(all.size(), 1.0), 2e-6);
    }
    if (dims.size() == rank)
      check_close(
          argmax(x),
          each(all,
               [](const auto& v) { return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin()); }),
          0);
  }
}

TEST_CASE("the number of threads changes no bit") {
  const int before = get_num_threads();
  const Tensor tall = random_tensor({70001, 5}), wide = random_tensor({3, 200003}), square = random_tensor({517, 1031});
  const auto results = [&] {
    TensorList y;
    for (const Tensor& x : {tall, wide, square, square.t(), wide.t().slice(0, 1, {}, 3)}) {
      y.push_back(sum(x));
      y.push_back(max(x));
      y.push_back(tantu::std(x));
      y.push_back(norm(x));
      y.push_back(argmax(x));
      for (int64_t d : {0, 1}) {
        y.push_back(sum(x, d));
        y.push_back(prod(x, d));
        y.push_back(var(x, d));
        y.push_back(norm(x, 3, d));
        y.push_back(min(x, d).second);
        y.push_back(logsumexp(x, d));
        y.push_back(softmax(x, d));
        y.push_back(log_softmax(x, d));
        y.push_back(cumsum(x, d));
        y.push_back(sort(x, d).second);
      }
    }
    return y;
  };
  set_num_threads(1);
  const TensorList alone = results();
  for (int threads : {2, 5}) {
    set_num_threads(threads);
    const TensorList together = results();
    for (size_t i = 0; i < alone.size(); ++i) {
      INFO("result " << i << " with " << threads << " threads");
      CHECK(same_bits(alone[i], together[i]));
    }
  }
  set_num_threads(before);
}

TEST_CASE("sums stay accurate over millions of elements") {
  const int64_t n = 3000001;
  const Tensor x = full({n}, 0.1, {.dtype = kFloat32}), column = x.reshape({n, 1}).expand({n, 3}).contiguous();
  const double each_one = static_cast<double>(0.1f), want = each_one * static_cast<double>(n);
  CHECK(std::fabs(sum(x).item<double>() - want) <= 2e-7 * want);
  CHECK(std::fabs(mean(x).item<double>() - each_one) <= 2e-7 * each_one);
  for (double v : sum(column, 0).to_vector<double>()) CHECK(std::fabs(v - want) <= 2e-7 * want);
  for (double v : sum(column.t(), 1).to_vector<double>()) CHECK(std::fabs(v - want) <= 2e-7 * want);
}

TEST_CASE("half-precision sums are kept in float32") {
  const Tensor hundredths = full({100000, 8}, 0.01, {.dtype = kFloat16});
  const double step = hundredths[0][0].item<double>();
  for (double v : sum(hundredths, 0).to_vector<double>()) CHECK(std::fabs(v - step * 100000) <= 0.5);
  const Tensor ones16 = ones({1000000}, {.dtype = kFloat16});
  CHECK(mean(ones16).item<float>() == 1);
  CHECK(std::isinf(sum(ones16).item<float>()));
  CHECK(sum(ones16, {}, false, kFloat32).item<float>() == 1e6f);
}

TEST_CASE("integers sum in int64 and wrap around") {
  CHECK(sum(full({1 << 20}, 2147483647, {.dtype = kInt32})).item<int64_t>() == (int64_t{1} << 20) * 2147483647);
  CHECK(sum(full({300}, 255, {.dtype = kUInt8})).item<int64_t>() == 300 * 255);
  CHECK(sum(ones({70000}, {.dtype = kBool})).item<int64_t>() == 70000);
  CHECK(sum(full({2}, int64_t{1} << 62)).item<int64_t>() == std::numeric_limits<int64_t>::min());
}

TEST_CASE("variance survives a large mean, large values and constant rows") {
  const Tensor noise = random_tensor({40, 3000});
  for (double offset : {0.0, 1e2, 1e4, 1e7}) {
    const Tensor x = noise.to(kFloat64) + offset, rounded = x.to(kFloat32);
    for (const auto& [t, d] :
         {std::pair(rounded, 1), std::pair(rounded.t(), 0), std::pair(rounded.t().contiguous(), 0)}) {
      INFO("mean " << offset);
      check_close(var(t, d, 1), var(rounded.to(kFloat64), 1, 1).to_vector<double>(), 1e-6);
    }
    std::vector<bool> along_rows{false, true};
    check_close(var(rounded, 1, 0), each(groups(rounded, along_rows), spread), 1e-6);
  }
  const Tensor huge = tensor({-1e30, 1e30, 1e30, -1e30});
  CHECK(std::fabs(tantu::std(huge, {}, 0).item<double>() / 1e30 - 1) <= 1e-6);
  CHECK(std::isinf(var(huge).item<float>()));
  CHECK(norm(huge).item<float>() == 2e30f);
  for (double constant : {0.1, 1e7, 1e30, -3.3}) {
    CHECK(var(full({513, 7}, constant, {.dtype = kFloat32}), 0).sum().item<float>() == 0);
    CHECK(var(full({70001}, constant, {.dtype = kFloat64})).item<double>() == 0);
  }
  CHECK(std::isnan(var(ones({1})).item<float>()));
  CHECK(std::isnan(var(ones({0})).item<float>()));
  CHECK(std::isinf(var(tensor({1.0, 2.0}), {}, 2).item<float>()));
}

TEST_CASE("NaN wins wherever it stands, and the first one has the index") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (int64_t n : {1, 2, 7, 8, 31, 33, 64, 255, 1024, 1025, 2500, 40000})
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      Tensor x = random_tensor({n});
      x[at].fill_(inf);
      x[n - 1].fill_(nan);
      if (at < n - 1) x[at].fill_(nan);
      INFO("n " << n << " NaN at " << at);
      for (const Tensor& t : {x, x.reshape({n, 1}).expand({n, 20}).contiguous().select(1, 3)}) {
        CHECK(std::isnan(max(t).item<float>()));
        CHECK(std::isnan(min(t).item<float>()));
        CHECK(std::isnan(norm(t, inf).item<float>()));
        CHECK(argmax(t).item<int64_t>() == at);
        CHECK(argmin(t, 0).item<int64_t>() == at);
        CHECK(median(t, 0).second.item<int64_t>() == at);
        CHECK(std::isnan(median(t).item<float>()));
        CHECK(sort(t).second[n - 1].item<int64_t>() == n - 1);
        CHECK(topk(t, 1).second.item<int64_t>() == at);
        CHECK(std::isnan(logsumexp(t, 0).item<float>()));
      }
      const Tensor columns = x.reshape({n, 1}).expand({n, 20}).contiguous();
      CHECK((argmax(columns, 0) == at).all().item<bool>());
      CHECK(isnan(amin(columns, 0)).all().item<bool>());
    }
  const Tensor zeros_of_both_signs = tensor({-1.0, -0.0, 0.0, -0.0, 0.0});
  CHECK(argmax(zeros_of_both_signs).item<int64_t>() == 1);
  CHECK(max(zeros_of_both_signs, 0).second.item<int64_t>() == 1);
  CHECK(argsort(zeros_of_both_signs).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3, 4});
  CHECK(argsort(zeros_of_both_signs, 0, true).to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3, 4, 0});
}

TEST_CASE("ties share the gradient of max() and amax, and one index has that of max(dim)") {
  Tensor x = tensor({3.0, 1.0, 3.0, 3.0}).requires_grad_();
  max(x).backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{1.f / 3, 0, 1.f / 3, 1.f / 3});
  x.set_grad({});
  amax(x, 0).backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{1.f / 3, 0, 1.f / 3, 1.f / 3});
  x.set_grad({});
  max(x, 0).first.backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{1, 0, 0, 0});
  x.set_grad({});
  median(x).backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{1.f / 3, 0, 1.f / 3, 1.f / 3});
  Tensor y = tensor({std::nan(""), 1.0}).requires_grad_();
  max(y).backward();
  CHECK(y.grad().to_vector<float>() == std::vector<float>{1, 0});
}

TEST_CASE("gradients where a formula divides by zero") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto gradient = [](const std::vector<double>& values, auto f) {
    Tensor x = tensor(values, {.dtype = kFloat64}).requires_grad_();
    f(x).backward();
    return x.grad().template to_vector<double>();
  };
  using List = std::vector<double>;
  CHECK(gradient({0, 2, 3}, [](const Tensor& x) { return prod(x); }) == List{6, 0, 0});
  CHECK(gradient({0, 0, 3}, [](const Tensor& x) { return prod(x); }) == List{0, 0, 0});
  for (double p : {1.0, 1.5, 2.0, 3.0, inf})
    CHECK(gradient({0, 0}, [p](const Tensor& x) { return norm(x, p); }) == List{0, 0});
  CHECK(gradient({0, 1}, [](const Tensor& x) { return norm(x, 0.5); }) == List{0, 1});
  CHECK(gradient({2, -2, 1}, [=](const Tensor& x) { return norm(x, inf); }) == List{0.5, -0.5, 0});
  CHECK(gradient({2, -1, 1}, [=](const Tensor& x) { return norm(x, -inf); }) == List{0, -0.5, 0.5});
  CHECK(gradient({1, 1}, [](const Tensor& x) { return tantu::std(x); }) == List{0, 0});
  CHECK(std::isnan(gradient({1}, [](const Tensor& x) { return var(x); })[0]));
  CHECK(gradient({-inf, 0}, [](const Tensor& x) { return logsumexp(x, 0); }) == List{0, 1});
  CHECK(gradient({-inf, 0}, [](const Tensor& x) { return log_softmax(x, 0)[0]; }) == List{1, -1});
}

TEST_CASE("reductions of nothing") {
  const Tensor none = zeros({2, 0, 3});
  CHECK(sum(none).item<float>() == 0);
  CHECK(prod(none).item<float>() == 1);
  CHECK(std::isnan(mean(none).item<float>()));
  CHECK(all(none).item<bool>());
  CHECK_FALSE(any(none).item<bool>());
  CHECK(sum(none, 1).sizes() == Shape({2, 3}));
  CHECK(sum(none, 1).sum().item<float>() == 0);
  CHECK(prod(none, 1).sum().item<float>() == 6);
  CHECK(amax(none, 0).sizes() == Shape({0, 3}));
  CHECK(max(none, 2).second.sizes() == Shape({2, 0}));
  CHECK(std::isinf(logsumexp(none, 1)[0][0].item<float>()));
  CHECK(softmax(none, 1).sizes() == none.sizes());
  CHECK(cumsum(none, 0).sizes() == none.sizes());
  CHECK(sort(none, 1).first.sizes() == none.sizes());
  CHECK(topk(none, 0, 1).first.sizes() == none.sizes());
  CHECK(norm(none, 2, 1).sum().item<float>() == 0);
  CHECK(std::isnan(median(zeros({0})).item<float>()));
}

TEST_CASE("softmax of hard rows") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const auto& row : std::vector<std::vector<double>>{{-inf, -inf}, {inf, 1}, {nan, 1}})
    for (const Tensor& y : {softmax(tensor(row), 0), log_softmax(tensor(row), 0)}) CHECK(isnan(y).all().item<bool>());
  CHECK(softmax(tensor({-inf, 0.0, -inf}), 0).to_vector<float>() == std::vector<float>{0, 1, 0});
  CHECK(log_softmax(tensor({1e4, -1e4}), 0).to_vector<float>() == std::vector<float>{0, -2e4f});
  CHECK(std::fabs(softmax(full({3}, 65504.0, {.dtype = kFloat16}), 0).to(kFloat32).sum().item<float>() - 1) <= 1e-3);
  for (int64_t n = 1; n <= 1025; ++n) {
    const Tensor x = random_tensor({3, n}, -20, 20), want = softmax(x.to(kFloat64), 1),
                 flipped = softmax(x.t().contiguous(), 0);
    INFO("n = " << n);
    check_close(softmax(x, 1), want.to_vector<double>(), 1e-6);
    check_close(log_softmax(x, 1), log(want).to_vector<double>(), 2e-6);
    check_close(flipped.t(), want.to_vector<double>(), 1e-6);
  }
}

TEST_CASE("large sorts are stable and complete") {
  for (DType type : {kFloat32, kFloat64, kInt32, kInt64, kUInt8, kFloat16}) {
    const int64_t n = 100003;
    const Tensor x = random_tensor({n}, 0, 200).to(type);
    for (bool descending : {false, true}) {
      const auto [values, indices] = sort(x, 0, descending);
      const std::vector<double> v = values.to_vector<double>(), original = x.to_vector<double>();
      const std::vector<int64_t> place = indices.to_vector<int64_t>();
      int64_t wrong = 0;
      for (size_t i = 0; i < v.size(); ++i) {
        wrong += v[i] != original[static_cast<size_t>(place[i])];
        if (i == 0) continue;
        const double step = descending ? v[i - 1] - v[i] : v[i] - v[i - 1];
        wrong += step < 0 || (step == 0 && place[i] <= place[i - 1]);
      }
      std::vector<int64_t> all_places = place;
      std::sort(all_places.begin(), all_places.end());
      for (size_t i = 0; i < all_places.size(); ++i) wrong += all_places[i] != static_cast<int64_t>(i);
      INFO("descending " << descending);
      CHECK(wrong == 0);
    }
  }
  const Tensor negative = tensor({5, -3, int64_t{1} << 40, -(int64_t{1} << 40), 0});
  CHECK(sort(negative).first.to_vector<int64_t>() ==
        std::vector<int64_t>{-(int64_t{1} << 40), -3, 0, 5, int64_t{1} << 40});
}
