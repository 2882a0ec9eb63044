#include <tantu/autograd/ops/reduce.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/sum.h>

namespace tantu {

Reduction::Reduction(const char* op, const Tensor& input, const Axes& axes) {
  const int rank = input.sizes().size();
  bool is_reduced[kMaxDims] = {};
  for (int64_t axis : axes.dims()) {
    const int d = wrap_dim(op, axis, rank);
    TANTU_CHECK(!is_reduced[d], IndexError, "{}: dim {} appears multiple times in the list of dims", op, d);
    is_reduced[d] = rank > 0;
  }
  Shape sizes, reduced_sizes;
  Strides strides, reduced_strides;
  for (int d = 0; d < rank; ++d) {
    if (axes.all() || is_reduced[d]) {
      dims.push_back(d);
      reduced_sizes.push_back(input.sizes()[d]);
      reduced_strides.push_back(input.strides()[d]);
      kept_dim.push_back(1);
    } else {
      sizes.push_back(input.sizes()[d]);
      strides.push_back(input.strides()[d]);
      kept_dim.push_back(input.sizes()[d]);
    }
  }
  kept = sizes;
  reduced = reduced_sizes.size();
  for (int d = 0; d < reduced; ++d) {
    sizes.push_back(reduced_sizes[d]);
    strides.push_back(reduced_strides[d]);
  }
  x = make_view(input.impl().storage, input.dtype(), sizes, strides, input.storage_offset());
}

Tensor sum(const Tensor& x, const Axes& dims, bool keepdim, Site at) {
  tape::Op op("sum", at);
  const Reduction r("sum", x, dims);
  Tensor y = make_tensor("sum", r.shape(keepdim), is_integral(x.dtype()) ? kInt64 : x.dtype(), x.device());
  if (y.numel() > 0) on_device(x.device(), "sum", [&](auto& ctx) { sum_last(ctx, std::as_const(r.x).in(), y.out(), r.reduced); });
  if (tape::wants(x))
    tape::record("SumBackward0", {&y}, {x}, {}, [sizes = x.sizes(), kept_dim = r.kept_dim](tape::Backward& b) {
      return TensorList{b.grad().view(kept_dim).expand(sizes)};
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
    TANTU_CHECK(wanted == x.sizes()[d] || wanted == 1, ShapeError, "sum_to_size: size {} is not expandable to size {}", sizes, x.sizes());
    if (d < lead || wanted != x.sizes()[d]) dims.push_back(d);
  }
  return sum(x, dims, true).view(sizes);
}

Tensor Tensor::sum(const Axes& dims, bool keepdim, Site at) const { return tantu::sum(*this, dims, keepdim, at); }

}  // namespace tantu
