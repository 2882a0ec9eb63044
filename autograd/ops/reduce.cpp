#include <tantu/autograd/ops/reduce.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/reduce.h>
#include <tantu/kernels/sum.h>

namespace tantu {

namespace {

void sum_into(const char* op, const ReducedDims& r, Tensor& y) {
  if (y.numel() == 0) return;
  on_device(y.device(), op, [&](auto& ctx) { sum_last(ctx, std::as_const(r.x).in(), r.out(y), r.reduced); });
}

// The gradient of a sum over `kept_dim`, spread over `sizes`.
Tensor spread(const Tensor& g, const Shape& kept_dim, const Shape& sizes, DType dtype) {
  return g.to(dtype).view(kept_dim).expand(sizes);
}

Tensor truth(const char* op, const Tensor& x, const Axes& dims, bool keepdim, Reduce what) {
  const ReducedDims r(op, x, dims);
  Tensor y = make_tensor(op, r.shape(keepdim), x.dtype() == kUInt8 ? kUInt8 : kBool, x.device());
  if (y.numel() > 0)
    on_device(x.device(), op, [&](auto& ctx) { reduce_last(ctx, std::as_const(r.x).in(), r.out(y), r.reduced, what); });
  return y;
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& dims, bool keepdim, std::optional<DType> dtype, Site at) {
  tape::Op op("sum", at);
  const ReducedDims r("sum", x, dims);
  Tensor y =
      make_tensor("sum", r.shape(keepdim), dtype.value_or(is_integral(x.dtype()) ? kInt64 : x.dtype()), x.device());
  sum_into("sum", r, y);
  if (tape::wants(x) && is_floating(y.dtype()))
    tape::record("SumBackward0", {&y}, {x}, {},
                 [sizes = x.sizes(), kept_dim = r.kept_dim, type = x.dtype()](tape::Backward& b) {
                   return TensorList{spread(b.grad(), kept_dim, sizes, type)};
                 });
  return y;
}

Tensor sum_to_size(const Tensor& x, const Shape& sizes, Site at) {
  tape::Op op("sum_to_size", at);
  if (x.sizes() == sizes) return x;
  const int lead = x.sizes().size() - sizes.size();
  TANTU_CHECK(lead >= 0, ShapeError, "sum_to_size: size {} is not expandable to size {}", sizes, x.sizes());
  Dims dims;
  for (int d = 0; d < x.sizes().size(); ++d) {
    const int64_t wanted = d < lead ? 1 : sizes[d - lead];
    TANTU_CHECK(wanted == x.sizes()[d] || wanted == 1, ShapeError, "sum_to_size: size {} is not expandable to size {}",
                sizes, x.sizes());
    if (d < lead || wanted != x.sizes()[d]) dims.push_back(d);
  }
  return sum(x, dims, true).view(sizes);
}

Tensor mean(const Tensor& x, const Axes& dims, bool keepdim, std::optional<DType> dtype, Site at) {
  tape::Op op("mean", at);
  const DType type = dtype.value_or(x.dtype());
  TANTU_CHECK(is_floating(type), DTypeError,
              "mean: could not infer output dtype. Input dtype must be a floating point dtype. Got: {}", type);
  const ReducedDims r("mean", x, dims);
  // A half-precision sum of many elements would overflow before it is divided.
  Tensor y = make_tensor("mean", r.shape(keepdim), is_half(type) ? kFloat32 : type, x.device());
  sum_into("mean", r, y);
  const auto count = static_cast<double>(r.count);
  {
    NoGradGuard no_grad;
    y = y.div_(count).to(type);
  }
  if (tape::wants(x))
    tape::record("MeanBackward0", {&y}, {x}, {},
                 [sizes = x.sizes(), kept_dim = r.kept_dim, type = x.dtype(), count](tape::Backward& b) {
                   return TensorList{spread(b.grad() / count, kept_dim, sizes, type)};
                 });
  return y;
}

Tensor all(const Tensor& x, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("all", at);
  return truth("all", x, dims, keepdim, Reduce::All);
}

Tensor any(const Tensor& x, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("any", at);
  return truth("any", x, dims, keepdim, Reduce::Any);
}

Tensor Tensor::sum(const Axes& dims, bool keepdim, Site at) const {
  return tantu::sum(*this, dims, keepdim, {}, at);
}
Tensor Tensor::mean(const Axes& dims, bool keepdim, Site at) const {
  return tantu::mean(*this, dims, keepdim, {}, at);
}
Tensor Tensor::all(Site at) const {
  return tantu::all(*this, {}, false, at);
}
Tensor Tensor::any(Site at) const {
  return tantu::any(*this, {}, false, at);
}

}  // namespace tantu
