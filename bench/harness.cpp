#include <tantu/bench/row.h>

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/ops.h>

#include <cmath>
#include <limits>

namespace bench {

using namespace tantu;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Tensor> in_float64(const std::vector<Tensor>& in) {
  std::vector<Tensor> wide;
  for (const Tensor& t : in) wide.push_back(is_floating(t.dtype()) ? t.to(kFloat64) : t);
  return wide;
}

// Of the finite values; 1 if all are 0.
double root_mean_square(const std::vector<double>& x) {
  double sum = 0, count = 0;
  for (double value : x)
    if (std::isfinite(value)) sum += value * value, ++count;
  return sum > 0 ? std::sqrt(sum / count) : 1;
}

std::string size_text(int64_t n) {
  if (n >= (1 << 20) && n % (1 << 20) == 0) return fmt::format("{}Mi", n >> 20);
  if (n >= 1024 && n % 1024 == 0) return fmt::format("{}Ki", n >> 10);
  return std::to_string(n);
}

}  // namespace

std::string short_name(DType dtype) {
  if (dtype == kFloat32) return "f32";
  if (dtype == kFloat16) return "f16";
  if (dtype == kBFloat16) return "bf16";
  return std::string(name(dtype));
}

std::string name_of(const Row& row, int64_t n, Device device) {
  return fmt::format("{}/{}/{}/{}/{}", row.name, short_name(row.dtype), size_text(n), name(device.type()),
                     device.type() == DeviceType::VGPU ? "emulation" : "hot");
}

std::vector<int64_t> sizes_on(const Row& row, Device device) {
  if (device.is_cpu()) return row.sizes;
  if (device.type() == DeviceType::VGPU) return {row.sizes.front()};
  if (!row.gpu_sizes.empty()) return row.gpu_sizes;
  int64_t n = row.sizes.back();
  while (row.bytes(n) < 512.0 * (1 << 20)) n *= 2;
  return {row.sizes.front(), n};
}

double max_error(const Row& row, Device device) {
  NoGradGuard no_grad;
  manual_seed(20261130);
  const std::vector<Tensor> in = row.inputs(row.sizes.front(), {.dtype = row.dtype});
  const std::vector<Tensor> wide = in_float64(in);  // before the call: steps of optimisers write to their inputs
  std::vector<Tensor> there;
  for (const Tensor& t : in) there.push_back(t.to(device));
  const std::vector<double> got = row.call(there).to(kCPU).to_vector<double>(),
                            want = row.call(wide).to_vector<double>();
  if (got.size() != want.size()) return kInfinity;
  const double usual = root_mean_square(want);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (got[i] == want[i]) continue;
    const double error = std::fabs(got[i] - want[i]) / std::max(usual, std::fabs(want[i]));
    if (!(error <= worst)) worst = std::isnan(error) ? kInfinity : error;
  }
  return worst;
}

// A half type computes in float32 and rounds once: that rounding is all it adds.
double tolerance(const Row& row) {
  const double rounded_once = row.dtype == kFloat16 ? 0x1p-11 : row.dtype == kBFloat16 ? 0x1p-8 : 0;
  return rounded_once + 16 * row.growth * static_cast<double>(std::numeric_limits<float>::epsilon());
}

double error_at_size(const Row& row, const std::vector<Tensor>& in) {
  NoGradGuard no_grad;
  const std::vector<Tensor> wide = in_float64(in);
  const Tensor result = row.call(in);
  const Tensor want = row.call(wide).to(result.device(), kFloat64), got = result.to(kFloat64);
  if (got.sizes() != want.sizes()) return kInfinity;
  const Tensor same = logical_or(got == want, logical_and(got.isnan(), want.isnan()));
  const Tensor error = (got - want).abs().masked_fill(same, 0);
  const double largest = want.abs().masked_fill(logical_not(want.isfinite()), 0).max().item<double>();
  const double scale = largest > 0 ? largest : 1, worst = error.max().item<double>() / scale;
  if (!row.jumps) return std::isnan(worst) ? kInfinity : worst;
  const double outside = logical_not(error <= tolerance(row) * scale).sum().item<double>();
  return outside <= static_cast<double>(error.numel()) * 1e-5 ? 0 : std::isnan(worst) ? kInfinity : worst;
}

}  // namespace bench
