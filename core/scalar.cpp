#include <tantu/core/scalar.h>

#include <cmath>
#include <limits>

namespace tantu {

namespace {

template <class T>
bool holds(int64_t v) {
  if constexpr (std::is_same_v<T, uint8_t>) return v >= -255 && v <= 255;
  else return v >= std::numeric_limits<T>::min() && v <= std::numeric_limits<T>::max();
}

template <class T>
bool holds(double v) {  // the largest int64 as a double is one too large: the second bound is exact
  using Limits = std::numeric_limits<T>;
  return v >= static_cast<double>(Limits::min()) && v <= static_cast<double>(Limits::max()) &&
         v < std::ldexp(1.0, Limits::digits);
}

double largest(DType t) {
  switch (t) {
    case DType::Float16: return 65504;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

template <class V>
bool fits(V v, DType t) {
  switch (t) {
    case DType::Bool: return true;
    case DType::UInt8: return holds<uint8_t>(v);
    case DType::Int32: return holds<int32_t>(v);
    case DType::Int64: return holds<int64_t>(v);
    default: return !std::isfinite(static_cast<double>(v)) || std::abs(static_cast<double>(v)) <= largest(t);
  }
}

}  // namespace

Scalar Scalar::checked(const char* op, DType t) const {
  TANTU_CHECK(is_floating() ? fits(float_, t) : fits(int_, t), ValueError,
              "{}: value cannot be converted to type {} without overflow: {}", op, t,
              is_floating() ? fmt::format("{}", float_) : fmt::format("{}", int_));
  return *this;
}

}  // namespace tantu
