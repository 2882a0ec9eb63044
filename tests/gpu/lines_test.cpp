#include <tantu/tests/gpu/lines_common.h>

#include <tantu/autograd/autograd.h>

// Softmax, running sums and sorting along lines of every length, on every GPU.
using namespace tantu;
using namespace tantu::linetest;

namespace {

std::vector<int64_t> line_lengths() {
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (int64_t n : {127, 128, 129, 255, 511, 512, 513, 1023, 1024, 1025, 2049, 4097, 8191, 8193, 16384, 16385, 40001})
    lengths.push_back(n);
  return lengths;
}

// Ties, NaN, infinities and zeros of both signs among floats; ties among integers.
Tensor awkward(const Shape& shape, DType t, unsigned seed) {
  Tensor x = draw(shape, t, is_integral(t) && (t == kUInt8 || t == kBool) ? 0 : -50, t == kBool ? 2 : 50, seed);
  if (!is_floating(t)) return x;
  x = round(x.to(kFloat32)).to(t);
  std::mt19937 random(seed);
  std::vector<double> v = x.to_vector<double>();
  constexpr double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
  for (double& e : v)
    if (random() % 4 == 0) e = special[random() % 5];
  return tensor(v, {.dtype = kFloat64}).to(t).view(shape);
}

void check_pair(const std::pair<Tensor, Tensor>& want, const std::pair<Tensor, Tensor>& got) {
  CHECK(same_bits(want.second, got.second));
  CHECK(difference(want.first, got.first, 0) == "");
  if (is_floating(want.first.dtype()))  // zeros keep their signs
    CHECK(difference(1 / want.first.to(kFloat64).cpu(), 1 / got.first.cpu().to(kFloat64), 0) == "");
}

}  // namespace

TEST_CASE("softmax and its gradient on lines of every length") {
  for (const Device& device : gpu_devices())
    for (const int64_t n : line_lengths())
      for (const DType t : {kFloat32, kFloat16, kFloat64, kBFloat16})
        for (const bool log : {false, true}) {
          if (n > 70 && t == kBFloat16 && log) continue;
          CAPTURE(n, t, log);
          const Tensor x = draw({3, n}, t, -8, 8, static_cast<unsigned>(n)), g = draw({3, n}, t, -1, 1, 77);
          const auto run = [&](Tensor v, const Tensor& up) {
            v.requires_grad_();
            const Tensor y = log ? log_softmax(v, 1) : softmax(v, 1);
            return std::pair(y.detach(), grad({y}, {v}, {up})[0]);
          };
          const auto want = run(x.to(kFloat64), g.to(kFloat64));
          const double once = t == kFloat16 ? 0x1p-10 : t == kBFloat16 ? 0x1p-7 : 0;
          const double allowed = t == kFloat64 ? 1e-13 : 2e-6 * (log ? 10 : 1);
          for (const int64_t offset : {0, 1}) {
            const auto got = run(placed(x, device, offset), placed(g, device, offset));
            CHECK(difference(want.first, got.first, allowed + once) == "");
            // the gradient is taken at the rounded result
            CHECK(difference(want.second, got.second, 20 * (allowed + 4 * once)) == "");
          }
        }
}

TEST_CASE("softmax over other dimensions, in place of other layouts") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{2, 4, 33}, Shape{3, 1000, 5}, Shape{1, 3000, 1}, Shape{40, 2, 300}})
      for (int64_t dim = 0; dim < 3; ++dim) {
        CAPTURE(shape.to_string(), dim);
        const Tensor x = draw(shape, kFloat32, -30, 30, 9);
        const Tensor want = softmax(x.to(kFloat64), dim), there = x.to(device);
        CHECK(difference(want, softmax(there, dim), 2e-6) == "");
        CHECK(difference(want.transpose(0, 2), softmax(there.transpose(0, 2), 2 - dim), 2e-6) == "");
        CHECK(difference(log_softmax(x.to(kFloat64), dim), log_softmax(there, dim), 2e-5) == "");
      }
}

TEST_CASE("softmax of huge numbers, infinities and NaN") {
  const double inf = INFINITY;
  for (const Device& device : gpu_devices())
    for (const int64_t n : {4, 100, 1500, 17000})
      for (const DType t : {kFloat32, kFloat16})
        for (const std::vector<double>& few : std::vector<std::vector<double>>{{1e4, -1e4, 0, 3},
                                                                               {65504, 65504, -65504, 1},
                                                                               {-inf, -inf, -inf, -inf},
                                                                               {inf, 1, 2, 3},
                                                                               {NAN, 1, 2, inf},
                                                                               {-inf, 2, -inf, 1}})
          for (const bool front : {true, false}) {
            Tensor x = full({n}, -inf, {.dtype = kFloat64});
            x.narrow(0, front ? 0 : n - 4, 4).copy_(tensor(few, {.dtype = kFloat64}));
            x = x.to(t);
            CAPTURE(n, t, few, front);
            const double once = t == kFloat16 ? 0x1p-10 : 0;
            const Tensor there = x.to(device);
            CHECK(difference(softmax(x.to(kFloat64), 0), softmax(there, 0), 2e-6 + once) == "");
            CHECK(difference(log_softmax(x.to(kFloat64), 0).to(t), log_softmax(there, 0), 2e-6 + once) == "");
            CHECK(difference(logsumexp(x.to(kFloat64), 0), logsumexp(there, 0), 2e-6 + once) == "");
          }
}

TEST_CASE("running sums of lines of every length, from both ends") {
  for (const Device& device : gpu_devices())
    for (const int64_t n : {1, 3, 4, 5, 16, 17, 127, 129, 1024, 1025, 5000, 16385, 100003})
      for (const Shape& shape : {Shape{n}, Shape{3, n}, Shape{n, 5}, Shape{n, 300}}) {
        if (numel(shape) > 2000000) continue;
        const int64_t dim = shape.size() == 2 && shape[1] == n && shape[0] == 3 ? 1 : 0;
        CAPTURE(shape.to_string(), dim);
        const Tensor whole = draw(shape, kInt64, -1000, 1000, 4);
        CHECK(same_bits(cumsum(whole, dim), cumsum(whole.to(device), dim)));
        for (const DType t : {kFloat32, kFloat64, kFloat16}) {
          const Tensor x = draw(shape, t, -1, 1, 6);
          const double allowed = t == kFloat64 ? 1e-13 + 0x1p-52 * static_cast<double>(n) : t == kFloat32 ? 2e-7 : 1e-3;
          CHECK(difference(cumsum(x.to(kFloat64), dim), cumsum(x.to(device), dim), allowed) == "");
          Tensor v = x.to(device), w = x.to(kFloat64);
          v.requires_grad_();
          w.requires_grad_();
          const Tensor g = draw(shape, t, -1, 1, 7);
          CHECK(difference(grad({cumsum(w, dim)}, {w}, {g.to(kFloat64)})[0],
                           grad({cumsum(v, dim)}, {v}, {g.to(device)})[0], allowed) == "");
        }
      }
}

TEST_CASE("the gradient of a product, with zeros") {
  for (const Device& device : gpu_devices())
    for (const int64_t n : {1, 2, 31, 32, 33, 255, 257, 1500})
      for (const int zeros_in_row : {0, 1, 2}) {
        CAPTURE(n, zeros_in_row);
        Tensor x = draw({4, n}, kFloat64, 0.9, 1.1, 3);
        for (int z = 0; z < zeros_in_row && z < n; ++z) x.narrow(1, z * (n - 1), 1).fill_(0);
        Tensor here = x.clone(), there = x.to(device), turned = x.to(device).transpose(0, 1);
        for (Tensor* t : {&here, &there, &turned}) t->requires_grad_();
        const Tensor want = grad({prod(here, 1)}, {here}, {ones({4}, {.dtype = kFloat64})})[0];
        const Tensor one = ones({4}, {.dtype = kFloat64, .device = device});
        CHECK(difference(want, grad({prod(there, 1)}, {there}, {one})[0], 1e-12) == "");
        CHECK(difference(want.transpose(0, 1), grad({prod(turned, 0)}, {turned}, {one})[0], 1e-12) == "");
      }
}

TEST_CASE("sorting lines of every length is stable, NaN last") {
  for (const Device& device : gpu_devices())
    for (const int64_t n : {1, 2, 3, 5, 33, 1000, 1024, 1025, 2047, 2048, 2049, 4097, 9000, 50001})
      for (const DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kUInt8, kBool}) {
        if (n > 9000 && t != kFloat32 && t != kInt64) continue;
        CAPTURE(n, t);
        const Tensor x = awkward({2, n}, t, static_cast<unsigned>(n)), there = x.to(device);
        for (const bool descending : {false, true}) {
          check_pair(sort(x, 1, descending), sort(there, 1, descending));
          check_pair(sort(x.transpose(0, 1), 0, descending), sort(there.transpose(0, 1), 0, descending));
        }
        if (t == kBool) continue;  // sorted only
        for (const int64_t k : {int64_t{1}, int64_t{5}, int64_t{600}, int64_t{1030}, n})
          for (const bool largest : {false, true})
            if (k <= n) check_pair(topk(x, k, 1, largest), topk(there, k, 1, largest));
        for (const int64_t k : {int64_t{1}, (n + 1) / 2, n}) check_pair(kthvalue(x, k, 1), kthvalue(there, k, 1));
        check_pair(median(x, 1), median(there, 1));
        CHECK(difference(median(x), median(there), 0) == "");
      }
}

TEST_CASE("sorting many short lines") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{5000, 3}, Shape{70000, 1}, Shape{129, 100}, Shape{3, 1000}})
      for (const int64_t dim : {0, 1}) {
        CAPTURE(shape.to_string(), dim);
        const Tensor x = awkward(shape, kFloat32, 15);
        check_pair(sort(x, dim), sort(x.to(device), dim));
        check_pair(topk(x, 1, dim), topk(x.to(device), 1, dim));
      }
}

TEST_CASE("bits of softmax and running sums repeat") {
  for (const Device& device : gpu_devices())
    for (const Shape& shape : {Shape{2, 20000}, Shape{5, 700}, Shape{900, 40}})
      for (const int64_t dim : {0, 1}) {
        const Tensor x = draw(shape, kFloat32, -3, 3, 2).to(device);
        const Tensor y = softmax(x, dim), s = cumsum(x, dim);
        for (int again = 0; again < 3; ++again) {
          CHECK(same_bits(y, softmax(x, dim)));
          CHECK(same_bits(s, cumsum(x, dim)));
        }
      }
}
