#include <tantu/tests/gpu/lines_common.h>

// Reductions on every GPU: several blocks a row, tiles of columns, odd layouts, hard numbers, repeated bits.
using namespace tantu;
using namespace tantu::linetest;

namespace {

const std::vector<Shape> kLongRows = {{1, 1023},  {1, 1025},   {3, 8191},   {2, 8193},  {1, 16384},
                                      {5, 20001}, {1, 100003}, {1, 150001}, {700, 1030}};
const std::vector<Shape> kColumns = {{129, 8}, {1000, 31}, {5000, 33}, {3001, 129}, {300, 600}, {40, 5000}, {20001, 9}};

// Compares a reduction over `dims` with the CPU's over the same numbers in float64.
template <class F>
void compare(Device device, const Tensor& x, double tolerance, const F& f) {
  const Tensor want = f(is_floating(x.dtype()) ? x.to(kFloat64) : x);
  for (const int64_t offset : {0, 1}) {
    const Tensor got = f(placed(x, device, offset));
    CHECK(difference(want, got, tolerance) == "");
  }
}

}  // namespace

TEST_CASE("long rows and long columns: sums, extremes, moments, norms") {
  for (const Device& device : gpu_devices())
    for (const bool columns : {false, true})
      for (const Shape& shape : columns ? kColumns : kLongRows)
        for (const DType t : {kFloat32, kFloat16, kFloat64}) {
          CAPTURE(shape.to_string(), t);
          const int64_t dim = columns ? 0 : 1;
          const Tensor x = draw(shape, t, -0.7, 0.8, 11);
          const double n = static_cast<double>(x.size(dim)), allowed = sum_tolerance(t, n);
          compare(device, x, allowed, [&](const Tensor& v) { return sum(v, dim); });
          compare(device, x, 0, [&](const Tensor& v) { return amax(v, dim); });
          compare(device, x, 0, [&](const Tensor& v) { return argmin(v, dim); });
          compare(device, x, allowed, [&](const Tensor& v) { return var(v, dim); });
          compare(device, x, allowed, [&](const Tensor& v) { return norm(v, 2, dim); });
          compare(device, x, allowed, [&](const Tensor& v) { return logsumexp(v, dim); });
        }
}

TEST_CASE("integers, truths and products of many elements are exact") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{2, 30001}, Shape{7001, 33}, Shape{1, 70000}})
      for (const DType t : {kInt64, kInt32, kUInt8, kBool})
        for (const int64_t dim : {0, 1}) {
          CAPTURE(shape.to_string(), t, dim);
          const Tensor x = draw(shape, t, t == kBool || t == kUInt8 ? 0 : -90, t == kBool ? 2 : 90, 5);
          compare(device, x, 0, [&](const Tensor& v) { return sum(v, dim); });
          compare(device, x, 0, [&](const Tensor& v) { return prod(v, dim); });
          compare(device, x, 0, [&](const Tensor& v) { return any(v, dim); });
          compare(device, x, 0, [&](const Tensor& v) { return all(v, dim); });
          compare(device, x, 0, [&](const Tensor& v) { return max(v, dim).second; });
        }
}

TEST_CASE("random views reduced over random dimensions") {
  std::mt19937 random(99);
  for (const Device& device : gpu_devices())
    for (int round = 0; round < 60; ++round) {
      const Tensor x = draw({3, 10, 7, 9, 2}, kFloat32, -2, 2, random());
      Dims order;
      for (int d = 0; d < 5; ++d) order.insert(static_cast<int>(random() % static_cast<unsigned>(d + 1)), d);
      const auto view = [&](const Tensor& t) { return t.slice(1, 1, {}, 2).slice(3, 0, 8).permute(order); };
      Dims dims;
      for (int d = 0; d < 5; ++d)
        if (random() % 2) dims.push_back(d);
      if (dims.empty()) dims.push_back(2);
      CAPTURE(round, order.to_string(), dims.to_string());
      const Tensor here = view(x), there = view(x.to(device));
      CHECK(difference(sum(here.to(kFloat64), dims), sum(there, dims), 1e-5) == "");
      CHECK(difference(amin(here, dims), amin(there, dims), 0) == "");
      CHECK(difference(var(here, dims), var(there, dims), 1e-6) == "");
      CHECK(difference(argmax(here, dims[0]), argmax(there, dims[0]), 0) == "");
      CHECK(difference(argmax(here), argmax(there), 0) == "");
    }
}

TEST_CASE("the first of equal elements and the first NaN win wherever they stand") {
  for (const Device& device : gpu_devices())
    for (const int64_t n : {1, 2, 31, 33, 257, 1024, 1025, 4097, 20001})
      for (const int64_t columns : {1, 9})
        for (const int64_t place : {int64_t{0}, n / 3, n / 2, n - 1})
          for (const double value : {2.0, double(NAN)}) {
            Tensor x = draw({n, columns}, kFloat32, -1, 1, static_cast<unsigned>(n + place));
            x.narrow(0, place, n - place).slice(0, 0, {}, 3).fill_(value);  // it and every third behind it
            CAPTURE(n, columns, place, value);
            const Tensor there = columns == 1 ? x.to(device).view({n}) : x.to(device);
            const Tensor here = columns == 1 ? x.view({n}) : x;
            const auto got = max(there, 0), want = max(here, 0);
            CHECK(difference(want.second, got.second, 0) == "");
            CHECK(difference(want.first, got.first, 0) == "");
            CHECK(difference(amax(here, 0), amax(there, 0), 0) == "");
            CHECK(got.second.cpu().flatten().to_vector<int64_t>()[0] == place);
          }
  for (const Device& device : gpu_devices()) {
    const Tensor zero = tensor({-0.0, 0.0, -0.0}, {.dtype = kFloat32, .device = device});
    CHECK(argmax(zero).item<int64_t>() == 0);
    CHECK(argmin(zero.narrow(0, 1, 2)).item<int64_t>() == 0);
  }
}

TEST_CASE("variance and norms survive far means and huge and tiny numbers") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{1, 7}, Shape{3, 1000}, Shape{1, 50000}})
      for (const double mean : {1e2, 1e4, 1e7}) {
        CAPTURE(shape.to_string(), mean);
        const Tensor x = draw(shape, kFloat32, mean - 4, mean + 4, 3);
        compare(device, x, 1e-6, [](const Tensor& v) { return var(v, 1); });
        const Tensor huge = draw(shape, kFloat32, 1, 2, 3).to(kFloat64).mul(1e30).to(kFloat32);
        compare(device, huge, 1e-6, [](const Tensor& v) { return norm(v, 2, 1).to(kFloat64) / 1e30; });
        compare(device, huge, 1e-6, [](const Tensor& v) { return tantu::std(v, 1).to(kFloat64) / 1e30; });
        const Tensor tiny = draw(shape, kFloat32, 1, 2, 3).to(kFloat64).mul(1e-30).to(kFloat32);
        compare(device, tiny, 1e-6, [](const Tensor& v) { return norm(v, 2, 1).to(kFloat64) * 1e30; });
        const Tensor outlier = draw(shape, kFloat32, -1, 1, 4);
        outlier.select(1, 0).fill_(mean);
        compare(device, outlier, 1e-6, [=](const Tensor& v) { return var(v, 1).to(kFloat64) / (mean * mean); });
        const Tensor close = draw(shape, kFloat32, -1, 1, 5).to(kFloat64).mul(1e-3).add(mean).to(kFloat32);
        compare(device, close, 1e-6, [](const Tensor& v) { return tantu::std(v, 1).to(kFloat64) * 1e3; });
        const Tensor equal = full(shape, 1.1, {.dtype = kFloat32});
        CHECK(difference(zeros({shape[0]}), var(equal.to(device), 1), 0) == "");
      }
}

TEST_CASE("many rows and short ones") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{65535, 2}, Shape{65537, 3}, Shape{70000, 1}, Shape{2, 70000}, Shape{3000, 40}}) {
      CAPTURE(shape.to_string());
      const Tensor x = draw(shape, kFloat32, -1, 1, 8);
      for (const int64_t dim : {0, 1}) compare(device, x, 1e-4, [&](const Tensor& v) { return sum(v, dim); });
    }
}

TEST_CASE("halves are summed in float32") {
  for (const Device& device : gpu_devices())
    for (const DType t : {kFloat16, kBFloat16}) {
      const Tensor x = full({100000, 8}, 0.01, {.dtype = t});
      const double each = x.narrow(0, 0, 1).to(kFloat64).sum().item<double>() / 8;
      CHECK(difference(full({8}, each * 100000, {.dtype = kFloat64}), sum(x.to(device), 0, false, kFloat32), 1e-5) ==
            "");
      CHECK(difference(full({8}, each, {.dtype = kFloat64}), mean(x.to(device), 0), t == kFloat16 ? 1e-3 : 1e-2) == "");
    }
}

TEST_CASE("bits repeat, and an unaligned start does not change them") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{1, 100003}, Shape{9, 4100}, Shape{4100, 36}, Shape{200, 77}})
      for (const int64_t dim : {0, 1}) {
        CAPTURE(shape.to_string(), dim);
        const Tensor x = draw(shape, kFloat32, -1, 1, 21);
        const Tensor aligned = placed(x, device, 0);
        for (const auto& f : {+[](const Tensor&v, int64_t d) { return sum(v, d); },
                              +[](const Tensor&v, int64_t d) { return var(v, d); },
                              +[](const Tensor&v, int64_t d) { return logsumexp(v, d); }}) {
          const Tensor first = f(aligned, dim);
          for (const int64_t offset : {1, 4}) CHECK(same_bits(first, f(placed(x, device, offset), dim)));
          for (int again = 0; again < 2; ++again) CHECK(same_bits(first, f(aligned, dim)));
        }
      }
}
