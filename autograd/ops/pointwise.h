#pragma once

#include <tantu/core/tensor.h>
#include <tantu/kernels/pointwise_params.h>

#include <string_view>

/// The pointwise operations: one pair of functions per row of kernels/pointwise.def, the second in place (`exp`,
/// `exp_`), and the functions below, which choose among rows. Operands broadcast and promote as PyTorch's do; numbers
/// do not widen a tensor of their kind. Results are fresh, row-major tensors (bool for comparisons); gradients of every
/// order where the row has a derivative. ShapeError; DTypeError (an operand the row does not take, an in-place result
/// that does not fit its tensor); DeviceError as everywhere; ValueError for an integer division by zero.
namespace tantu {

#define TANTU_UNARY(name, PARAMS, ...)                                          \
  Tensor name(const Operand& a, TANTU_DECLARE_##PARAMS Site at = Site::here()); \
  Tensor& name##_(Tensor& a, TANTU_DECLARE_##PARAMS Site at = Site::here());
#define TANTU_BINARY(name, PARAMS, ...)                                                           \
  Tensor name(const Operand& a, const Operand& b, TANTU_DECLARE_##PARAMS Site at = Site::here()); \
  Tensor& name##_(Tensor& a, const Operand& b, TANTU_DECLARE_##PARAMS Site at = Site::here());
#define TANTU_TERNARY(name, PARAMS, ...)                                                                            \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, TANTU_DECLARE_##PARAMS Site at = Site::here()); \
  Tensor& name##_(Tensor& a, const Operand& b, const Operand& c, TANTU_DECLARE_##PARAMS Site at = Site::here());
#define TANTU_UNARY_OF(...)
#define TANTU_BINARY_OF(...)
#define TANTU_TERNARY_OF(...)
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY

/// The dtype PyTorch gives a result of these operands: tensors with dimensions decide over 0-dim tensors, these over
/// numbers, unless the lower one is of a higher kind (bool < integer < floating).
DType result_type(std::initializer_list<const Operand*> operands);

/// a where the condition (bool, or uint8 as bool) holds, else b; broadcast. DTypeError for any other condition.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b, Site at = Site::here());

/// a / b; integers become float32.
Tensor div(const Operand& a, const Operand& b, Site at = Site::here());
/// In place.
Tensor& div_(Tensor& a, const Operand& b, Site at = Site::here());
/// a / b rounded to a whole number: "trunc" towards zero, "floor" down; integers stay integers. ValueError for another
/// mode.
Tensor div(const Operand& a, const Operand& b, std::string_view rounding_mode, Site at = Site::here());
/// In place.
Tensor& div_(Tensor& a, const Operand& b, std::string_view rounding_mode, Site at = Site::here());

/// a to the power of the exponent; each a tensor or a number. Integers stay integers: with a negative exponent that is
/// a number ValueError; with negative exponents in a tensor the quotient's whole part.
Tensor pow(const Operand& a, const Operand& exponent, Site at = Site::here());
/// In place.
Tensor& pow_(Tensor& a, const Operand& exponent, Site at = Site::here());
/// a².
Tensor square(const Operand& a, Site at = Site::here());
/// In place.
Tensor& square_(Tensor& a, Site at = Site::here());

/// x held between the bounds that are given; NaN stays, and max wins where min > max. Integers stay integers if the
/// bounds are whole, else they become float32. The gradient is zero at a bound and outside. ValueError without any
/// bound.
Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max, Site at = Site::here());
/// In place.
Tensor& clamp_(Tensor& x, std::optional<double> min, std::optional<double> max, Site at = Site::here());
/// The same with bounds that are tensors (undefined: none); they get gradients too, and share them with x at a tie.
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max = {}, Site at = Site::here());

/// x times the probability that a standard normal number is below x; with "tanh" the usual approximation of it.
/// ValueError unless approximate is "none" or "tanh".
Tensor gelu(const Tensor& x, std::string_view approximate = "none", Site at = Site::here());
/// x held between 0 and 6.
Tensor relu6(const Tensor& x, Site at = Site::here());
/// In place.
Tensor& relu6_(Tensor& x, Site at = Site::here());

/// The complement of an integer's bits; of bool, logical_not.
Tensor bitwise_not(const Tensor& a, Site at = Site::here());

inline Tensor operator+(const Operand& a, const Operand& b) {
  return add(a, b, 1, a.site());
}
inline Tensor operator-(const Operand& a, const Operand& b) {
  return sub(a, b, 1, a.site());
}
inline Tensor operator*(const Operand& a, const Operand& b) {
  return mul(a, b, a.site());
}
inline Tensor operator/(const Operand& a, const Operand& b) {
  return div(a, b, a.site());
}
inline Tensor operator-(const Operand& a) {
  return neg(a, a.site());
}
inline Tensor operator==(const Operand& a, const Operand& b) {
  return eq(a, b, a.site());
}
inline Tensor operator!=(const Operand& a, const Operand& b) {
  return ne(a, b, a.site());
}
inline Tensor operator<(const Operand& a, const Operand& b) {
  return lt(a, b, a.site());
}
inline Tensor operator<=(const Operand& a, const Operand& b) {
  return le(a, b, a.site());
}
inline Tensor operator>(const Operand& a, const Operand& b) {
  return gt(a, b, a.site());
}
inline Tensor operator>=(const Operand& a, const Operand& b) {
  return ge(a, b, a.site());
}
// Of masks and integers. They bind tighter than comparisons: write (x > 0) & (x < 1).
inline Tensor operator&(const Operand& a, const Operand& b) {
  return bitwise_and(a, b, a.site());
}
inline Tensor operator|(const Operand& a, const Operand& b) {
  return bitwise_or(a, b, a.site());
}
inline Tensor operator^(const Operand& a, const Operand& b) {
  return bitwise_xor(a, b, a.site());
}
inline Tensor operator~(const Operand& a) {
  return bitwise_not(a.tensor(), a.site());
}

}  // namespace tantu
