#include <tantu/autograd/ops/pointwise_tape.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/pointwise_call.h>

#include <array>
#include <string>
#include <utility>

namespace tantu::pointwise {

namespace {

// The tape's node for every row: derivatives come from the row's own text.
class PointwiseNode final : public tape::Node {
 public:
  PointwiseNode(Row row, const Params& params, const Operand* operands)
      : Node(grad_name(row)), row_(row), params_(params) {
    const RowInfo& of = info(row);
    for (int i = 0; i < of.arity; ++i) {
      is_number_[i] = !operands[i].is_tensor();
      if (is_number_[i]) numbers_[i] = operands[i].scalar().to_double();
    }
  }

  TensorList apply(TensorList& grads) override {
    const RowInfo& of = info(row_);
    Values values;
    values.tensors[0] = materialized(grads, 0);
    int next = 0;
    for (int i = 0; i < of.arity; ++i) {
      if (!(of.saves & (1 << i))) continue;
      if (is_number_[i]) values.numbers[1 + i] = &numbers_[i];
      else values.tensors[1 + i] = saved(next++);
    }
    if (of.saves & kY) values.tensors[4] = saved(next);
    TensorList result(edges.size());
    for (int i = 0; i < of.arity; ++i)
      if (needs(i)) result[static_cast<size_t>(i)] = derivative(row_, i, values, params_);
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
  bool is_number_[kMaxArity] = {};
  double numbers_[kMaxArity] = {};
};

bool wants(const RowInfo& of, const Operand* operands) {
  if (!is_grad_enabled() || of.rule == kToBool || of.rule == kIntegers) return false;
  for (int i = 0; i < of.arity; ++i)
    if (operands[i].is_tensor() && operands[i].tensor().requires_grad()) return true;
  return false;
}

Ref<tape::Node> make_node(Row row, const RowInfo& of, const Operand* operands, const Params& params, Tensor& y) {
  Ref<tape::Node> node(new PointwiseNode(row, params, operands));
  node->edges.reserve(static_cast<size_t>(of.arity));
  for (int i = 0; i < of.arity; ++i) {
    node->edges.push_back(operands[i].is_tensor() ? tape::edge_of(operands[i].tensor()) : tape::Edge{});
    if (!(of.saves & (1 << i)) || !operands[i].is_tensor()) continue;
    const Tensor& x = operands[i].tensor();  // about to be overwritten where it is y itself
    node->saved_tensors.emplace_back(x.is_same(y) ? x.clone() : x);
  }
  if (of.saves & kY) node->saved_tensors.push_back(tape::Saved::output(y));
  return node;
}

// Whether the write can do without views: y is one of the plain operands, and no other shares its memory.
bool is_plain_inplace(const RowInfo& of, const Tensor& y, const Operand* operands) {
  if (of.rule == kToBool || !is_plain(of, operands)) return false;
  for (int i = 1; i < of.arity; ++i)
    if (operands[i].tensor().impl().storage == y.impl().storage && !operands[i].tensor().is_same(y)) return false;
  return true;
}

}  // namespace

Tensor apply(Row row, const Operand* operands, const Params& params, Site at) {
  const RowInfo& of = info(row);
  tape::Op op(of.name, at);
  check_params(row, params);
  Tensor y;
  if (is_plain(of, operands)) {
    const Tensor& a = operands[0].tensor();
    y = make_tensor(of.name, a.sizes(), of.rule == kToBool ? kBool : a.dtype(), kCPU);
    launch_plain(row, operands, y, params);
  } else {
    const Call call(row, operands, params);
    y = make_tensor(of.name, call.shape, of.rule == kToBool ? kBool : call.dtype, call.device);
    call.launch(row, y, params);
  }
  if (wants(of, operands)) tape::adopt(make_node(row, of, operands, params, y), y);
  return y;
}

Tensor& apply_(Row row, Tensor& y, const Operand* operands, const Params& params, Site at) {
  const RowInfo& of = info(row);
  tape::Op op(of.in_place, at);
  check_params(row, params);
  tape::check_inplace(of.in_place, y);
  Ref<tape::Node> node;
  const auto note = [&] {
    if (wants(of, operands)) node = make_node(row, of, operands, params, y);
  };
  if (is_plain_inplace(of, y, operands)) {
    note();
    launch_plain(row, operands, y, params);
  } else {
    const Call call(row, y, operands, params);
    note();
    call.launch(row, y, params);
  }
  if (!node) {
    tape::written(y);
    return y;
  }
  tape::adopt_inplace(node, y);
  if (of.saves & kY) node->saved_tensors.back() = tape::Saved::output(y);
  return y;
}

Tensor derivative(Row row, int which, const Values& values, const Params& params) {
  const RowInfo& of = info(row);
  const Tensor& g = values.tensors[0];
  if (of.gradient[which] == kPasses) return g;
  if (of.gradient[which] == kZero) return zeros_like(g);
  DType dtype = g.dtype();
  for (int i = 1; i < 5; ++i)
    if (values.tensors[i].defined() && is_floating(values.tensors[i].dtype()))
      dtype = promote_types(dtype, values.tensors[i].dtype());
  const bool on_tape = is_grad_enabled();
  Tensor operands[5];
  for (int i = 0; i < 5; ++i)
    operands[i] = values.numbers[i] && on_tape
                      ? full({}, *values.numbers[i], {.dtype = kFloat64, .device = g.device()}).to(dtype)
                      : values.tensors[i];
  if (on_tape) return derivative_expression(row, which, operands, params);
  ConstView views[5];
  for (int i = 0; i < 5; ++i) {
    ConstView& v = views[i];
    if (operands[i].defined()) {
      v = std::as_const(operands[i]).in();
    } else if (values.numbers[i]) {
      v.data = values.numbers[i];
      v.dtype = kFloat64;
    } else {
      continue;
    }
    if (!(v.sizes == g.sizes())) static_cast<BasicView<const void*>&>(v) = v.broadcast_to(g.sizes());
  }
  Tensor d = make_tensor(of.name, g.sizes(), dtype, g.device());
  if (d.numel() == 0) return d;
  on_device(g.device(), of.name,
            [&](auto& ctx) { pointwise_backward(ctx, row, which, views, d.out(), compute_type(dtype), params); });
  return d;
}

}  // namespace tantu::pointwise
