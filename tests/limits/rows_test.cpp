#include <tantu/tests/limits/limits_common.h>

#include <tantu/autograd/autograd.h>
#include <tantu/core/matmul_options.h>

// Kernels that walk rows, where the last row lies past 2^31 elements, and rows of nearly 2^31.
using namespace tantu;
using namespace tantu::limits;

namespace {

std::vector<double> last_row(const Tensor& y) {
  return y.narrow(0, y.size(0) - 1, 1).cpu().to_vector<double>();
}

void check_close(const std::vector<double>& want, const std::vector<double>& got, double tolerance) {
  REQUIRE(want.size() == got.size());
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(got[i] - want[i]) / std::max(1.0, std::abs(want[i]));
    worst = error <= worst ? worst : error;
  }
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE("pitfall 1: rows past 2^31 elements are reduced and normalized") {
  if (!have_big_device()) return;
  for (const Shape& shape : {Shape{131072, 16384}, Shape{175000, 12288}, Shape{4194305, 512}}) {
    INFO(shape.to_string());
    const int64_t R = shape[0], C = shape[1];
    const Tensor x = with_tail(shape, C);
    const Tensor row = x.narrow(0, R - 1, 1).cpu().to(kFloat64);
    const OnlyBlocks few(owners(R - 1));
    const auto check = [&](const char* name, const Tensor& got, const Tensor& want, double tolerance) {
      INFO(name);
      check_close(want.to_vector<double>(), last_row(got), tolerance);
    };
    check("sum", sum(x, 1), sum(row, 1), 1e-6);
    check("amax", amax(x, 1), amax(row, 1), 0);
    check("argmax", argmax(x, 1), argmax(row, 1), 0);
    check("var", var(x, 1), var(row, 1), 1e-6);
    check("norm", norm(x, 2, 1), norm(row, 2, 1), 1e-6);
    check("logsumexp", logsumexp(x, 1), logsumexp(row, 1), 1e-6);
    check("cumsum", cumsum(x, 1), cumsum(row, 1), 1e-6);
    check("softmax", softmax(x, 1), softmax(row, 1), 1e-6);
    check("layer_norm", layer_norm(x, {C}), layer_norm(row, {C}), 1e-5);
    const Tensor target = zeros({R}, {.dtype = kInt64, .device = x.device()}), zero = zeros({1}, {.dtype = kInt64});
    check("cross_entropy", cross_entropy(x, target, {.reduction = "none"}),
          cross_entropy(row, zero, {.reduction = "none"}), 1e-6);
    Tensor v = x.view(shape), w = row.clone();
    v.requires_grad_();
    w.requires_grad_();
    const Tensor up = with_tail({R}, 1);
    const Tensor up_row = up.narrow(0, R - 1, 1).cpu().to(kFloat64);
    check("softmax's gradient", grad({softmax(v, 1)}, {v}, {x})[0], grad({softmax(w, 1)}, {w}, {row})[0], 1e-4);
    check("layer_norm's gradient", grad({layer_norm(v, {C})}, {v}, {x})[0], grad({layer_norm(w, {C})}, {w}, {row})[0],
          1e-3);
    check("cross_entropy's gradient", grad({cross_entropy(v, target, {.reduction = "none"})}, {v}, {up})[0],
          grad({cross_entropy(w, zero, {.reduction = "none"})}, {w}, {up_row})[0], 1e-5);
  }
}

TEST_CASE("pitfall 1: a product whose factor has 2^31 elements") {
  if (!have_big_device()) return;
  const int64_t M = 131073, K = 16384, N = 3;
  const Tensor a = with_tail({M, K}, K), b = with_tail({K, N}, K * N);
  const Tensor want = matmul(a.narrow(0, M - 1, 1).cpu().to(kFloat64), b.cpu().to(kFloat64));
  set_matmul_backend("tantu");
  {
    const OnlyBlocks few({-1});
    check_close(want.to_vector<double>(), last_row(matmul(a, b)), 1e-5);
  }
  set_matmul_backend("cublas");
}

TEST_CASE("pitfall 2: one row of 2^31 - 1 elements is walked to its end and not beyond") {
  if (!have_big_device()) return;
  const int64_t n = k2G - 1;
  Tensor x = blank({n}, kUInt8);
  for (const int64_t at : {int64_t{0}, n - 1}) x.narrow(0, at, 1).fill_(at == n - 1 ? 3 : 1);
  // The row's first and last pieces; those in between leave zeros, as zeros would.
  const OnlyBlocks few({0, -1});
  CHECK(sum(x).item<int64_t>() == 4);
  CHECK(argmax(x).item<int64_t>() == n - 1);
  CHECK(amax(x).item<int64_t>() == 3);
  CHECK(nonzero(x).to_vector<int64_t>() == std::vector<int64_t>{0, n - 1});
}

TEST_CASE("pitfall 3: rows 239673 and 239674 of a table of 262144 by 8960") {
  if (!have_big_device()) return;
  const int64_t rows = 262144, width = 8960;
  Tensor table = blank({rows, width});
  const std::vector<int64_t> wanted{239673, 239674, 0, rows - 1};
  for (size_t i = 0; i < wanted.size(); ++i) table.narrow(0, wanted[i], 1).fill_(static_cast<double>(i + 1));
  const Tensor at = tensor(wanted, {.device = table.device()});
  std::vector<double> want;
  for (size_t i = 0; i < wanted.size(); ++i)
    want.insert(want.end(), static_cast<size_t>(width), static_cast<double>(i + 1));
  CHECK(index_select(table, 0, at).to_vector<double>() == want);
  CHECK(embedding(at, table).to_vector<double>() == want);
  CHECK(index(table, {at}).to_vector<double>() == want);
  CHECK(gather(table, 0, at.unsqueeze(1).expand({4, width})).to_vector<double>() == want);
  CHECK(index_select(table.narrow(1, 1, width - 2), 0, at).narrow(1, 0, 1).to_vector<double>() ==
        std::vector<double>{1, 2, 3, 4});

  const Tensor values = full({4, width}, 10, {.dtype = kFloat32, .device = table.device()});
  index_add_(table, 0, at, values);
  for (double& v : want) v += 10;
  CHECK(index_select(table, 0, at).to_vector<double>() == want);
  scatter_add_(table, 0, at.unsqueeze(1).expand({4, width}), values);
  for (double& v : want) v += 10;
  CHECK(index_select(table, 0, at).to_vector<double>() == want);
  CHECK(table.narrow(0, 239672, 1).to_vector<double>() == std::vector<double>(static_cast<size_t>(width), 0));
  CHECK(table.narrow(0, 239675, 1).to_vector<double>() == std::vector<double>(static_cast<size_t>(width), 0));
}
