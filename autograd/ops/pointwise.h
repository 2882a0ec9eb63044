#pragma once

#include <tantu/core/tensor.h>
#include <tantu/kernels/pointwise_params.h>

/// The pointwise operations: one pair of functions per row of kernels/pointwise.def, the second in place (`exp`, `exp_`).
/// Operands broadcast and promote as PyTorch's do; numbers do not widen a tensor of their kind. Results are fresh,
/// row-major tensors (bool for comparisons); gradients of every order where the row has a derivative.
/// ShapeError, DTypeError (an in-place result that does not fit its tensor), DeviceError as everywhere.
namespace tantu {

#define TANTU_UNARY(name, PARAMS, ...)                            \
  Tensor name(const Operand& a, TANTU_DECLARE_##PARAMS Site at = Site::here());   \
  Tensor& name##_(Tensor& a, TANTU_DECLARE_##PARAMS Site at = Site::here());
#define TANTU_BINARY(name, PARAMS, ...)                                              \
  Tensor name(const Operand& a, const Operand& b, TANTU_DECLARE_##PARAMS Site at = Site::here());    \
  Tensor& name##_(Tensor& a, const Operand& b, TANTU_DECLARE_##PARAMS Site at = Site::here());
#define TANTU_TERNARY(name, PARAMS, ...)                                                               \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, TANTU_DECLARE_##PARAMS Site at = Site::here());    \
  Tensor& name##_(Tensor& a, const Operand& b, const Operand& c, TANTU_DECLARE_##PARAMS Site at = Site::here());
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY

/// The dtype PyTorch gives a result of these operands: tensors with dimensions decide over 0-dim tensors, these over
/// numbers, unless the lower one is of a higher kind (bool < integer < floating).
DType result_type(std::initializer_list<const Operand*> operands);

/// a where the condition (bool) holds, else b; broadcast. DTypeError for a condition that is not bool.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b, Site at = Site::here());

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b, 1, a.site()); }
inline Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b, 1, a.site()); }
inline Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b, a.site()); }
inline Tensor operator/(const Operand& a, const Operand& b) { return div(a, b, a.site()); }
inline Tensor operator-(const Operand& a) { return neg(a, a.site()); }
inline Tensor operator==(const Operand& a, const Operand& b) { return eq(a, b, a.site()); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return ne(a, b, a.site()); }
inline Tensor operator<(const Operand& a, const Operand& b) { return lt(a, b, a.site()); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return le(a, b, a.site()); }
inline Tensor operator>(const Operand& a, const Operand& b) { return gt(a, b, a.site()); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return ge(a, b, a.site()); }

}  // namespace tantu
