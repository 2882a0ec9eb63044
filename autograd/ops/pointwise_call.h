#pragma once

#include <tantu/core/tensor.h>
#include <tantu/kernels/pointwise.h>

#include <array>

/// What happens to the operands of a pointwise row before its kernel runs.
namespace tantu::pointwise {

inline constexpr int kMaxArity = 3;

/// The type a row computes in: float64 for itself, float32 for the other floating types, int64 for integers and bool.
constexpr DType compute_type(DType t) {
  return t == kFloat64 ? kFloat64 : is_floating(t) ? kFloat32 : kInt64;
}

/// ValueError for parameters that the row does not take, whatever its operands.
void check_params(Row row, const Params& params);

/// The operands as views of one shape on one device, and the dtypes the row computes in and gives.
struct Call {
  Shape shape;
  Device device;
  DType dtype;    ///< of the promoted operands
  DType compute;  ///< compute_type(dtype)
  ConstView views[kMaxArity];

  /// Numbers, and 0-dim CPU tensors among those of another device, become views of host memory. With `out_shape` the
  /// result must have that shape. ShapeError, DTypeError, DeviceError, ValueError as autograd/ops/pointwise.h says.
  Call(Row row, const Operand* operands, const Params& params, const Shape* out_shape = nullptr);
  /// The operands of a write to `y`. An operand that shares memory with it otherwise than element by element is copied;
  /// where both are dense ShapeError, as PyTorch's.
  Call(Row row, const Tensor& y, const Operand* operands, const Params& params);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// y = row(operands).
  void launch(Row row, Tensor& y, const Params& params) const;

 private:
  void prepare(Row row, const Operand* operands, const Params& params, const Shape* out_shape);
  void set_view(int i, const Operand& o);
  void set_number(int i, Scalar number);

  double numbers_[kMaxArity];
  int64_t integers_[kMaxArity];
  std::array<Tensor, kMaxArity> kept_;  // operands that had to become other tensors
};

/// The commonest call: float32 or float64, row-major CPU tensors of one shape and one dtype. Needs no views.
bool is_plain(const RowInfo& of, const Operand* operands);
/// y = row(operands) for such; y is like them (bool for a kToBool row).
void launch_plain(Row row, const Operand* operands, Tensor& y, const Params& params);

}  // namespace tantu::pointwise
