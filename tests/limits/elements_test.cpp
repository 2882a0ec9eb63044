#include <tantu/tests/limits/limits_common.h>

#include <functional>

// Kernels that walk elements, on tensors of more than 2^31 of them: flat indices are 64 bits wide all the way.
using namespace tantu;
using namespace tantu::limits;

namespace {

// More than one turn of any grid here: 4096 blocks of 256 threads of up to 8 elements.
constexpr int64_t kTail = 4096ll * 256 * 8 + 4096;

/// Runs the first and the last block of f(x). Each element at the ends must be untouched or right; those written must
/// include some past 2^31.
void check_elements(const char* name, const Tensor& x, const std::function<Tensor(const Tensor&)>& f,
                    const std::function<double(double)>& want) {
  INFO(name);
  Tensor y;
  {
    const OnlyBlocks few({0, -1});
    y = f(x);
    gpu::synchronize(y.device());
  }
  REQUIRE(y.numel() == x.numel());
  const int64_t start = x.numel() - kTail;
  int64_t written = 0, furthest = 0, wrong = 0;
  const std::vector<double> tail = piece(y, start, kTail);
  for (int64_t i = 0; i < kTail; ++i) {
    const double got = tail[static_cast<size_t>(i)];
    if (got == 0) continue;
    ++written;
    furthest = start + i;
    wrong += got != want(tail_value(start + i));
  }
  CHECK(wrong == 0);
  CHECK(written >= 100);
  CHECK(furthest >= std::min(k2G, x.numel() - 4096 * 256 * 8));
  const double first = want(0);
  for (const double got : piece(y, 0, 1 << 20)) wrong += got != 0 && got != first;
  CHECK(wrong == 0);
}

const Shape shapes[] = {{131072, 16384}, {175000, 12288}, {4194305, 512}};

}  // namespace

TEST_CASE("pitfall 1: elements past 2^31 are copied, cast, filled and computed") {
  if (!have_big_device()) return;
  for (const Shape& shape : shapes) {
    INFO(shape.to_string());
    const Tensor x = with_tail(shape, kTail);
    check_elements(
        "clone", x, [](const Tensor& v) { return v.clone(); }, [](double v) { return v; });
    check_elements(
        "cast", x, [](const Tensor& v) { return v.to(kFloat16); }, [](double v) { return v; });
    check_elements(
        "x + 1", x, [](const Tensor& v) { return v + 1; }, [](double v) { return v + 1; });
    check_elements(
        "x * x", x, [](const Tensor& v) { return v * v; }, [](double v) { return v * v; });
    const Tensor row = full({shape[1]}, 2, {.dtype = kFloat32, .device = x.device()});
    check_elements(
        "x + row", x, [&](const Tensor& v) { return v + row; }, [](double v) { return v + 2; });
    check_elements(
        "x > 0", x, [](const Tensor& v) { return v > 0; }, [](double v) { return v > 0; });
    check_elements(
        "fill", x, [&](const Tensor&) { return blank(shape).fill_(5); }, [](double) { return 5; });
    check_elements(
        "fill of a view with gaps", x,
        [&](const Tensor&) {
          Tensor y = blank(shape);
          y.narrow(1, 0, shape[1] - 1).fill_(5);
          return y;
        },
        [](double) { return 5; });
    check_elements(
        "strided copy", x,
        [&](const Tensor& v) {
          Tensor y = blank(shape);
          y.narrow(1, 0, shape[1] - 1).copy_(v.narrow(1, 0, shape[1] - 1));
          return y;
        },
        [](double v) { return v; });
    check_elements(
        "strided cast", x,
        [&](const Tensor& v) {
          Tensor y = blank(shape, kFloat64);
          y.narrow(1, 0, shape[1] - 1).copy_(v.narrow(1, 0, shape[1] - 1));
          return y;
        },
        [](double v) { return v; });
    manual_seed(1);
    check_elements(
        "dropout of nothing", x, [](const Tensor& v) { return dropout(v, 0.0); }, [](double v) { return v; });
  }
}

TEST_CASE("pitfall 1: a transposed copy of 2^31 elements") {
  if (!have_big_device()) return;
  const int64_t R = 131072, C = 16384;
  const Tensor x = with_tail({R, C}, 32 * C);
  const OnlyBlocks few({0, -1});
  const Tensor y = x.t().contiguous();
  // the last tile: the last rows of x, the last columns of y
  const std::vector<double> last = y.narrow(0, C - 4, 4).narrow(1, R - 32, 32).cpu().to_vector<double>();
  for (int64_t c = 0; c < 4; ++c)
    for (int64_t r = 0; r < 32; ++r)
      CHECK(last[static_cast<size_t>(c * 32 + r)] == tail_value((R - 32 + r) * C + C - 4 + c));
}

TEST_CASE("pitfall 1: random numbers past 2^31 are those of their index") {
  if (!have_big_device()) return;
  const int64_t n = k2G + 4099;
  Generator generator(big_device());
  generator.manual_seed(5);
  const OnlyBlocks few({0, -1});
  const Tensor whole = rand({n}, {.device = big_device()}, generator);
  int64_t written = 0, outside = 0;
  std::vector<double> tail = piece(whole, n - kTail, kTail);
  for (const double v : tail) {
    written += v != 0;
    outside += !(v >= 0 && v < 1);
  }
  CHECK(outside == 0);
  CHECK(written > 100);
  // not those of the index modulo 2^31 or 2^32
  const std::vector<double> head = piece(whole, 0, 1 << 20);
  int64_t equal = 0;
  for (int64_t i = k2G; i < n; ++i)
    equal += tail[static_cast<size_t>(i - (n - kTail))] != 0 &&
             tail[static_cast<size_t>(i - (n - kTail))] == head[static_cast<size_t>(i - k2G)];
  CHECK(equal < 10);
}
