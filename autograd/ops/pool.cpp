#include <tantu/autograd/ops/pool.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/pool.h>

namespace tantu {

namespace {

// The elements of each plane of x (B,H,W) at `indices` (B,P,Q), and the adjoint of it, each the other's gradient.
Tensor max_taken(const Tensor& x, const Tensor& indices) {
  return gather(x.flatten(1), 1, indices.flatten(1)).view(indices.sizes());
}

Tensor max_backward(const Tensor& g, const Tensor& indices, const Shape& sizes, const PoolRule& rule) {
  Tensor dx = make_tensor("max_pool", sizes, g.dtype(), g.device());
  const Tensor packed = g.detach().contiguous();
  on_device(g.device(), "max_pool",
            [&](auto& ctx) { max_pool_backward(ctx, packed.in(), indices.in(), dx.out(), rule); });
  if (tape::wants(g))
    tape::record("MaxPoolBackwardBackward0", {&dx}, {g}, {tape::Saved(indices)},
                 [](tape::Backward& b) { return TensorList{max_taken(b.grad(), b.saved(0))}; });
  return dx;
}

std::pair<Tensor, Tensor> max_forward(const Tensor& x, const Shape& sizes, const PoolRule& rule) {
  Tensor y = make_tensor("max_pool", sizes, x.dtype(), x.device());
  Tensor indices = make_tensor("max_pool", sizes, kInt64, x.device());
  const Tensor packed = x.detach().contiguous();
  on_device(x.device(), "max_pool",
            [&](auto& ctx) { max_pool_forward(ctx, packed.in(), y.out(), indices.out(), rule); });
  if (tape::wants(x))
    tape::record("MaxPoolBackward0", {&y}, {x}, {tape::Saved(indices)}, [sizes = x.sizes(), rule](tape::Backward& b) {
      return TensorList{max_backward(b.grad(), b.saved(0), sizes, rule)};
    });
  return {y, indices};
}

Tensor avg_forward(const Tensor& x, const Shape& sizes, const PoolRule& rule);

Tensor avg_backward(const Tensor& g, const Shape& sizes, const PoolRule& rule) {
  Tensor dx = make_tensor("avg_pool", sizes, g.dtype(), g.device());
  const Tensor packed = g.detach().contiguous();
  on_device(g.device(), "avg_pool", [&](auto& ctx) { avg_pool_backward(ctx, packed.in(), dx.out(), rule); });
  if (tape::wants(g))
    tape::record("AvgPoolBackwardBackward0", {&dx}, {g}, {}, [sizes = g.sizes(), rule](tape::Backward& b) {
      return TensorList{avg_forward(b.grad(), sizes, rule)};
    });
  return dx;
}

Tensor avg_forward(const Tensor& x, const Shape& sizes, const PoolRule& rule) {
  Tensor y = make_tensor("avg_pool", sizes, x.dtype(), x.device());
  const Tensor packed = x.detach().contiguous();
  on_device(x.device(), "avg_pool", [&](auto& ctx) { avg_pool_forward(ctx, packed.in(), y.out(), rule); });
  if (tape::wants(x))
    tape::record("AvgPoolBackward0", {&y}, {x}, {}, [sizes = x.sizes(), rule](tape::Backward& b) {
      return TensorList{avg_backward(b.grad(), sizes, rule)};
    });
  return y;
}

// x as planes (B,H,W), and the way back for a result (B,P,Q).
struct Planes {
  const char* op;
  int rank;  // spatial dimensions
  Shape lead;
  Tensor x;

  Planes(const char* name, int spatial, const Tensor& input) : op(name), rank(spatial) {
    TANTU_CHECK(is_floating(input.dtype()), DTypeError, "{}: expected a floating point input, but got {}", op,
                input.dtype());
    TANTU_CHECK(input.dim() == rank + 1 || input.dim() == rank + 2, ShapeError,
                "{}: Expected {}D or {}D (batch mode) tensor, but got input of size: {}", op, rank + 1, rank + 2,
                input.sizes());
    int64_t planes = 1;
    for (int d = 0; d < input.sizes().size() - rank; ++d) {
      lead.push_back(input.size(d));
      planes *= input.size(d);
    }
    for (int d = lead.size(); d < input.sizes().size(); ++d)
      TANTU_CHECK(input.size(d) > 0, ShapeError,
                  "{}: Expected input's non-batch dimensions to have positive length, but input has a shape of {}", op,
                  input.sizes());
    x = input.reshape({planes, rank == 1 ? 1 : input.size(-2), input.size(-1)});
  }

  Tensor back(const Tensor& y) const {
    Shape sizes = lead;
    if (rank == 2) sizes.push_back(y.size(1));
    sizes.push_back(y.size(2));
    return y.view(sizes);
  }

  Shape output(const PoolRule& rule, bool ceil_mode) const {
    Shape sizes{x.size(0), 0, 0};
    for (int d = 0; d < 2; ++d) {
      const int64_t k = rule.kernel[d], s = rule.stride[d], p = rule.padding[d], in = x.size(d + 1);
      const int64_t reach = rule.dilation[d] * (k - 1) + 1;
      TANTU_CHECK(k > 0, ValueError, "{}: kernel size should be greater than zero, but got {}", op, k);
      TANTU_CHECK(s > 0, ValueError, "{}: stride should not be zero or negative, but got {}", op, s);
      TANTU_CHECK(rule.dilation[d] > 0, ValueError, "{}: dilation should be greater than zero, but got {}", op,
                  rule.dilation[d]);
      TANTU_CHECK(p >= 0 && p <= reach / 2, ValueError,
                  "{}: pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and "
                  "dilation={}",
                  op, p, k, rule.dilation[d]);
      const int64_t room = in + 2 * p - reach;
      int64_t out = room < 0 ? (ceil_mode && room + s - 1 >= 0 ? 1 : 0) : (room + (ceil_mode ? s - 1 : 0)) / s + 1;
      if (ceil_mode && (out - 1) * s >= in + p) --out;  // the last window must begin in the input or the left padding
      TANTU_CHECK(out > 0, ShapeError, "{}: Given input size {}, the output size at dimension {} is {}: too small", op,
                  x.sizes(), d + 1, out);
      sizes[d + 1] = out;
    }
    return sizes;
  }

  Shape output(const Pair& wanted) const {
    TANTU_CHECK(wanted.h >= 0 && wanted.w >= 0, ValueError,
                "{}: elements of output_size must be greater than or equal to 0, but got ({}, {})", op, wanted.h,
                wanted.w);
    return {x.size(0), wanted.h, wanted.w};
  }
};

PoolRule rule_of(const Pair& kernel, const std::optional<Pair>& given, const Pair& padding, const Pair& dilation) {
  const Pair stride = given.value_or(kernel);
  return {{kernel.h, kernel.w}, {stride.h, stride.w}, {padding.h, padding.w}, {dilation.h, dilation.w}};
}

// One dimension is a plane of height 1.
PoolRule flat_rule(int64_t kernel, std::optional<int64_t> stride, int64_t padding, int64_t dilation) {
  return rule_of({1, kernel}, Pair{1, stride.value_or(kernel)}, {0, padding}, {1, dilation});
}

PoolRule adaptive() {
  PoolRule rule{};
  rule.adaptive = true;
  return rule;
}

}  // namespace

Tensor max_pool1d(const Tensor& x, int64_t kernel_size, std::optional<int64_t> stride, int64_t padding,
                  int64_t dilation, bool ceil_mode, Site at) {
  tape::Op op("max_pool1d", at);
  const Planes planes("max_pool1d", 1, x);
  const PoolRule rule = flat_rule(kernel_size, stride, padding, dilation);
  return planes.back(max_forward(planes.x, planes.output(rule, ceil_mode), rule).first);
}

Tensor max_pool2d(const Tensor& x, Pair kernel_size, std::optional<Pair> stride, Pair padding, Pair dilation,
                  bool ceil_mode, Site at) {
  tape::Op op("max_pool2d", at);
  return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode, at).first;
}

std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, Pair kernel_size, std::optional<Pair> stride,
                                                  Pair padding, Pair dilation, bool ceil_mode, Site at) {
  tape::Op op("max_pool2d", at);
  const Planes planes("max_pool2d", 2, x);
  const PoolRule rule = rule_of(kernel_size, stride, padding, dilation);
  const auto [y, indices] = max_forward(planes.x, planes.output(rule, ceil_mode), rule);
  return {planes.back(y), planes.back(indices)};
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel_size, std::optional<int64_t> stride, int64_t padding, bool ceil_mode,
                  bool count_include_pad, Site at) {
  tape::Op op("avg_pool1d", at);
  const Planes planes("avg_pool1d", 1, x);
  PoolRule rule = flat_rule(kernel_size, stride, padding, 1);
  rule.count_include_pad = count_include_pad;
  return planes.back(avg_forward(planes.x, planes.output(rule, ceil_mode), rule));
}

Tensor avg_pool2d(const Tensor& x, Pair kernel_size, std::optional<Pair> stride, Pair padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override, Site at) {
  tape::Op op("avg_pool2d", at);
  TANTU_CHECK(divisor_override.value_or(1) != 0, ValueError, "avg_pool2d: divisor must be not zero");
  const Planes planes("avg_pool2d", 2, x);
  PoolRule rule = rule_of(kernel_size, stride, padding, 1);
  rule.count_include_pad = count_include_pad;
  rule.divisor = divisor_override.value_or(0);
  return planes.back(avg_forward(planes.x, planes.output(rule, ceil_mode), rule));
}

Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output_size, Site at) {
  tape::Op op("adaptive_avg_pool1d", at);
  const Planes planes("adaptive_avg_pool1d", 1, x);
  return planes.back(avg_forward(planes.x, planes.output(Pair{1, output_size}), adaptive()));
}

Tensor adaptive_avg_pool2d(const Tensor& x, Pair output_size, Site at) {
  tape::Op op("adaptive_avg_pool2d", at);
  const Planes planes("adaptive_avg_pool2d", 2, x);
  return planes.back(avg_forward(planes.x, planes.output(output_size), adaptive()));
}

Tensor adaptive_max_pool1d(const Tensor& x, int64_t output_size, Site at) {
  tape::Op op("adaptive_max_pool1d", at);
  const Planes planes("adaptive_max_pool1d", 1, x);
  return planes.back(max_forward(planes.x, planes.output(Pair{1, output_size}), adaptive()).first);
}

Tensor adaptive_max_pool2d(const Tensor& x, Pair output_size, Site at) {
  tape::Op op("adaptive_max_pool2d", at);
  const Planes planes("adaptive_max_pool2d", 2, x);
  return planes.back(max_forward(planes.x, planes.output(output_size), adaptive()).first);
}

}  // namespace tantu
