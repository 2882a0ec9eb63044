#include <tantu/tests/ops/compare.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tantu::optest {

namespace {

// The value a dtype would hold: overflow to infinity, wrap-around of integers.
double representable(double v, DType t) {
  switch (t) {
    case kBool: return v != 0;
    case kUInt8: return std::isfinite(v) ? static_cast<double>(static_cast<uint8_t>(static_cast<int64_t>(v))) : v;
    case kInt32: return std::isfinite(v) ? static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(v))) : v;
    case kInt64: return v;
    case kFloat16:
      return std::isinf(static_cast<float>(float16(static_cast<float>(v)))) ? std::copysign(INFINITY, v) : v;
    case kBFloat16:
      return std::isinf(static_cast<float>(bfloat16(static_cast<float>(v)))) ? std::copysign(INFINITY, v) : v;
    case kFloat32: return std::isinf(static_cast<float>(v)) ? std::copysign(INFINITY, v) : v;
    case kFloat64: return v;
  }
  return v;
}

bool close(double want, double got, double tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::fabs(got - want) <= tolerance * std::max(1.0, std::fabs(want));
}

std::string position(int64_t i, const Shape& sizes) {
  Dims index = sizes;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    index[d] = i % sizes[d];
    i /= sizes[d];
  }
  return index.to_string();
}

}  // namespace

std::string difference(const Array& want, const Tensor& got, double tolerance) {
  if (!got.defined()) return "got an undefined tensor";
  if (!(want.sizes == got.sizes())) return fmt::format("shape {} instead of {}", got.sizes(), want.sizes);
  const std::vector<double> values = got.to_vector<double>();
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double w = representable(want[i], got.dtype()), g = values[static_cast<size_t>(i)];
    if (close(w, g, tolerance)) continue;
    if (wrong++ == 0)
      first = fmt::format("at {}: {:.17g} instead of {:.17g} (off by {:.3g}, allowed {:.3g})", position(i, want.sizes),
                          g, w, std::fabs(g - w), tolerance * std::max(1.0, std::fabs(w)));
  }
  return wrong == 0 ? "" : fmt::format("{} ({} of {} elements differ)", first, wrong, want.numel());
}

std::string difference(const Tensor& want, const Tensor& got, double tolerance) {
  if (!want.defined() || !got.defined()) return want.defined() == got.defined() ? "" : "one of the two is undefined";
  if (want.dtype() != got.dtype()) return fmt::format("dtype {} instead of {}", got.dtype(), want.dtype());
  return difference(to_array(want), got, tolerance);
}

}  // namespace tantu::optest
