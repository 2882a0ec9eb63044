#include <tantu/autograd/ops/pointwise.h>

#include <tantu/autograd/ops/pointwise_tape.h>

#include <cmath>

namespace tantu {

using pointwise::Row;

namespace {

Row rounding_row(std::string_view mode) {
  TANTU_CHECK(mode == "trunc" || mode == "floor", ValueError,
              "div: div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", mode);
  return mode == "trunc" ? Row::div_trunc : Row::floor_divide;
}

// The row for a^exponent, where the exponent is a number.
Row power_row(const Tensor& a, Scalar exponent) {
  const bool integers = is_integral(a.dtype()) && !exponent.is_floating();
  TANTU_CHECK(!integers || exponent.to_int64() >= 0, ValueError,
              "pow: Integers to negative integer powers are not allowed ({} ** {})", a.dtype(), exponent.to_int64());
  return exponent == 2 ? Row::square : Row::pow_number;
}

// bool and integers as PyTorch's promotion with the number leaves them.
DType promoted(const Tensor& a, bool whole_number) {
  if (is_floating(a.dtype())) return a.dtype();
  return !whole_number ? kFloat32 : a.dtype() == kBool ? kInt64 : a.dtype();
}
Tensor promote(const Tensor& a, DType dtype) {
  return a.dtype() == dtype ? a : a.to(dtype);
}

struct Bounds {
  double low, high;
  bool whole;

  Bounds(std::optional<double> min, std::optional<double> max)
      : low(min.value_or(-INFINITY)), high(max.value_or(INFINITY)) {
    TANTU_CHECK(min || max, ValueError, "clamp: At least one of 'min' or 'max' must not be None");
    whole = (!min || std::trunc(*min) == *min) && (!max || std::trunc(*max) == *max);
  }
  pointwise::Params params() const { return {{low, high}}; }
};

}  // namespace

Tensor where(const Tensor& condition, const Operand& a, const Operand& b, Site at) {
  TANTU_CHECK(condition.dtype() == kBool || condition.dtype() == kUInt8, DTypeError,
              "where: where expected condition to be a boolean tensor, but got a tensor with dtype {}",
              condition.dtype());
  if (condition.dtype() == kUInt8) return where(ne(condition, 0, at), a, b, at);
  const Operand operands[] = {condition, a, b};
  return pointwise::apply(Row::where, operands, {}, at);
}

Tensor div(const Operand& a, const Operand& b, Site at) {
  const Operand operands[] = {a, b};
  return pointwise::apply(Row::div, operands, {}, at);
}
Tensor& div_(Tensor& a, const Operand& b, Site at) {
  const Operand operands[] = {a, b};
  return pointwise::apply_(Row::div, a, operands, {}, at);
}
Tensor div(const Operand& a, const Operand& b, std::string_view rounding_mode, Site at) {
  const Operand operands[] = {a, b};
  return pointwise::apply(rounding_row(rounding_mode), operands, {}, at);
}
Tensor& div_(Tensor& a, const Operand& b, std::string_view rounding_mode, Site at) {
  const Operand operands[] = {a, b};
  return pointwise::apply_(rounding_row(rounding_mode), a, operands, {}, at);
}

Tensor pow(const Operand& a, const Operand& exponent, Site at) {
  if (exponent.is_tensor() || !a.is_tensor()) {
    const Operand operands[] = {a, exponent};
    return pointwise::apply(Row::pow_tensor, operands, {}, at);
  }
  const Row row = power_row(a.tensor(), exponent.scalar());
  const Tensor base = promote(a.tensor(), promoted(a.tensor(), !exponent.scalar().is_floating()));
  const Operand operand(base);
  return pointwise::apply(row, &operand, {{exponent.scalar().to_double()}}, at);
}
Tensor& pow_(Tensor& a, const Operand& exponent, Site at) {
  if (exponent.is_tensor() || promoted(a, !exponent.scalar().is_floating()) != a.dtype()) {
    const Operand operands[] = {a, exponent};
    return pointwise::apply_(Row::pow_tensor, a, operands, {}, at);
  }
  const Operand operand(a);
  return pointwise::apply_(power_row(a, exponent.scalar()), a, &operand, {{exponent.scalar().to_double()}}, at);
}
Tensor square(const Operand& a, Site at) {
  return pow(a, 2, at);
}
Tensor& square_(Tensor& a, Site at) {
  return pow_(a, 2, at);
}

Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max, Site at) {
  const Bounds bounds(min, max);
  const Tensor y = promote(x, promoted(x, bounds.whole));
  const Operand operand(y);
  return pointwise::apply(Row::clamp, &operand, bounds.params(), at);
}
Tensor& clamp_(Tensor& x, std::optional<double> min, std::optional<double> max, Site at) {
  const Bounds bounds(min, max);
  const DType result = promoted(x, bounds.whole);
  TANTU_CHECK(result == x.dtype(), DTypeError, "clamp_: result type {} can't be cast to the desired output type {}",
              result, x.dtype());
  const Operand operand(x);
  return pointwise::apply_(Row::clamp, x, &operand, bounds.params(), at);
}
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max, Site at) {
  TANTU_CHECK(min.defined() || max.defined(), ValueError, "clamp: At least one of 'min' or 'max' must not be None");
  if (!max.defined()) return maximum(x, min, at);
  if (!min.defined()) return minimum(x, max, at);
  const Operand operands[] = {x, min, max};
  return pointwise::apply(Row::clamp_tensors, operands, {}, at);
}

Tensor gelu(const Tensor& x, std::string_view approximate, Site at) {
  TANTU_CHECK(approximate == "none" || approximate == "tanh", ValueError,
              "gelu: approximate argument must be either none or tanh, not '{}'", approximate);
  const Operand operand(x);
  return pointwise::apply(approximate == "tanh" ? Row::gelu_tanh : Row::gelu_none, &operand, {}, at);
}
Tensor relu6(const Tensor& x, Site at) {
  return hardtanh(x, 0, 6, at);
}
Tensor& relu6_(Tensor& x, Site at) {
  return hardtanh_(x, 0, 6, at);
}

Tensor bitwise_not(const Tensor& a, Site at) {
  if (a.dtype() == kBool) return logical_not(a, at);
  const Operand operand(a);
  return pointwise::apply(Row::bitwise_not, &operand, {}, at);
}

}  // namespace tantu
