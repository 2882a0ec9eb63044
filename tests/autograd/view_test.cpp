#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>

#include <random>

// Whether `view` finds strides exactly when there are some, against a search; views of views; overlapping pictures.
using namespace tantu;

namespace {

using Random = std::mt19937;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// Offset of each element in row-major order.
std::vector<int64_t> offsets(const Shape& sizes, const Strides& strides) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < numel(sizes); ++i) {
    int64_t rest = i, offset = 0;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      offset += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    list.push_back(offset);
  }
  return list;
}

// The only strides that could show these elements as `shape`: those of its unit steps.
bool view_exists(const std::vector<int64_t>& elements, const Shape& shape) {
  Strides strides = Dims::filled(shape.size(), 1);
  int64_t step = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] > 1) strides[d] = elements[static_cast<size_t>(step)] - elements[0];
    step *= shape[d];
  }
  const std::vector<int64_t> got = offsets(shape, strides);
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] + elements[0] != elements[i]) return false;
  return true;
}

// A random tensor of up to 5 dimensions made by slicing, permuting and expanding a row-major one.
Tensor random_layout(Random& random) {
  Shape sizes;
  for (int64_t rank = pick(random, 1, 5); rank > 0; --rank)
    sizes.push_back(pick(random, 0, 20) == 0 ? 0 : pick(random, 1, 4));
  Tensor x = arange(Scalar(numel(sizes)), {.dtype = kFloat64}).reshape(sizes);
  if (pick(random, 0, 2)) x = x.transpose(pick(random, 0, x.dim() - 1), pick(random, 0, x.dim() - 1));
  if (pick(random, 0, 2) == 0) x = x.slice(pick(random, 0, x.dim() - 1), pick(random, 0, 1), {}, pick(random, 1, 2));
  if (pick(random, 0, 3) == 0) x = x.unsqueeze(pick(random, 0, x.dim()));
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.size(d) == 1 && pick(random, 0, 2) == 0) {
      Shape wide = x.sizes();
      wide[static_cast<int>(d)] = pick(random, 0, 3);
      x = x.expand(wide);
    }
  return x;
}

// A random shape with n elements.
Shape random_factors(Random& random, int64_t n) {
  Shape shape;
  if (n == 0) return {pick(random, 0, 3), 0, 2};
  for (int64_t rest = n; rest > 1 || shape.empty();) {
    std::vector<int64_t> divisors;
    for (int64_t k = 1; k <= rest; ++k)
      if (rest % k == 0) divisors.push_back(k);
    const int64_t f = shape.size() == 5
                          ? rest
                          : divisors[static_cast<size_t>(pick(random, 0, static_cast<int64_t>(divisors.size()) - 1))];
    shape.push_back(f);
    rest /= f;
  }
  return shape;
}

std::vector<double> doubles(const Tensor& t) {
  return t.to_vector<double>();
}

}  // namespace

TEST_CASE("view succeeds exactly where strides exist; reshape always shows the same elements") {
  const unsigned seed = std::random_device{}();
  Random random(seed);
  int views = 0, copies = 0;
  for (int round = 0; round < 20000; ++round) {
    const Tensor x = random_layout(random);
    const Shape shape = random_factors(random, x.numel());
    CAPTURE(seed, round, x.sizes().to_string(), x.strides().to_string(), shape.to_string());
    const bool exists = x.numel() == 0 || view_exists(offsets(x.sizes(), x.strides()), shape);
    const Tensor y = reshape(x, shape);
    REQUIRE(y.sizes() == shape);
    REQUIRE(doubles(y) == doubles(x));
    REQUIRE((y.impl().storage.get() == x.impl().storage.get()) == exists);
    if (exists) {
      const Tensor v = view(x, shape);
      REQUIRE(offsets(v.sizes(), v.strides()) == offsets(x.sizes(), x.strides()));
      ++views;
    } else {
      REQUIRE_THROWS_AS(view(x, shape), ShapeError);
      ++copies;
    }
  }
  CHECK(views > 3000);
  CHECK(copies > 3000);
}

TEST_CASE("gradients through chains of views") {
  const unsigned seed = std::random_device{}();
  Random random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> start(24);
    for (double& v : start) v = std::uniform_real_distribution<double>(-1, 1)(random);
    const Tensor leaf = tensor(start, {.dtype = kFloat64}).reshape({2, 3, 4}).detach().requires_grad_();
    const unsigned program = static_cast<unsigned>(pick(random, 0, 1 << 20));
    CAPTURE(seed, round, program);
    const auto fn = [program](const TensorList& x) {
      Random choice(program);
      Tensor y = x[0] * x[0];
      for (int step = 0; step < 5; ++step) {
        const int64_t d = y.dim() == 0 ? 0 : pick(choice, 0, y.dim() - 1);
        switch (pick(choice, 0, 9)) {
          case 0: y = y.transpose(0, d); break;
          case 1: y = y.unsqueeze(d); break;
          case 2: y = y.squeeze(); break;
          case 3: y = y.reshape({-1}); break;
          case 4: y = y.dim() > 0 ? y.slice(d, 0, {}, 2) : y; break;
          case 5: y = y.dim() > 1 ? y.select(d, -1) : y; break;
          case 6: y = y.dim() > 1 ? y.diagonal(0, 0, 1) : y; break;
          case 7:
            y = y.expand([&] {
              Shape s = y.sizes();
              s.insert(0, 2);
              return s;
            }());
            break;
          case 8: y = y.dim() > 0 ? y.chunk(2, d)[0] : y; break;
          default: y = flip(y, y.dim() > 0 ? Dims{d} : Dims{}); break;
        }
      }
      return TensorList{y};
    };
    CHECK(gradcheck(fn, {leaf}));
    if (round % 6 == 0) CHECK(gradgradcheck(fn, {leaf}));
  }
}

TEST_CASE("pictures that overlap, go beyond their base, or show a repeated base") {
  const Tensor x = arange(12, {.dtype = kFloat64}).reshape({3, 4}).detach().requires_grad_();
  const Tensor windows = (x * 1).as_strided({10, 3}, {1, 1}, 0);
  CHECK(doubles(grad({windows}, {x}, {ones_like(windows)})[0]) ==
        std::vector<double>{1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 2, 1});
  const auto fn = [](const TensorList& v) { return TensorList{(v[0] * v[0]).as_strided({2, 5, 3}, {0, 2, 1}, 1)}; };
  CHECK(gradcheck(fn, {x}));
  CHECK(gradgradcheck(fn, {x}));
  // A view's picture may show elements of the storage that the view has not: they get no gradient.
  const auto beyond = [](const TensorList& v) {
    return TensorList{(v[0] * v[0]).select(0, 1).as_strided({3, 4}, {4, 1}, 0)};
  };
  const Tensor y = beyond({x})[0];
  CHECK(doubles(grad({y}, {x}, {ones_like(y)})[0]) == std::vector<double>{0, 0, 0, 0, 8, 10, 12, 14, 0, 0, 0, 0});
  // The picture of an expanded base.
  const auto repeated = [](const TensorList& v) {
    return TensorList{(v[0] * v[0]).select(1, 0).unsqueeze(1).expand({3, 5}).as_strided({3, 2}, {4, 0}, 0)};
  };
  CHECK(gradcheck(repeated, {x}));
}

TEST_CASE("positions far outside are cut, not overflowed") {
  const Tensor x = arange(5);
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  CHECK(x.slice(0, least, most).sizes() == Shape{5});
  CHECK(x.slice(0, 1, most, most).to_vector<int64_t>() == std::vector<int64_t>{1});
  CHECK(x.slice(0, most, least).sizes() == Shape{0});
  CHECK(x.unsqueeze(0).diagonal(least).sizes() == Shape{0});
  CHECK(x.unsqueeze(0).diagonal(most).sizes() == Shape{0});
  CHECK_THROWS_AS(x.narrow(0, least, 1), IndexError);
  CHECK_THROWS_AS(x.narrow(0, 1, most), IndexError);
  CHECK_THROWS_AS(x.select(0, least), IndexError);
  CHECK(x.split(most)[0].sizes() == Shape{5});
  CHECK(x.chunk(most).size() == 5);
  CHECK_THROWS_AS(split_with_sizes(x, {most, most, 7}), ShapeError);
  CHECK_THROWS_AS(x.repeat({most}), ShapeError);
  CHECK_THROWS_AS(pad(x, {most, most}), ShapeError);
}
