#include <tantu/autograd/ops/reduce_common.h>

#include <tantu/autograd/ops.h>

namespace tantu {

ReducedDims::ReducedDims(const char* op, const Tensor& input, const Axes& axes) {
  const int rank = input.sizes().size();
  bool is_reduced[kMaxDims] = {};
  for (int64_t axis : axes.dims()) {
    const int d = wrap_dim(op, axis, rank);
    TANTU_CHECK(rank == 0 || !is_reduced[d], IndexError, "{}: dim {} appears multiple times in the list of dims", op,
                d);
    is_reduced[d] = true;
  }
  Shape sizes, reduced_sizes;
  Strides strides, reduced_strides;
  for (int d = 0; d < rank; ++d) {
    if (axes.all() || is_reduced[d]) {
      dims.push_back(d);
      count *= input.sizes()[d];
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

View ReducedDims::out(Tensor& y) const {
  View v = y.out();
  v.sizes = kept;
  v.strides = contiguous_strides(kept);
  return v;
}

void ReducedDims::check_not_empty(const char* op, const Axes& axes) const {
  if (count > 0) return;
  TANTU_CHECK(
      !axes.all(), IndexError,
      "{}: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
      "argument.",
      op);
  for (int i = 0; i < reduced; ++i)
    TANTU_CHECK(x.sizes()[kept.size() + i] > 0, IndexError, "{}: Expected reduction dim {} to have non-zero size.", op,
                dims[i]);
}

Tensor selected_backward(const Tensor& g, const Tensor& indices, int dim, const Shape& sizes, bool keepdim) {
  if (sizes.empty()) return g;
  const auto whole = [&](const Tensor& t) { return keepdim ? t : unsqueeze(t, dim); };
  return scatter(zeros(sizes, g.options()), dim, whole(indices), whole(g));
}

Tensor shared_backward(const Tensor& g, const Tensor& x, const Tensor& y, const Dims& dims) {
  const Tensor equal = (x == y).to(g.dtype());
  return equal * (g / sum(equal, dims, true));
}

Tensor with_last(const Tensor& t, int dim) {
  Shape sizes = t.sizes();
  Strides strides = t.strides();
  const int64_t size = sizes.empty() ? 1 : sizes[dim], stride = sizes.empty() ? 1 : strides[dim];
  if (!sizes.empty()) {
    sizes.erase(dim);
    strides.erase(dim);
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return make_view(t.impl().storage, t.dtype(), sizes, strides, t.storage_offset());
}

}  // namespace tantu
