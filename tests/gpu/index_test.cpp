#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/error.h>

#include <map>
#include <random>

// Indices on a GPU: the order of sums, several tiles of the sort, repeated destinations, bad indices.
using namespace tantu;

namespace {

std::vector<float> normals(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(engine);
  return x;
}

std::vector<int64_t> below(int64_t high, size_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<int64_t> x(n);
  for (int64_t& v : x) v = static_cast<int64_t>(engine() % static_cast<uint64_t>(high));
  return x;
}

// The sum that meets at one element, in the order that kernels/index.h promises: pieces of 32 one after the other, the
// first with what was there; pieces from the second on by 32 lanes and a butterfly.
float promised_sum(float start, const std::vector<float>& values) {
  const auto piece = [&](size_t p, float sum) {
    for (size_t i = 32 * p; i < std::min(values.size(), 32 * p + 32); ++i) sum += values[i];
    return sum;
  };
  const float first = piece(0, start);
  if (values.size() <= 32) return first;
  std::vector<float> lanes(32, 0.0f);
  for (size_t p = 1; 32 * p < values.size(); ++p) lanes[(p - 1) % 32] += piece(p, 0);
  for (size_t step = 16; step > 0; step /= 2) {
    const std::vector<float> before = lanes;
    for (size_t l = 0; l < 32; ++l) lanes[l] = before[l] + before[l ^ step];
  }
  return first + lanes[0];
}

}  // namespace

TEST_CASE("scatter_add and index_add add in the order they promise, to the bit") {
  for (Device device : gpu_devices())
    for (const int64_t rows : {1, 7, 3000})
      for (const int64_t n : {1, 31, 32, 33, 2049, 5000, 40000}) {
        INFO(device.to_string() << ", " << n << " into " << rows);
        const std::vector<int64_t> ids = below(rows, static_cast<size_t>(n), 3);
        const std::vector<float> values = normals(static_cast<size_t>(n), 5),
                                 start = normals(static_cast<size_t>(rows), 6);
        std::map<int64_t, std::vector<float>> met;
        for (size_t i = 0; i < ids.size(); ++i) met[ids[i]].push_back(values[i]);
        std::vector<float> want = start;
        for (const auto& [row, list] : met)
          want[static_cast<size_t>(row)] = promised_sum(start[static_cast<size_t>(row)], list);
        const Tensor x = tensor(start, {.device = device}), index = tensor(ids, {.device = device}),
                     source = tensor(values, {.device = device});
        CHECK(scatter_add(x, 0, index, source).to_vector<float>() == want);
        // the same destinations in another layout, each with neighbours
        Tensor wide = zeros({3, rows}, {.device = device}).t();
        wide.copy_(x.unsqueeze(1).expand({rows, 3}));
        index_add_(wide, 0, index, source.unsqueeze(1).expand({n, 3}));
        for (int64_t c = 0; c < 3; ++c) CHECK(wide.select(1, c).to_vector<float>() == want);
      }
}

TEST_CASE("sums of integers and of bool wrap and saturate as on the CPU") {
  for (Device device : gpu_devices())
    for (DType t : {kUInt8, kInt32, kInt64, kBool}) {
      const Tensor ids = tensor(below(5, 4000, 8)), values = tensor(below(t == kBool ? 2 : 200, 4000, 9)).to(t);
      const Tensor want = index_add(zeros({5}, {.dtype = t}), 0, ids, values);
      const Tensor got = index_add(zeros({5}, {.dtype = t, .device = device}), 0, ids.to(device), values.to(device));
      CHECK(got.to_vector<int64_t>() == want.to_vector<int64_t>());
    }
}

TEST_CASE("of repeated destinations the last position is what remains") {
  for (Device device : gpu_devices()) {
    const size_t n = 9000;
    const std::vector<int64_t> ids = below(1000, n, 21);
    std::vector<int64_t> want(1000, -1), values;
    for (size_t i = 0; i < n; ++i) {
      values.push_back(static_cast<int64_t>(i));
      want[static_cast<size_t>(ids[i])] = static_cast<int64_t>(i);
    }
    Tensor x = full({1000}, -1, {.dtype = kInt64, .device = device});
    x.index_put_({tensor(ids, {.device = device})}, tensor(values, {.device = device}));
    CHECK(x.to_vector<int64_t>() == want);
  }
}

TEST_CASE("rows are moved in words of every width, aligned or not") {
  for (Device device : gpu_devices())
    for (DType t : {kUInt8, kFloat16, kFloat32, kFloat64})
      for (const int64_t width : {1, 3, 16, 64, 67, 1024})
        for (const int64_t skip : {0, 1}) {
          INFO(device.to_string() << " " << name(t) << " width " << width << " skip " << skip);
          const Tensor flat = tensor(below(251, static_cast<size_t>(skip + 5 * width), 13)).to(t),
                       ids = tensor({4, 0, 3, 3, 1, 2, 0});
          const auto take = [&](Device d) {
            return index_select(flat.to(d).narrow(0, skip, 5 * width).view({5, width}), 0, ids.to(d));
          };
          CHECK(take(device).to_vector<double>() == take(kCPU).to_vector<double>());
        }
}

TEST_CASE("a bad index throws once, at the next synchronising call, and the device goes on") {
  for (Device device : gpu_devices()) {
    const Tensor x = arange(12, {.dtype = kFloat32, .device = device}).view({4, 3});
    const Tensor y = index_select(x, 0, tensor({1, 4, 0}, {.device = device}));
    CHECK_THROWS_WITH(gpu::synchronize(device),
                      contains("index_select: index 4 is out of bounds for dimension 0 with size 4 "
                               "(at position [1] of the index)"));
    CHECK(y.to_vector<float>() == std::vector<float>{3, 4, 5, 0, 0, 0, 0, 1, 2});
    gpu::synchronize(device);

    Tensor z = zeros({4}, {.device = device});
    index_add_(z, 0, tensor({-1, 2, 2, 7}, {.device = device}), ones({4}, {.device = device}));
    CHECK_THROWS_AS(z.to_vector<float>(), IndexError);
    CHECK(z.to_vector<float>() == std::vector<float>{0, 0, 2, 0});

    const Tensor e = embedding(tensor({3, -1}, {.device = device}), x);
    CHECK_THROWS_WITH(gpu::synchronize(device),
                      contains("embedding: index out of range in self: index -1 at position [1], 4 embeddings"));
    CHECK(e.to_vector<float>() == std::vector<float>{9, 10, 11, 0, 0, 0});

    const Tensor loss = nll_loss(x, tensor({0, 3, 1, 2}, {.device = device}), {.reduction = "none"});
    CHECK_THROWS_WITH(gpu::synchronize(device),
                      contains("nll_loss: Target 3 is out of bounds: position [1] of the targets, 3 classes"));
    CHECK(loss.to_vector<float>() == std::vector<float>{0, 0, -7, -11});
  }
}

TEST_CASE("nonzero over several chunks, of views, and of NaN") {
  for (Device device : gpu_devices())
    for (const int64_t n : {2047, 2048, 2049, 10000}) {
      std::vector<float> values = normals(static_cast<size_t>(n), 31);
      for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 0 : i % 7 == 0 ? NAN : values[i];
      const Tensor x = tensor(values).view({n, 1}).expand({n, 2}), there = tensor(values, {.device = device});
      CHECK(nonzero(there.view({n, 1}).expand({n, 2})).to_vector<int64_t>() == nonzero(x).to_vector<int64_t>());
      CHECK(nonzero(there).to_vector<int64_t>() == nonzero(tensor(values)).to_vector<int64_t>());
    }
}

TEST_CASE("embedding's gradient: half types round once, padding and frequency") {
  for (Device device : gpu_devices()) {
    Tensor half = zeros({3, 1}, {.dtype = kFloat16, .device = device}).requires_grad_();
    embedding(zeros({100000}, {.dtype = kInt64, .device = device}), half)
        .backward(full({100000, 1}, 0.01, {.dtype = kFloat16, .device = device}));
    CHECK(half.grad().to_vector<double>()[0] == Approx(1000).epsilon(1e-3));

    const Tensor ids = tensor(below(11, 4000, 41)), g = tensor(normals(8000, 42)).view({4000, 2});
    const auto gradient = [&](Device d) {
      Tensor w = zeros({11, 2}, {.device = d}).requires_grad_();
      embedding(ids.to(d), w, 3, true).backward(g.to(d));
      return w.grad().to_vector<double>();
    };
    const std::vector<double> got = gradient(device), want = gradient(kCPU);
    for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-6);
  }
}
