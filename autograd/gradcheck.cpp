#include <tantu/autograd/gradcheck.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

#include <cmath>

namespace tantu {

namespace {

struct Limits {
  double eps, atol, rtol;
};

std::string position(int64_t i, const Shape& sizes) {
  Dims index = sizes;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    index[d] = i % sizes[d];
    i /= sizes[d];
  }
  return index.to_string();
}

bool takes_grad(const Tensor& t) {
  return t.defined() && is_floating(t.dtype()) && t.requires_grad();
}

TensorList differentiable(const char* op, const TensorList& outputs) {
  TensorList list;
  for (const Tensor& y : outputs)
    if (takes_grad(y)) list.push_back(y);
  TANTU_CHECK(!list.empty(), AutogradError, "{}: no output of the function requires grad", op);
  return list;
}

// Element `i` (row-major) of a tensor of any strides, as a view of one element.
Tensor element(const Tensor& t, int64_t i) {
  int64_t offset = t.storage_offset();
  for (int d = t.sizes().size() - 1; d >= 0; --d) {
    offset += i % t.sizes()[d] * t.strides()[d];
    i /= t.sizes()[d];
  }
  return make_view(t.impl().storage, t.dtype(), {}, {}, offset);
}

std::vector<std::vector<double>> values(const TensorList& tensors) {
  std::vector<std::vector<double>> all;
  for (const Tensor& t : tensors) all.push_back(t.to_vector<double>());
  return all;
}

// numerical[input][element][output][position]
using Jacobians = std::vector<std::vector<std::vector<std::vector<double>>>>;

Jacobians numerical(const char* op, const TensorFunction& fn, const TensorList& inputs, double eps) {
  Jacobians result(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!takes_grad(inputs[k])) continue;
    // A private row-major copy, so that an expanded input can be moved one element at a time.
    TensorList moved = inputs;
    moved[k] = inputs[k].detach().clone();
    moved[k].requires_grad_();
    const Tensor raw = moved[k].detach();
    for (int64_t i = 0; i < raw.numel(); ++i) {
      Tensor cell = element(raw, i);
      const double x = cell.item<double>();
      cell.fill_(x + eps);
      const auto high = values(differentiable(op, fn(moved)));
      cell.fill_(x - eps);
      auto low = values(differentiable(op, fn(moved)));
      cell.fill_(x);
      for (size_t o = 0; o < low.size(); ++o)
        for (size_t p = 0; p < low[o].size(); ++p) low[o][p] = (high[o][p] - low[o][p]) / (2 * eps);
      result[k].push_back(std::move(low));
    }
  }
  return result;
}

TensorList vjp(const Tensor& output, const TensorList& inputs, const Tensor& v) {
  TensorList wanted, result;
  for (const Tensor& x : inputs)
    if (takes_grad(x)) wanted.push_back(x);
  const TensorList got = grad({output}, wanted, {v}, true, false, true);
  size_t next = 0;
  for (const Tensor& x : inputs) {
    result.push_back(takes_grad(x) ? got[next++] : Tensor());
    if (takes_grad(x) && !result.back().defined()) result.back() = zeros_like(x);
  }
  return result;
}

void check_column(const char* op, const Limits& limits, size_t output, const std::string& at, const TensorList& inputs,
                  const std::vector<std::vector<double>>& analytical, const Jacobians& wanted, size_t p) {
  for (size_t k = 0; k < inputs.size(); ++k)
    for (size_t i = 0; i < wanted[k].size(); ++i) {
      const double a = analytical[k][i], n = wanted[k][i][output][p];
      TANTU_CHECK(
          std::fabs(a - n) <= limits.atol + limits.rtol * std::fabs(n), AutogradError,
          "{}: Jacobian mismatch for output {} with respect to input {}: d output{} / d input{}: numerical {:.10g}, "
          "analytical {:.10g}",
          op, output, k, at, position(static_cast<int64_t>(i), inputs[k].sizes()), n, a);
    }
}

bool check(const char* op, const TensorFunction& fn, const TensorList& inputs, const Limits& limits) {
  bool any = false;
  for (const Tensor& x : inputs) any |= takes_grad(x);
  TANTU_CHECK(any, AutogradError,
              "{}: expects at least one input tensor to require gradient, but none of them have requires_grad=True",
              op);
  const Jacobians wanted = numerical(op, fn, inputs, limits.eps);
  const TensorList outputs = differentiable(op, fn(inputs));
  for (size_t o = 0; o < outputs.size(); ++o) {
    Tensor v = zeros(outputs[o].sizes(), outputs[o].options());
    for (int64_t p = 0; p < v.numel(); ++p) {
      Tensor cell = element(v, p);
      cell.fill_(1);
      TensorList columns = vjp(outputs[o], inputs, v);
      for (size_t k = 0; k < inputs.size(); ++k)
        if (!takes_grad(inputs[k])) columns[k] = zeros({0});
      const auto analytical = values(columns);
      check_column(op, limits, o, position(p, v.sizes()), inputs, analytical, wanted, p);
      TensorList again = vjp(outputs[o], inputs, v);
      for (size_t k = 0; k < inputs.size(); ++k)
        TANTU_CHECK(!takes_grad(inputs[k]) || again[k].to_vector<double>() == analytical[k], AutogradError,
                    "{}: Backward is not reentrant: the same backward gave other values for input {} the second time",
                    op, k);
      cell.fill_(0);
    }
  }
  return true;
}

// Values in [-1, 1] that differ from call to call of `next`, without touching the user's random numbers.
Tensor direction(const Tensor& like, uint64_t& next) {
  Tensor v = zeros(like.sizes(), {.dtype = like.dtype()});
  for (int64_t i = 0; i < v.numel(); ++i) {
    next = next * 6364136223846793005u + 1442695040888963407u;
    element(v, i).fill_(static_cast<double>(next >> 11) * 0x1p-52 - 1);
  }
  return v.to(like.device()).requires_grad_();
}

}  // namespace

bool gradcheck(const TensorFunction& fn, const TensorList& inputs, double eps, double atol, double rtol, Site at) {
  tape::Op op("gradcheck", at);
  EnableGradGuard grad_mode;
  return check("gradcheck", fn, inputs, {eps, atol, rtol});
}

bool gradgradcheck(const TensorFunction& fn, const TensorList& inputs, const TensorList& grad_outputs, double eps,
                   double atol, double rtol, Site at) {
  tape::Op op("gradgradcheck", at);
  EnableGradGuard grad_mode;
  const size_t count = inputs.size();
  TensorList all = inputs;
  if (grad_outputs.empty()) {
    uint64_t state = 20;
    for (const Tensor& y : differentiable("gradgradcheck", fn(inputs))) all.push_back(direction(y, state));
  } else {
    all.insert(all.end(), grad_outputs.begin(), grad_outputs.end());
  }
  const auto gradient = [&](const TensorList& x) {
    const TensorList given(x.begin(), x.begin() + static_cast<ptrdiff_t>(count));
    const TensorList v(x.begin() + static_cast<ptrdiff_t>(count), x.end());
    TensorList wanted;
    for (const Tensor& t : given)
      if (takes_grad(t)) wanted.push_back(t);
    TensorList result = grad(differentiable("gradgradcheck", fn(given)), wanted, v, true, true, true);
    for (size_t i = 0; i < result.size(); ++i)
      if (!result[i].defined()) result[i] = zeros_like(wanted[i]);
    return result;
  };
  return check("gradgradcheck", gradient, all, {eps, atol, rtol});
}

}  // namespace tantu
