#pragma once

#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/dispatch.h>
#include <tantu/tests/gpu/gpu_devices.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

/// Helpers of the tests of kernels that work along lines: reductions, softmax, scans, sorting.
namespace tantu::linetest {

/// Uniform numbers on the CPU, whole ones for integers.
inline Tensor draw(const Shape& shape, DType dtype, double low, double high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(low, high);
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (double& x : v) x = is_integral(dtype) ? std::floor(value(random)) : value(random);
  const Tensor flat = v.empty() ? empty({0}, {.dtype = kFloat64}) : tensor(v, {.dtype = kFloat64});
  return flat.to(dtype).view(shape);
}

/// "" or the first element of `got` further than tolerance * max(1, |want|) from `want`; NaN equals NaN only.
inline std::string difference(const Tensor& want, const Tensor& got, double tolerance) {
  if (!(want.sizes() == got.sizes())) return fmt::format("shape {} instead of {}", got.sizes(), want.sizes());
  const std::vector<double> w = want.cpu().to_vector<double>(), g = got.cpu().to_vector<double>();
  for (size_t i = 0; i < w.size(); ++i) {
    const bool special = !std::isfinite(w[i]) || !std::isfinite(g[i]);
    const bool same = special ? (std::isnan(w[i]) ? std::isnan(g[i]) : w[i] == g[i])
                              : std::fabs(g[i] - w[i]) <= tolerance * std::max(1.0, std::fabs(w[i]));
    if (!same) return fmt::format("element {}: {:.17g} instead of {:.17g}", i, g[i], w[i]);
  }
  return "";
}

/// Whether two tensors hold the same bytes in row-major order.
inline bool same_bits(const Tensor& x, const Tensor& y) {
  const Tensor a = x.cpu().contiguous(), b = y.cpu().contiguous();
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         (a.numel() == 0 ||
          std::memcmp(a.data_ptr(), b.data_ptr(), static_cast<size_t>(a.numel() * a.element_size())) == 0);
}

/// Allowed errors relative to max(1, |value|): of a tree of n float32 or float64 sums, and the last rounding.
inline double sum_tolerance(DType t, double n) {
  const double once = t == kFloat16 ? 0x1p-11 : t == kBFloat16 ? 0x1p-8 : 0;
  return once + (t == kFloat64 ? 0x1p-52 : 0x1p-23) * (8 + 2 * std::sqrt(n));
}

}  // namespace tantu::linetest
