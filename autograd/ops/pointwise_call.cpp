#include <tantu/autograd/ops/pointwise_call.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/overlap.h>
#include <tantu/autograd/tape.h>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tantu {

namespace {

// A higher kind of number: bool < integer < floating.
int kind(DType t) {
  return is_floating(t) ? 2 : t == kBool ? 0 : 1;
}

DType combine(DType higher, bool has_higher, DType lower, bool has_lower) {
  if (!has_lower) return higher;
  if (!has_higher) return lower;
  return kind(lower) > kind(higher) ? lower : higher;
}

DType result_type_of(const Operand* operands, int count) {
  DType types[3] = {kBool, kBool, kBool};  // tensors with dimensions, 0-dim tensors, numbers
  bool has[3] = {};
  for (int i = 0; i < count; ++i) {
    const Operand& o = operands[i];
    const int priority = !o.is_tensor() ? 2 : o.tensor().dim() == 0 ? 1 : 0;
    const DType t = o.is_tensor() ? o.tensor().dtype() : o.scalar().dtype();
    types[priority] = has[priority] ? promote_types(types[priority], t) : t;
    has[priority] = true;
  }
  const DType tensors = combine(types[0], has[0], types[1], has[1]);
  return combine(tensors, has[0] || has[1], types[2], has[2]);
}

}  // namespace

DType result_type(std::initializer_list<const Operand*> operands) {
  std::vector<Operand> list;
  for (const Operand* o : operands) list.push_back(*o);
  return result_type_of(list.data(), static_cast<int>(list.size()));
}

namespace pointwise {

namespace {

constexpr const char* kNoMinus = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.";

void refuse_minus_of_bool(Row row, const RowInfo& of, const Operand* operands, DType dtype) {
  if (row == Row::neg)
    TANTU_CHECK(dtype != kBool, DTypeError, "neg: Negation, the `-` operator, on a bool tensor is not supported. {}",
                kNoMinus);
  if (row != Row::sub) return;
  TANTU_CHECK(
      dtype != kBool, DTypeError,
      "sub: Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
      "operator instead.");
  for (int i = 0; i < of.arity; ++i)
    TANTU_CHECK(!operands[i].is_tensor() || operands[i].tensor().dtype() != kBool, DTypeError,
                "sub: Subtraction, the `-` operator, with a bool tensor is not supported. {}", kNoMinus);
}

bool holds_integers(const Operand& o) {
  return is_integral(o.is_tensor() ? o.tensor().dtype() : o.scalar().dtype());
}

// The ends are of one floating dtype, and so is the weight unless it is a number or 0-dim.
void check_lerp(const Operand* operands) {
  constexpr const char* names[] = {"input", "end", "weight"};
  const auto type = [&](int i) { return operands[i].tensor().dtype(); };
  const int first = operands[0].is_tensor() ? 0 : 1;
  if (!operands[first].is_tensor()) return;
  TANTU_CHECK(is_floating(type(first)), DTypeError, "lerp: not implemented for {}", type(first));
  for (int i = 1; i < 3; ++i)
    TANTU_CHECK(!operands[i].is_tensor() || type(i) == type(first) || (i == 2 && operands[2].tensor().dim() == 0),
                DTypeError, "lerp: expected dtype {} for `{}` but got dtype {}", type(first), names[i], type(i));
}

// Throws for dtypes the row does not take. `dtype` is that of the promoted operands.
void check_dtype(Row row, const RowInfo& of, const Operand* operands, DType dtype, const Params& params) {
  refuse_minus_of_bool(row, of, operands, dtype);
  if (is_integral(dtype) && (row == Row::add || row == Row::sub))
    TANTU_CHECK(params.values[0] == std::trunc(params.values[0]), DTypeError,
                "{}: For integral input tensors, argument alpha must not be a floating point number, but it is {}",
                of.name, params.values[0]);
  const bool taken = !is_integral(dtype) ? takes_floats(of.rule)
                     : dtype == kBool    ? of.rule != kFloats && of.rule != kNumbers
                                         : of.rule != kFloats;
  TANTU_CHECK(taken, DTypeError, "{}: not implemented for {}", of.name, dtype);
  if (row == Row::lerp) check_lerp(operands);
  if (row == Row::addcdiv)
    TANTU_CHECK(!holds_integers(operands[1]) || !holds_integers(operands[2]), DTypeError,
                "addcdiv: Integer division with addcdiv is not supported; make one of the tensors floating");
}

// An integer as an element of a smaller integer type: it wraps, as PyTorch's do.
Scalar wrapped(Scalar s, DType t) {
  if (s.is_floating() || s.is_bool()) return s;
  if (t == kUInt8) return Scalar(static_cast<int64_t>(static_cast<uint8_t>(s.to_int64())));
  return t == kInt32 ? Scalar(static_cast<int64_t>(static_cast<int32_t>(s.to_int64()))) : s;
}

bool divides(Row row) {
  return row == Row::floor_divide || row == Row::div_trunc || row == Row::fmod || row == Row::remainder;
}

bool is_zero_dim_on_cpu(const Tensor& t) {
  return t.device().is_cpu() && t.dim() == 0;
}

// The device all tensors share; 0-dim CPU tensors count as numbers, as in PyTorch.
Device device_of(const RowInfo& of, const Operand* operands) {
  const Tensor* first = nullptr;
  for (int i = 0; i < of.arity; ++i) {
    if (!operands[i].is_tensor()) continue;
    const Tensor& t = operands[i].tensor();
    if (!first || (is_zero_dim_on_cpu(*first) && !is_zero_dim_on_cpu(t))) first = &t;
  }
  if (!first) return kCPU;
  bool same = true;
  for (int i = 0; i < of.arity; ++i)
    if (operands[i].is_tensor() && !is_zero_dim_on_cpu(operands[i].tensor()))
      same &= operands[i].tensor().device() == first->device();
  if (same) return first->device();
  static const Tensor none;
  const auto named = [&](int i) { return i < of.arity && operands[i].is_tensor() ? &operands[i].tensor() : &none; };
  return tape::common_device(of.name, {{"a", named(0)}, {"b", named(1)}, {"c", named(2)}});
}

Shape broadcast_all(const RowInfo& of, const Operand* operands) {
  Shape shape;
  bool first = true;
  for (int i = 0; i < of.arity; ++i) {
    if (!operands[i].is_tensor()) continue;
    const Shape& sizes = operands[i].tensor().sizes();
    if (first) shape = sizes;
    else if (!(shape == sizes)) shape = broadcast_shapes(of.name, shape, sizes);
    first = false;
  }
  return shape;
}

}  // namespace

void check_params(Row row, const Params& params) {
  if (row != Row::hardtanh) return;
  TANTU_CHECK(!(params.values[0] > params.values[1]), ValueError,
              "hardtanh: min_val cannot be greater than max_val, but they are {} and {}", params.values[0],
              params.values[1]);
}

Call::Call(Row row, const Operand* operands, const Params& params, const Shape* out_shape) {
  prepare(row, operands, params, out_shape);
}

Call::Call(Row row, const Tensor& y, const Operand* operands, const Params& params) {
  const RowInfo& of = info(row);
  for (int i = 1; i < of.arity; ++i)
    if (operands[i].is_tensor()) kept_[static_cast<size_t>(i)] = apart_from(of.in_place, y, operands[i].tensor());
  prepare(row, operands, params, &y.sizes());
  TANTU_CHECK(of.rule == kToBool || can_cast(dtype, y.dtype()), DTypeError,
              "{}: result type {} can't be cast to the desired output type {}", of.in_place, dtype, y.dtype());
}

void Call::prepare(Row row, const Operand* operands, const Params& params, const Shape* out_shape) {
  const RowInfo& of = info(row);
  device = device_of(of, operands);
  dtype = result_type_of(operands, of.arity);
  check_dtype(row, of, operands, dtype, params);
  if (of.rule == kToFloat && is_integral(dtype)) dtype = kFloat32;
  compute = compute_type(dtype);
  shape = broadcast_all(of, operands);
  if (out_shape && !(*out_shape == shape)) {
    const Shape all = broadcast_shapes(of.name, *out_shape, shape);
    TANTU_CHECK(all == *out_shape, ShapeError, "{}: output with shape {} doesn't match the broadcast shape {}",
                of.in_place, *out_shape, all);
    shape = *out_shape;
  }
  for (int i = 0; i < of.arity; ++i) {
    if (row == Row::where && !operands[i].is_tensor()) operands[i].scalar().checked("where", dtype);
    set_view(i, operands[i]);
  }
  if (divides(row) && is_integral(dtype) && device.is_cpu() && numel(shape) > 0)
    TANTU_CHECK(!has_zero(views[1]), ValueError, "{}: ZeroDivisionError", of.name);
}

void Call::set_view(int i, const Operand& o) {
  ConstView& v = views[i];
  Tensor& kept = kept_[static_cast<size_t>(i)];
  if (o.is_tensor() && !device.is_cpu() && is_zero_dim_on_cpu(o.tensor())) {
    set_number(i, o.tensor().item_scalar());
  } else if (o.is_tensor()) {
    const Tensor& t = o.tensor();
    const bool wraps = is_integral(dtype) && t.dtype() > dtype;  // a 0-dim tensor beside a smaller integer type
    if (!kept.defined() && (wraps || !(t.device() == device))) kept = t.detach().to(device, wraps ? dtype : t.dtype());
    v = kept.defined() ? std::as_const(kept).in() : t.in();
  } else {
    set_number(i, o.scalar());
  }
  if (!(v.sizes == shape)) static_cast<BasicView<const void*>&>(v) = v.broadcast_to(shape);
}

void Call::set_number(int i, Scalar number) {
  ConstView& v = views[i];
  if (number.is_floating()) {
    numbers_[i] = number.to_double();
    v.data = &numbers_[i];
    v.dtype = kFloat64;
  } else {
    integers_[i] = wrapped(number, dtype).to_int64();
    v.data = &integers_[i];
    v.dtype = kInt64;
  }
}

void Call::launch(Row row, Tensor& y, const Params& params) const {
  if (y.numel() == 0) return;
  on_device(device, info(row).name, [&](auto& ctx) { pointwise_forward(ctx, row, views, y.out(), compute, params); });
}

bool is_plain(const RowInfo& of, const Operand* operands) {
  if (!operands[0].is_tensor() || !takes_floats(of.rule)) return false;
  const TensorImpl& first = operands[0].tensor().impl();
  if (!first.contiguous || !first.storage->device().is_cpu()) return false;
  if (first.dtype != kFloat32 && first.dtype != kFloat64) return false;
  for (int i = 1; i < of.arity; ++i) {
    if (!operands[i].is_tensor()) return false;
    const TensorImpl& x = operands[i].tensor().impl();
    if (x.dtype != first.dtype || !x.contiguous || !x.storage->device().is_cpu() || !(x.sizes == first.sizes))
      return false;
  }
  return true;
}

void launch_plain(Row row, const Operand* operands, Tensor& y, const Params& params) {
  const RowInfo& of = info(row);
  if (trace::enabled()) trace::record({trace::Kind::Op, of.name, y.device()});
  const void* inputs[kMaxArity];
  for (int i = 0; i < of.arity; ++i) inputs[i] = operands[i].tensor().data_ptr();
  pointwise_contiguous(row, inputs, y.data_ptr(), y.numel(), operands[0].tensor().dtype(), params);
}

}  // namespace pointwise
}  // namespace tantu
