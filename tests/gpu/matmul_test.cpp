#include <tantu/core/matmul_options.h>
#include <tantu/kernels/matmul.h>
#include <tantu/tests/gpu/pointwise_common.h>
#include <tantu/tests/ops/compare.h>

#include <cmath>

// Matrix products on a GPU by both backends, against sums in float64: every edge of the tiles, every layout, canaries
// around the result, NaN in a result that is not read.
using namespace tantu;
using namespace tantu::gputest;

namespace {

struct Chosen {
  explicit Chosen(std::string_view name) { set_matmul_backend(name); }
  ~Chosen() { set_matmul_backend("cublas"); }
};

enum LayoutOf { kRows, kColumns, kStepped, kShifted, kLayouts };

/// The (B, R, C) numbers of x on the GPU in one of four layouts; kShifted is a leading dimension that aligns nothing.
Tensor laid_out(const Tensor& x, Device gpu, int layout) {
  const int64_t B = x.size(0), R = x.size(1), C = x.size(2);
  Tensor y;
  if (layout == kRows) return x.to(gpu);
  if (layout == kColumns) y = empty({B, C, R}, {.dtype = x.dtype(), .device = gpu}).transpose(1, 2);
  else if (layout == kStepped) y = empty({B, R, C * 2}, {.dtype = x.dtype(), .device = gpu}).slice(2, 0, {}, 2);
  else y = empty({B, R, C + 3}, {.dtype = x.dtype(), .device = gpu}).narrow(2, 1, C);
  y.copy_(x.to(gpu));
  return y;
}

std::vector<long double> product(const Tensor& a, const Tensor& b, const Tensor& y, double alpha, double beta) {
  const int64_t B = a.size(0), M = a.size(1), K = a.size(2), N = b.size(2);
  const auto x = a.to(kFloat64).to_vector<double>(), w = b.to(kFloat64).to_vector<double>(),
             z = y.to(kFloat64).to_vector<double>();
  std::vector<long double> sum(static_cast<size_t>(B * M * N));  // beyond the float64 that is judged too
  for (int64_t i = 0; i < B; ++i)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t k = 0; k < K; ++k)
        for (int64_t n = 0; n < N; ++n)
          sum[static_cast<size_t>((i * M + m) * N + n)] +=
              static_cast<long double>(x[static_cast<size_t>((i * M + m) * K + k)]) *
              w[static_cast<size_t>((i * K + k) * N + n)];
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = alpha * sum[i] + (beta == 0 ? 0 : beta * z[i]);
  return sum;
}

double eps_of(DType dtype) {
  return dtype == kFloat64 ? 0x1p-52 : dtype == kFloat32 ? 0x1p-23 : dtype == kFloat16 ? 0x1p-10 : 0x1p-7;
}

/// Runs the kernel on a result that lies amid canaries; "" or what is wrong.
std::string trial(Device gpu, DType dtype, int64_t B, int64_t M, int64_t N, int64_t K, int la, int lb, double alpha,
                  double beta, unsigned seed) {
  constexpr int64_t kMargin = 16;
  const Tensor a = draw({B, M, K}, dtype, -1, 1, seed), b = draw({B, K, N}, dtype, -1, 1, seed + 1),
               y = draw({B, M, N}, dtype, -1, 1, seed + 2);
  const Tensor ga = laid_out(a, gpu, la), gb = laid_out(b, gpu, lb);
  Tensor whole = full({B * M * N + 2 * kMargin}, 77, {.dtype = dtype, .device = gpu});
  Tensor gy = whole.narrow(0, kMargin, B * M * N).view({B, M, N});
  if (beta == 0) gy.fill_(std::nan(""));
  else gy.copy_(y.to(gpu));
  on_device(gpu, "matmul", [&](auto& ctx) { matmul(ctx, ga.in(), gb.in(), gy.out(), alpha, beta); });
  const auto got = whole.cpu().to(kFloat64).to_vector<double>();
  const auto want = product(a, b, y, alpha, beta);
  for (int64_t i = 0; i < kMargin; ++i)
    if (got[static_cast<size_t>(i)] != 77 || got[got.size() - 1 - static_cast<size_t>(i)] != 77) return "canary";
  // A sum of K products of factors in [-1, 1] wanders to about sqrt(K) / 3, and rounds K times on its way.
  const double root = std::sqrt(static_cast<double>(K));
  const double sums = (dtype == kFloat64 ? 0x1p-52 : 0x1p-23) * 2 * (1 + root) * (1 + root / 3);
  for (size_t i = 0; i < want.size(); ++i) {
    const double value = got[i + kMargin], right = static_cast<double>(want[i]),
                 error = std::abs(static_cast<double>(value - want[i]));
    if (!(error <= sums + eps_of(dtype) * std::abs(right)))
      return fmt::format("element {}: {} for {}", i, value, right);
  }
  return "";
}

const int64_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 129};

}  // namespace

TEST_CASE("products of every edge size, layout and scale equal sums in float64") {
  int n = 0;
  for (const Device& gpu : gpu_devices())
    for (const char* backend : {"cublas", "tantu"}) {
      const Chosen chosen(backend);
      for (const DType dtype : kFloatingDtypes)
        for (const int64_t M : sizes)
          for (const int64_t N : sizes)
            for (const int64_t K : sizes) {
              ++n;
              // All triples of sizes in float32 by our own kernels; a fifth of them, another one each time, elsewhere.
              const bool all = dtype == kFloat32 && std::string_view(backend) == "tantu";
              if (!all && n % 5 != 0) continue;
              const int la = n % kLayouts, lb = n / kLayouts % kLayouts;
              const double alpha = n % 3 ? 1 : -0.5, beta = n % 7 < 4 ? 0 : n % 7 < 6 ? 1 : 0.25;
              INFO(backend << " " << name(dtype) << " M " << M << " N " << N << " K " << K << ", layouts " << la << " "
                           << lb << ", alpha " << alpha << " beta " << beta);
              CHECK(trial(gpu, dtype, 1, M, N, K, la, lb, alpha, beta, static_cast<unsigned>(n)) == "");
            }
    }
}

TEST_CASE("batches, repeated matrices and large tiles") {
  for (const Device& gpu : gpu_devices())
    for (const char* backend : {"cublas", "tantu"}) {
      const Chosen chosen(backend);
      for (const DType dtype : kFloatingDtypes)
        for (int layout = 0; layout < kLayouts; ++layout) {
          INFO(backend << " " << name(dtype) << " layout " << layout);
          CHECK(trial(gpu, dtype, 5, 17, 33, 20, layout, (layout + 1) % kLayouts, 1, 0, 5) == "");
          CHECK(trial(gpu, dtype, 3, 1, 40, 70, layout, layout, 1, 1, 6) == "");
          CHECK(trial(gpu, dtype, 3, 40, 1, 70, layout, layout, 2, 0, 7) == "");
          CHECK(trial(gpu, dtype, 2, 1, 1, 5000, layout, layout, 1, 0, 8) == "");
        }
      const Tensor a = draw({1, 9, 12}, kFloat32, -1, 1, 1), b = draw({4, 12, 10}, kFloat32, -1, 1, 2);
      const Tensor got = matmul(a.to(gpu).expand({4, 9, 12}), b.to(gpu)), want = matmul(a.expand({4, 9, 12}), b);
      CHECK(optest::difference(got.cpu(), want, 1e-5) == "");
      // 128 tiles of 128 by 128: the big kernel, whose last tiles are cut.
      CHECK(trial(gpu, kFloat32, 64, 130, 120, 19, kRows, kRows, 1, 0, 9) == "");
      CHECK(trial(gpu, kFloat32, 64, 120, 130, 10, kColumns, kColumns, 1, 0.5, 10) == "");
      CHECK(trial(gpu, kFloat32, 64, 127, 129, 9, kStepped, kShifted, 1, 0, 11) == "");
    }
}

TEST_CASE("our products repeat bit for bit, and small and large tiles agree") {
  const Chosen chosen("tantu");
  for (const Device& gpu : gpu_devices()) {
    const Tensor a = draw({65, 100, 37}, kFloat32, -1, 1, 1).to(gpu),
                 b = draw({65, 37, 90}, kFloat32, -1, 1, 2).to(gpu);
    const Tensor all = matmul(a, b);
    CHECK(bit_difference(matmul(a, b), all) == "");
    const Tensor many = matmul(a.repeat({2, 1, 1}), b.repeat({2, 1, 1}));  // 130 tiles of 128 by 128
    CHECK(bit_difference(many.narrow(0, 65, 65), all) == "");
  }
}

TEST_CASE("an unknown backend or precision is told with the choices") {
  CHECK(matmul_backend() == "cublas");
  CHECK_THROWS_WITH(set_matmul_backend("cutlass"), contains("there is no \"cutlass\"; choose \"cublas\" or \"tantu\""));
  CHECK_THROWS_WITH(set_float32_matmul_precision("low"), contains("choose \"highest\" or \"high\""));
  CHECK(get_float32_matmul_precision() == "highest");
}

TEST_CASE("TF32 is computed only when asked for, and by cuBLAS only") {
  for (const Device& gpu : gpu_devices()) {
    const Tensor a = full({32, 32}, 1 + 0x1p-20, {.device = gpu}), one = eye(32, {}, {.device = gpu});
    CHECK(matmul(a, one).cpu()[0][0].item<float>() == 1 + 0x1p-20f);
    set_float32_matmul_precision("high");
    const float cut = matmul(a, one).cpu()[0][0].item<float>();
    set_matmul_backend("tantu");
    const float own = matmul(a, one).cpu()[0][0].item<float>();
    set_matmul_backend("cublas");
    set_float32_matmul_precision("highest");
    CHECK(std::abs(cut - 1) <= 0x1p-10f);
    if (gpu.type() == DeviceType::VGPU) CHECK(cut == 1);
    CHECK(own == 1 + 0x1p-20f);
  }
}
