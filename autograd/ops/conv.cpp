#include <tantu/autograd/ops/conv.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/conv.h>

#include <algorithm>

namespace tantu {

namespace {

// The three sides of the form of kernels/conv.h. The gradients of each are the two others: all orders come free.
Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& sizes, const ConvRule& rule);
Tensor of_input(const Tensor& g, const Tensor& w, const Tensor& bias, const Shape& sizes, const ConvRule& rule);
Tensor of_weight(const Tensor& g, const Tensor& x, const Shape& sizes, const ConvRule& rule);

// y = kernel(a, b, bias), recorded with the gradients of a and b, each a function of (the gradient of y, the other
// one).
template <class Kernel, class OfA, class OfB>
Tensor record(const Tensor& a, const Tensor& b, const Tensor& bias, const Shape& sizes, Kernel kernel, OfA of_a,
              OfB of_b) {
  Tensor y = make_tensor("conv", sizes, a.dtype(), a.device());
  const Tensor ac = a.detach().contiguous(), bc = b.detach().contiguous();
  const Tensor bias_c = bias.defined() ? bias.detach().contiguous() : Tensor();
  on_device(a.device(), "conv", [&](auto& ctx) { kernel(ctx, ac.in(), bc.in(), in_or_none(bias_c), y.out()); });
  if (tape::wants(a, b, bias))
    tape::record("ConvolutionBackward0", {&y}, {a, b, bias},
                 {tape::Saved(tape::wants(b) ? a : Tensor()), tape::Saved(tape::wants(a) ? b : Tensor())},
                 [of_a, of_b](tape::Backward& back) {
                   const Tensor g = back.grad();
                   TensorList result(3);
                   if (back.needs(0)) result[0] = of_a(g, back.saved(1));
                   if (back.needs(1)) result[1] = of_b(g, back.saved(0));
                   if (back.needs(2)) result[2] = sum(g, {0, 2, 3});
                   return result;
                 });
  return y;
}

Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& sizes, const ConvRule& rule) {
  return record(
      x, w, bias, sizes,
      [&](auto& ctx, ConstView a, ConstView b, ConstView c, View y) { conv_forward(ctx, a, b, c, y, rule); },
      [rule, s = x.sizes()](const Tensor& g, const Tensor& weight) { return of_input(g, weight, {}, s, rule); },
      [rule, s = w.sizes()](const Tensor& g, const Tensor& input) { return of_weight(g, input, s, rule); });
}

Tensor of_input(const Tensor& g, const Tensor& w, const Tensor& bias, const Shape& sizes, const ConvRule& rule) {
  return record(
      g, w, bias, sizes,
      [&](auto& ctx, ConstView a, ConstView b, ConstView c, View y) { conv_backward_input(ctx, a, b, c, y, rule); },
      [rule, s = g.sizes()](const Tensor& gg, const Tensor& weight) { return forward(gg, weight, {}, s, rule); },
      [rule, s = w.sizes()](const Tensor& gg, const Tensor& output) { return of_weight(output, gg, s, rule); });
}

Tensor of_weight(const Tensor& g, const Tensor& x, const Shape& sizes, const ConvRule& rule) {
  return record(
      g, x, {}, sizes,
      [&](auto& ctx, ConstView a, ConstView b, ConstView, View y) { conv_backward_weight(ctx, a, b, y, rule); },
      [rule, s = g.sizes()](const Tensor& gg, const Tensor& input) { return forward(input, gg, {}, s, rule); },
      [rule, s = x.sizes()](const Tensor& gg, const Tensor& output) { return of_input(output, gg, {}, s, rule); });
}

// What all forms of the call check, on shapes with the batch dimension; `op` names the public function.
struct Call {
  const char* op;
  Tensor x, weight, bias;
  ConvRule rule;
  int rank;  // spatial dimensions
  bool batched = true;

  Call(const char* name, int spatial, const Tensor& input, const Tensor& w, const Tensor& b, const ConvRule& r)
      : op(name), x(input), weight(w), bias(b), rule(r), rank(spatial) {
    tape::common_device(op, {{"input", &input}, {"weight", &w}, {"bias", &b}});
    TANTU_CHECK(is_floating(x.dtype()), DTypeError, "{}: expected a floating point input, but got {}", op, x.dtype());
    for (const Tensor* t : {&weight, &bias})
      TANTU_CHECK(!t->defined() || t->dtype() == x.dtype(), DTypeError,
                  "{}: Input type ({}) and weight or bias type ({}) should be the same", op, x.dtype(), t->dtype());
    TANTU_CHECK(x.dim() == rank + 1 || x.dim() == rank + 2, ShapeError,
                "{}: Expected {}D (unbatched) or {}D (batched) input, but got input of size: {}", op, rank + 1,
                rank + 2, x.sizes());
    TANTU_CHECK(weight.dim() == rank + 2, ShapeError, "{}: expected a weight of {} dimensions, but got size {}", op,
                rank + 2, weight.sizes());
    for (int d = 2 - rank; d < 2; ++d) {
      const auto i = static_cast<size_t>(d);
      TANTU_CHECK(rule.stride[i] > 0, ValueError, "{}: non-positive stride is not supported: {}", op, rule.stride[i]);
      TANTU_CHECK(rule.dilation[i] > 0, ValueError, "{}: dilation should be greater than zero: {}", op,
                  rule.dilation[i]);
      TANTU_CHECK(rule.padding[i] >= 0, ValueError, "{}: negative padding is not supported: {}", op, rule.padding[i]);
    }
    TANTU_CHECK(rule.groups > 0, ValueError, "{}: non-positive groups is not supported: {}", op, rule.groups);
    TANTU_CHECK(weight.size(0) % rule.groups == 0, ShapeError,
                "{}: expected weight to be at least {} at dimension 0 and divisible by groups, but got weight of size "
                "{} and groups={}",
                op, rule.groups, weight.sizes(), rule.groups);
    for (int d = 2; d < rank + 2; ++d)
      TANTU_CHECK(weight.size(d) > 0, ShapeError,
                  "{}: expected a kernel without empty dimensions, but got weight of "
                  "size {}",
                  op, weight.sizes());
    if (x.dim() == rank + 1) {
      x = x.unsqueeze(0);
      batched = false;
    }
  }

  void check_channels(int64_t wanted) const {
    TANTU_CHECK(x.size(1) == wanted, ShapeError,
                "{}: Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels "
                "instead",
                op, rule.groups, weight.sizes(), x.sizes(), wanted, x.size(1));
  }
  void check_bias(int64_t wanted) const {
    TANTU_CHECK(!bias.defined() || (bias.dim() == 1 && bias.numel() == wanted), ShapeError,
                "{}: Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size "
                "{} instead",
                op, weight.sizes(), wanted, bias.sizes());
  }

  // One spatial dimension is a plane of height 1.
  Tensor plane(const Tensor& t) const { return rank == 1 ? t.unsqueeze(2) : t; }

  Tensor finish(Tensor y) const {
    if (rank == 1) y = y.squeeze(2);
    return batched ? y : y.squeeze(0);
  }

  Tensor run() const {
    check_channels(weight.size(1) * rule.groups);
    check_bias(weight.size(0));
    const Tensor xp = plane(x), wp = plane(weight);
    Shape sizes{xp.size(0), wp.size(0), 0, 0};
    for (int d = 0; d < 2; ++d) {
      const auto i = static_cast<size_t>(d);
      const int64_t padded = xp.size(d + 2) + 2 * rule.padding[i], taken = rule.dilation[i] * (wp.size(d + 2) - 1) + 1;
      TANTU_CHECK(padded >= taken, ShapeError,
                  "{}: Calculated padded input size {} at dimension {}. Kernel size: {}. Kernel size can't be greater "
                  "than actual input size",
                  op, padded, d + rank, taken);
      sizes[d + 2] = (padded - taken) / rule.stride[i] + 1;
    }
    return finish(forward(xp, wp, bias, sizes, rule));
  }

  Tensor run_transposed(const Pair& output_padding) const {
    check_channels(weight.size(0));
    const int64_t filters = weight.size(1) * rule.groups;
    check_bias(filters);
    const Tensor xp = plane(x), wp = plane(weight);
    const int64_t extra[] = {output_padding.h, output_padding.w};
    Shape sizes{xp.size(0), filters, 0, 0};
    for (int d = 0; d < 2; ++d) {
      const auto i = static_cast<size_t>(d);
      TANTU_CHECK(extra[d] >= 0 && extra[d] < std::max(rule.stride[i], rule.dilation[i]), ValueError,
                  "{}: output padding must be smaller than either stride or dilation, but got output_padding {}, "
                  "stride {}, dilation {}",
                  op, extra[d], rule.stride[i], rule.dilation[i]);
      const int64_t size = (xp.size(d + 2) - 1) * rule.stride[i] - 2 * rule.padding[i] +
                           rule.dilation[i] * (wp.size(d + 2) - 1) + extra[d] + 1;
      TANTU_CHECK(xp.size(d + 2) > 0 && size > 0, ShapeError,
                  "{}: Given input size per channel {}, the calculated output size at dimension {} is {}: too small",
                  op, x.sizes(), d + rank, size);
      sizes[d + 2] = size;
    }
    return finish(of_input(xp, wp, bias, sizes, rule));
  }
};

ConvRule flat(int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  return {{1, stride}, {0, padding}, {1, dilation}, groups};
}
ConvRule rule_of(Pair stride, Pair padding, Pair dilation, int64_t groups) {
  return {{stride.h, stride.w}, {padding.h, padding.w}, {dilation.h, dilation.w}, groups};
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
              int64_t dilation, int64_t groups, Site at) {
  tape::Op op("conv1d", at);
  return Call("conv1d", 1, x, weight, bias, flat(stride, padding, dilation, groups)).run();
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding, Pair dilation,
              int64_t groups, Site at) {
  tape::Op op("conv2d", at);
  return Call("conv2d", 2, x, weight, bias, rule_of(stride, padding, dilation, groups)).run();
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
                        int64_t output_padding, int64_t groups, int64_t dilation, Site at) {
  tape::Op op("conv_transpose1d", at);
  return Call("conv_transpose1d", 1, x, weight, bias, flat(stride, padding, dilation, groups))
      .run_transposed({0, output_padding});
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding,
                        Pair output_padding, int64_t groups, Pair dilation, Site at) {
  tape::Op op("conv_transpose2d", at);
  return Call("conv_transpose2d", 2, x, weight, bias, rule_of(stride, padding, dilation, groups))
      .run_transposed(output_padding);
}

}  // namespace tantu
