#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/tests/autograd/slow_index.h>

#include <cstring>
#include <random>

// Indexing against a model that walks element by element, over random shapes, layouts and indices; and what only shows
// in special places: writing through views, aliasing, order of writes, errors that must leave no trace.
using namespace tantu;

namespace {

using Random = std::mt19937;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Tensor numbers(const Shape& sizes) {
  return arange(Scalar(numel(sizes)), {.dtype = kFloat64}).reshape(sizes);
}

// The numbers 0, 1, … in row-major order, laid out with dimensions in another order.
Tensor laid_out(Random& random, const Shape& sizes) {
  Dims order;
  for (int d = 0; d < sizes.size(); ++d) order.insert(static_cast<int>(pick(random, 0, d)), d);
  Shape stored;
  Dims back = order;
  for (int d = 0; d < sizes.size(); ++d) {
    stored.push_back(sizes[static_cast<int>(order[d])]);
    back[static_cast<int>(order[d])] = d;
  }
  Tensor x = empty(stored, {.dtype = kFloat64}).permute(back);
  return x.copy_(numbers(sizes));
}

Shape random_shape(Random& random) {
  Shape sizes;
  for (int64_t rank = pick(random, 0, 5); rank > 0; --rank)
    sizes.push_back(pick(random, 0, 9) == 0 ? 0 : pick(random, 1, 4));
  return sizes;
}

Tensor random_positions(Random& random, const Shape& common, int64_t n) {
  Shape sizes = common;
  for (int64_t& s : sizes)
    if (pick(random, 0, 3) == 0) s = 1;
  if (n == 0) sizes = {0};
  std::vector<int64_t> values;
  for (int64_t i = 0; i < numel(sizes); ++i) values.push_back(pick(random, -n, n - 1));
  return tensor(values).to(pick(random, 0, 1) ? kInt64 : kInt32).reshape(sizes);
}

Tensor random_mask(Random& random, const Shape& sizes) {
  std::vector<bool> values;
  const int64_t density = pick(random, 0, 3);
  for (int64_t i = 0; i < numel(sizes); ++i) values.push_back(pick(random, 0, 2) < density);
  return tensor(values).reshape(sizes).to(pick(random, 0, 5) ? kBool : kUInt8);
}

// A random index that is right for x, with at most one mask (two would have to hold equally many).
IndexList random_index(Random& random, const Shape& x) {
  IndexList list;
  Shape common;
  for (int64_t k = pick(random, 0, 2); k > 0; --k) common.push_back(pick(random, 1, 3));
  int d = 0;
  bool ellipsis = false, has_list = false, has_mask = false;
  for (int64_t steps = pick(random, 0, 7); steps > 0; --steps) {
    const int64_t kind = pick(random, 0, 9);
    if (kind == 0) list.emplace_back(None);
    if (kind == 1 && !ellipsis) {
      ellipsis = true;
      list.emplace_back(Ellipsis);
      d += static_cast<int>(pick(random, 0, x.size() - d));
    }
    if (kind == 2 && !has_list && !has_mask) {
      has_mask = true;
      list.emplace_back(pick(random, 0, 3) != 0);
      common = {};
    }
    if (d == x.size()) continue;
    if (kind == 3 && x[d] > 0) {
      const int64_t i = pick(random, -x[d], x[d] - 1);
      ++d;
      if (pick(random, 0, 2) != 0) list.emplace_back(i);
      else list.emplace_back(full({}, Scalar(i)));
    }
    if (kind == 4 || kind == 5) {
      const Slice::Bound start = pick(random, 0, 2) ? Slice::Bound(pick(random, -6, 6)) : None;
      const Slice::Bound stop = pick(random, 0, 2) ? Slice::Bound(pick(random, -6, 6)) : None;
      list.emplace_back(Slice(start, stop, pick(random, 1, 3)));
      ++d;
    }
    if (kind >= 6 && kind <= 8 && !has_mask && (x[d] > 0 || common.empty())) {
      if (x[d] == 0 && has_list) continue;
      has_list = true;
      if (x[d] == 0) common = {0};
      if (common.empty()) common = {1};
      list.emplace_back(random_positions(random, common, x[d]));
      ++d;
    }
    if (kind == 9 && !has_mask && !has_list) {
      has_mask = true;
      const int rank = static_cast<int>(pick(random, 1, x.size() - d));
      Shape sizes;
      for (int i = 0; i < rank; ++i) sizes.push_back(x[d + i]);
      list.emplace_back(random_mask(random, sizes));
      d += rank;
    }
  }
  for (; ellipsis && d < x.size(); ++d) list.emplace_back(Slice());  // the ellipsis is as long as it was taken for
  return list;
}

bool has_lists(const IndexList& list) {
  for (const Index& e : list)
    if (e.kind() == Index::Kind::Bool ||
        (e.kind() == Index::Kind::Tensor && (e.tensor().dim() > 0 || e.tensor().dtype() == kBool)))
      return true;
  return false;
}

std::vector<double> doubles(const Tensor& t) {
  return t.to_vector<double>();
}

}  // namespace

TEST_CASE("index equals the slow model; index_put_ writes in its order; the gradient counts") {
  const unsigned seed = std::random_device{}();
  Random random(seed);
  int with_lists = 0, not_empty = 0;
  for (int round = 0; round < 4000; ++round) {
    const Shape sizes = random_shape(random);
    const IndexList list = random_index(random, sizes);
    const slow::Indexed model = slow::index(sizes, list);
    Tensor x = laid_out(random, sizes);
    CAPTURE(seed, round, sizes.to_string(), list.size());
    const Tensor y = index(x, list);
    REQUIRE(y.sizes() == model.sizes);
    const std::vector<double> got = doubles(y);
    REQUIRE(got == std::vector<double>(model.from.begin(), model.from.end()));
    CHECK((y.impl().storage.get() == x.impl().storage.get()) == !has_lists(list));
    with_lists += has_lists(list);
    not_empty += y.numel() > 0;

    Tensor values = numbers(model.sizes).add(1000);
    if (!model.sizes.empty() && pick(random, 0, 1)) values = values.narrow(0, 0, std::min<int64_t>(1, values.size(0)));
    if (values.numel() == 0) values = full({}, 7.0, {.dtype = kFloat64});
    const std::vector<double> spread = doubles(values.expand(model.sizes));
    std::vector<double> want = doubles(x), sums = want, counts(want.size(), 0);
    for (size_t i = 0; i < model.from.size(); ++i) {
      const auto at = static_cast<size_t>(model.from[i]);
      want[at] = spread[i];
      sums[at] += spread[i];
      counts[at] += 1;
    }
    Tensor added = laid_out(random, sizes);
    index_put_(added, list, values, true);
    REQUIRE(doubles(added) == sums);
    index_put_(x, list, values);
    REQUIRE(doubles(x) == want);

    if (y.numel() == 0) continue;
    const Tensor leaf = laid_out(random, sizes).requires_grad_();
    const Tensor shown = index(leaf, list);
    REQUIRE(doubles(grad({shown}, {leaf}, {ones_like(shown)})[0]) == counts);
  }
  CHECK(with_lists > 1000);
  CHECK(not_empty > 1500);
}

TEST_CASE("a slice assignment writes through views, and gradients see it") {
  Tensor leaf = ones({3, 4}, {.dtype = kFloat64, .requires_grad = true});
  const Tensor value = full({2}, 5.0, {.dtype = kFloat64, .requires_grad = true});
  Tensor x = leaf * 2;
  x.index_put_({1, Slice(None, None, 2)}, value);
  x.index_put_({tensor({0, 2}), 3}, 7.0);
  CHECK(doubles(x) == std::vector<double>{2, 2, 2, 7, 5, 2, 5, 2, 2, 2, 2, 7});
  (x * x).sum().backward();
  CHECK(doubles(leaf.grad()) == std::vector<double>{8, 8, 8, 0, 0, 8, 0, 8, 8, 8, 8, 0});
  CHECK(doubles(value.grad()) == std::vector<double>{10, 10});
  CHECK_THROWS_AS(leaf.index_put_({0}, 1.0), AutogradError);
  CHECK_THROWS_AS(leaf.index_put_({tensor({0})}, 1.0), AutogradError);
}

TEST_CASE("an index tensor changed after the call is found by backward") {
  const Tensor x = ones({4}, {.requires_grad = true});
  Tensor i = tensor({0, 1});
  const Tensor y = x.index({i}), z = x.gather(0, i), w = x.index_select(0, i);
  i.fill_(3);
  CHECK_THROWS_AS(y.sum().backward(), AutogradError);
  CHECK_THROWS_AS(z.sum().backward(), AutogradError);
  CHECK_THROWS_AS(w.sum().backward(), AutogradError);
}

TEST_CASE("source and target may be the same memory") {
  Tensor x = arange(6, {.dtype = kFloat32});
  x.index_put_({Slice(1, None)}, x.index({Slice(None, -1)}));
  CHECK(doubles(x) == std::vector<double>{0, 0, 1, 2, 3, 4});
  x = arange(6, {.dtype = kFloat32});
  x.index_put_({tensor({5, 4, 3, 2, 1, 0})}, x);
  CHECK(doubles(x) == std::vector<double>{5, 4, 3, 2, 1, 0});
  x.index_put_({Slice(1, None)}, x.index({Slice(None, -1)}), true);
  CHECK(doubles(x) == std::vector<double>{5, 9, 7, 5, 3, 1});
  x = arange(4, {.dtype = kFloat32});
  x.scatter_add_(0, tensor({3, 2, 1, 0}), x);
  CHECK(doubles(x) == std::vector<double>{3, 3, 3, 3});
  x = arange(4, {.dtype = kFloat32});
  x.index_add_(0, tensor({1, 2, 3, 0}), x);
  CHECK(doubles(x) == std::vector<double>{3, 1, 3, 5});
}

TEST_CASE("a wrong index changes nothing") {
  std::vector<int64_t> positions(5000, 1);
  positions[4999] = 9;
  const Tensor i = tensor(positions), source = ones({5000});
  for (int which = 0; which < 4; ++which) {
    Tensor x = zeros({5});
    const uint32_t version = x.version();
    if (which == 0)
      CHECK_THROWS_WITH(x.index_put_({i}, source),
                        contains("index 9 is out of bounds for dimension 0 with size 5 (at position [4999]"));
    if (which == 1) CHECK_THROWS_AS(x.scatter_(0, i, source), IndexError);
    if (which == 2) CHECK_THROWS_AS(x.scatter_add_(0, i, source), IndexError);
    if (which == 3) CHECK_THROWS_AS(x.index_add_(0, i, source), IndexError);
    CHECK(doubles(x) == std::vector<double>(5, 0));
    CHECK(x.version() == version);
  }
  const int64_t far[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t{1} << 62};
  for (int64_t f : far) CHECK_THROWS_AS(zeros({3, 4}).index({tensor(std::vector<int64_t>{f})}), IndexError);
}

TEST_CASE("tensors written to must not repeat their elements") {
  Tensor x = zeros({1}).expand({3});
  CHECK_THROWS_AS(x.index_put_({tensor({0})}, 1.0), ShapeError);
  CHECK_THROWS_AS(x.scatter_(0, tensor({0}), 1.0), ShapeError);
  CHECK_THROWS_AS(x.index_add_(0, tensor({0}), ones({1})), ShapeError);
  CHECK_THROWS_AS(x.masked_fill_(tensor({true, true, false}), 1.0), ShapeError);
}
