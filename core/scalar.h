#pragma once

#include <tantu/core/dtype.h>

#include <cstdint>

namespace tantu {

/// A number handed to an operation: it keeps whether it was a bool, an integer or a floating value, since promotion
/// asks.
class Scalar {
 public:
  constexpr Scalar(double v) : kind_(Kind::Float), float_(v) {}
  constexpr Scalar(float v) : Scalar(static_cast<double>(v)) {}
  constexpr Scalar(bool v) : kind_(Kind::Bool), int_(v) {}
  constexpr Scalar(int v) : kind_(Kind::Int), int_(v) {}
  constexpr Scalar(long v) : kind_(Kind::Int), int_(v) {}
  constexpr Scalar(long long v) : kind_(Kind::Int), int_(v) {}
  constexpr Scalar(unsigned v) : kind_(Kind::Int), int_(v) {}
  constexpr Scalar(unsigned long v) : kind_(Kind::Int), int_(static_cast<int64_t>(v)) {}

  constexpr bool is_floating() const { return kind_ == Kind::Float; }
  constexpr bool is_bool() const { return kind_ == Kind::Bool; }
  /// The dtype a tensor of this number gets: float32, int64 or bool.
  constexpr DType dtype() const { return is_floating() ? kFloat32 : is_bool() ? kBool : kInt64; }
  constexpr double to_double() const { return is_floating() ? float_ : static_cast<double>(int_); }
  constexpr int64_t to_int64() const { return is_floating() ? static_cast<int64_t>(float_) : int_; }
  /// This number, if `t` can hold it by PyTorch's rule for numbers given to tensors; else ValueError "op: value cannot
  /// be converted to type uint8 without overflow: 300". Infinities and NaN fit floating types only, everything fits
  /// bool, and a negative integer (not below -255) fits uint8 as its two's complement.
  TANTU_API Scalar checked(const char* op, DType t) const;
  constexpr bool operator==(double v) const { return to_double() == v; }

 private:
  enum class Kind : uint8_t { Bool, Int, Float };
  Kind kind_;
  union {
    int64_t int_;
    double float_;
  };
};

}  // namespace tantu
