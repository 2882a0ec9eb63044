#include <tantu/autograd/ops/pointwise_tape.h>

#include <tantu/autograd/ops.h>
#include <tantu/kernels/pointwise_rows.h>

#include <array>

namespace tantu {

namespace {

constexpr int kMaxArity = 3;

// A higher kind of number: bool < integer < floating.
int kind(DType t) { return is_floating(t) ? 2 : t == kBool ? 0 : 1; }

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
  DType result = kBool;
  std::vector<Operand> list;
  for (const Operand* o : operands) list.push_back(*o);
  result = result_type_of(list.data(), static_cast<int>(list.size()));
  return result;
}

namespace pointwise {

namespace {

// What a call works on: its operands as views of one shape, and the dtypes it computes in and gives.
struct Call {
  Shape shape;
  Device device;
  DType dtype;    // of the promoted operands
  DType compute;  // float32, float64 or int64
  double numbers[kMaxArity];
  int64_t integers[kMaxArity];
  std::array<Tensor, kMaxArity> kept;  // numbers that had to become tensors
  ConstView views[kMaxArity];
};

DType compute_type(DType t) { return t == kFloat64 ? kFloat64 : is_floating(t) ? kFloat32 : kInt64; }

const Tensor& tensor_of(const Operand& o) {
  static const Tensor none;
  return o.is_tensor() ? o.tensor() : none;
}

Device device_of(const RowInfo& row, const Operand* operands) {
  const Tensor* first = nullptr;
  bool same = true;
  for (int i = 0; i < row.arity; ++i) {
    if (!operands[i].is_tensor()) continue;
    const Tensor& t = operands[i].tensor();
    if (!first) first = &t;
    else if (!(t.device() == first->device())) same = false;
  }
  if (!first) return kCPU;
  if (same) return first->device();
  // A 0-dim CPU tensor counts as a number, as in PyTorch; the caller moves it.
  Device home = kCPU;
  for (int i = 0; i < row.arity; ++i)
    if (operands[i].is_tensor() && !(operands[i].tensor().device().is_cpu() && operands[i].tensor().dim() == 0)) {
      home = operands[i].tensor().device();
      break;
    }
  for (int i = 0; i < row.arity; ++i)
    if (operands[i].is_tensor() && !(operands[i].tensor().device() == home) &&
        !(operands[i].tensor().device().is_cpu() && operands[i].tensor().dim() == 0))
      return tape::common_device(row.name, {{"a", &tensor_of(operands[0])},
                                            {"b", &tensor_of(operands[row.arity > 1 ? 1 : 0])},
                                            {"c", &tensor_of(operands[row.arity > 2 ? 2 : 0])}});
  return home;
}

void prepare(Call& call, const RowInfo& row, const Operand* operands, const Shape* out_shape) {
  call.device = device_of(row, operands);
  call.dtype = result_type_of(operands, row.arity);
  if (row.rule == kToFloat && is_integral(call.dtype)) call.dtype = kFloat32;
  call.compute = compute_type(call.dtype);
  bool first = true;
  for (int i = 0; i < row.arity; ++i) {
    if (!operands[i].is_tensor()) continue;
    const Shape& sizes = operands[i].tensor().sizes();
    call.shape = first ? sizes : broadcast_shapes(row.name, call.shape, sizes);
    first = false;
  }
  if (out_shape) {
    TANTU_CHECK(broadcast_shapes(row.name, *out_shape, call.shape) == *out_shape, ShapeError,
                "{}_: output with shape {} doesn't match the broadcast shape {}", row.name, *out_shape, call.shape);
    call.shape = *out_shape;
  }
  for (int i = 0; i < row.arity; ++i) {
    const Operand& o = operands[i];
    if (o.is_tensor()) {
      if (o.tensor().device() == call.device) {
        call.views[i] = o.tensor().in();
      } else {
        call.kept[static_cast<size_t>(i)] = o.tensor().detach().to(call.device);
        call.views[i] = std::as_const(call.kept[static_cast<size_t>(i)]).in();
      }
    } else if (call.device.is_cpu()) {
      // The number itself is the operand: a view of stride 0 over one value on this stack.
      ConstView& v = call.views[i];
      v.device = kCPU;
      if (o.scalar().is_floating()) {
        call.numbers[i] = o.scalar().to_double();
        v.data = &call.numbers[i];
        v.dtype = kFloat64;
      } else {
        call.integers[i] = o.scalar().to_int64();
        v.data = &call.integers[i];
        v.dtype = kInt64;
      }
    } else {
      call.kept[static_cast<size_t>(i)] = full({}, o.scalar(), {.dtype = call.dtype, .device = call.device});
      call.views[i] = std::as_const(call.kept[static_cast<size_t>(i)]).in();
    }
    if (!(call.views[i].sizes == call.shape)) {
      static_cast<BasicView<const void*>&>(call.views[i]) = call.views[i].broadcast_to(call.shape);
    }
  }
}

void launch(const RowInfo& info_of, Row row, Call& call, Tensor& y, const Params& params) {
  if (y.numel() == 0) return;
  on_device(call.device, info_of.name, [&](auto& ctx) { pointwise_forward(ctx, row, call.views, y.out(), call.compute, params); });
}

// The tape's node for every row: derivatives come from the row's own text.
class PointwiseNode final : public tape::Node {
 public:
  PointwiseNode(Row row, const Params& params, const Operand* operands, DType dtype)
      : Node(grad_name(row)), row_(row), params_(params), dtype_(dtype) {
    const RowInfo& of = info(row);
    for (int i = 0; i < of.arity; ++i) {
      is_number_[i] = !operands[i].is_tensor();
      if (is_number_[i]) numbers_[i] = operands[i].scalar().to_double();
    }
  }

  TensorList apply(TensorList& grads) override {
    const RowInfo& of = info(row_);
    const Tensor g = materialized(grads, 0);
    Tensor operands[5];
    operands[0] = g;
    int next = 0;
    for (int i = 0; i < of.arity; ++i)
      if (of.saves & (1 << i)) operands[1 + i] = is_number_[i] ? full({}, numbers_[i], {.dtype = dtype_, .device = g.device()}) : saved(next++);
    if (of.saves & kY) operands[4] = saved(next);
    TensorList result(edges.size());
    for (int i = 0; i < of.arity; ++i)
      if (needs(i)) result[static_cast<size_t>(i)] = of.passes_g[i] ? g : derivative(row_, i, operands, params_);
    return result;
  }

  // "exp" → "ExpBackward0".
  static const char* grad_name(Row row) {
    static const auto names = [] {
      std::array<std::string, kRows> all;
      for (int r = 0; r < kRows; ++r) {
        std::string text;
        bool upper = true;
        for (const char* p = info(static_cast<Row>(r)).name; *p; ++p) {
          if (*p == '_') {
            upper = true;
            continue;
          }
          text += upper && *p >= 'a' && *p <= 'z' ? static_cast<char>(*p - 'a' + 'A') : *p;
          upper = false;
        }
        all[static_cast<size_t>(r)] = text + "Backward0";
      }
      return all;
    }();
    return names[static_cast<size_t>(row)].c_str();
  }

 private:
  Row row_;
  Params params_;
  DType dtype_;
  bool is_number_[kMaxArity] = {};
  double numbers_[kMaxArity] = {};
};

bool wants(const RowInfo& of, const Operand* operands) {
  if (!is_grad_enabled() || of.rule == kToBool) return false;
  for (int i = 0; i < of.arity; ++i)
    if (operands[i].is_tensor() && operands[i].tensor().requires_grad()) return true;
  return false;
}

void fill_node(tape::Node& node, const RowInfo& of, const Operand* operands, Tensor& y) {
  for (int i = 0; i < of.arity; ++i) {
    node.edges.push_back(operands[i].is_tensor() ? tape::edge_of(operands[i].tensor()) : tape::Edge{});
    if ((of.saves & (1 << i)) && operands[i].is_tensor()) node.saved_tensors.emplace_back(operands[i].tensor());
  }
  if (of.saves & kY) node.saved_tensors.push_back(tape::Saved::output(y));
}

}  // namespace

Tensor apply(Row row, const Operand* operands, const Params& params, Site at) {
  const RowInfo& of = info(row);
  tape::Op op(of.name, at);
  Call call;
  prepare(call, of, operands, nullptr);
  Tensor y = make_tensor(of.name, call.shape, of.rule == kToBool ? kBool : call.dtype, call.device);
  launch(of, row, call, y, params);
  if (wants(of, operands)) {
    Ref<tape::Node> node(new PointwiseNode(row, params, operands, call.dtype));
    fill_node(*node, of, operands, y);
    tape::adopt(node, y);
  }
  return y;
}

Tensor& apply_(Row row, Tensor& y, const Operand* operands, const Params& params, Site at) {
  const RowInfo& of = info(row);
  tape::Op op(of.name, at);
  tape::check_inplace(of.name, y);
  Call call;
  prepare(call, of, operands, &y.sizes());
  TANTU_CHECK(of.rule == kToBool || can_cast(call.dtype, y.dtype()), DTypeError,
              "{}_: result type {} can't be cast to the desired output type {}", of.name, call.dtype, y.dtype());
  const bool record = wants(of, operands);
  Ref<tape::Node> node;
  if (record) {
    node = Ref<tape::Node>(new PointwiseNode(row, params, operands, call.dtype));
    fill_node(*node, of, operands, y);
  }
  launch(of, row, call, y, params);
  if (!record) {
    tape::written(y);
    return y;
  }
  tape::adopt_inplace(node, y);
  if (of.saves & kY) node->saved_tensors.back() = tape::Saved::output(y);
  return y;
}

Tensor derivative(Row row, int which, const Tensor (&operands)[5], const Params& params) {
  const RowInfo& of = info(row);
  if (is_grad_enabled()) return derivative_expression(row, which, operands, params);
  const Tensor& g = operands[0];
  Shape shape = g.sizes();
  DType dtype = g.dtype();
  for (int i = 1; i < 5; ++i)
    if (operands[i].defined()) dtype = promote_types(dtype, is_floating(operands[i].dtype()) ? operands[i].dtype() : dtype);
  ConstView views[5];
  for (int i = 0; i < 5; ++i)
    if (operands[i].defined()) {
      views[i] = operands[i].in();
      static_cast<BasicView<const void*>&>(views[i]) = views[i].broadcast_to(shape);
    }
  Tensor d = make_tensor(of.name, shape, dtype, g.device());
  if (d.numel() == 0) return d;
  on_device(g.device(), of.name, [&](auto& ctx) {
    pointwise_backward(ctx, row, which, views, d.out(), compute_type(dtype), params);
  });
  return d;
}

}  // namespace pointwise
}  // namespace tantu
