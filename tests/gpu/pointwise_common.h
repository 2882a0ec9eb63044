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

namespace tantu::gputest {

/// "" if two tensors hold the same bits in the same places (any NaN is like any other), else the first difference.
inline std::string bit_difference(const Tensor& x, const Tensor& y) {
  if (!(x.sizes() == y.sizes()) || x.dtype() != y.dtype()) return "unequal shapes or dtypes";
  if (x.numel() == 0) return "";
  const bool integral = is_integral(x.dtype());
  const Tensor a = x.cpu().to(integral ? kInt64 : kFloat64).contiguous(), b = y.cpu().to(a.dtype()).contiguous();
  for (int64_t i = 0; i < a.numel(); ++i) {
    const char *p = static_cast<const char*>(a.data_ptr()) + 8 * i, *q = static_cast<const char*>(b.data_ptr()) + 8 * i;
    if (std::memcmp(p, q, 8) == 0) continue;
    double u = 0, v = 0;
    std::memcpy(&u, p, 8);
    std::memcpy(&v, q, 8);
    if (integral) return fmt::format("element {}", i);
    if (!(std::isnan(u) && std::isnan(v))) return fmt::format("element {}: {} and {}", i, u, v);
  }
  return "";
}

/// Uniform numbers on the CPU; whole ones for integer dtypes, none of them negative.
inline Tensor draw(const Shape& shape, DType dtype, double low, double high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(low, high);
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (double& x : v) x = is_integral(dtype) ? std::trunc(std::abs(value(random))) : value(random);
  const Tensor flat = v.empty() ? empty({0}, {.dtype = kFloat64}) : tensor(v, {.dtype = kFloat64});
  return flat.to(dtype).view(shape);
}

inline constexpr DType kEveryDtype[] = {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64};
inline constexpr DType kFloatingDtypes[] = {kFloat32, kFloat64, kFloat16, kBFloat16};

}  // namespace tantu::gputest
