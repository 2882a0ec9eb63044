#include <tantu/autograd/ops/gather.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/index_common.h>
#include <tantu/kernels/index.h>

namespace tantu {

namespace {

void check_index(const char* op, const Tensor& x, const Tensor& index) {
  tape::common_device(op, {{"self", &x}, {"index", &index}});
  TANTU_CHECK(index.dtype() == kInt64 || index.dtype() == kInt32, DTypeError,
              "{}: Expected dtype int32/int64 for index, but got {}", op, index.dtype());
}

void check_source(const char* op, const Tensor& x, const Tensor& source) {
  tape::common_device(op, {{"self", &x}, {"source", &source}});
  TANTU_CHECK(source.dtype() == x.dtype(), DTypeError,
              "{}: Expected self.dtype to be equal to src.dtype, but got {} and {}", op, x.dtype(), source.dtype());
}

// 0-dim tensors count as vectors of one element here.
Tensor as_vector(const Tensor& t) {
  return t.dim() == 0 ? t.unsqueeze(0) : t;
}

// index[n, m, …] walks dimension `dim` of x; its other coordinates are x's.
IndexPlan pointwise_plan(const char* op, const Tensor& x, int dim, const Tensor& index, bool wraps = false) {
  IndexPlan plan{.op = op, .sizes = index.sizes(), .base = x.strides()};
  plan.wraps = wraps;
  plan.base[dim] = 0;
  plan.add(index.in(), x.sizes()[dim], x.strides()[dim], dim);
  return plan;
}

// index[n] takes whole slices of dimension `dim`.
IndexPlan slice_plan(const char* op, const Tensor& x, int dim, const Tensor& index) {
  IndexPlan plan{.op = op, .sizes = index.sizes(), .base = Dims::filled(1, 0), .before = dim};
  plan.add(index.in(), x.sizes()[dim], x.strides()[dim], dim);
  return plan;
}

template <class V>
V without_dim(V v, int dim) {
  v.sizes.erase(dim);
  v.strides.erase(dim);
  return v;
}

template <class V>
V cell(V v) {
  v.sizes = {};
  v.strides = {};
  return v;
}

bool no_larger(const Shape& a, const Shape& b, int except) {
  for (int d = 0; d < a.size(); ++d)
    if (d != except && a[d] > b[d]) return false;
  return true;
}

// Writes or adds source, a tensor of index's shape, into y; all three at least 1-D.
void scatter_into(const char* op, Tensor& y, int dim, const Tensor& index, const Tensor& source, bool accumulate) {
  if (index.numel() == 0) return;
  const auto write = [&](Tensor& to) {
    const IndexPlan plan = pointwise_plan(op, to, dim, index);
    const Tensor from = apart_from(to, source.detach().to(to.dtype()));
    on_device(to.device(), op, [&](auto& ctx) { index_put(ctx, plan, from.in(), cell(to.out()), accumulate); });
  };
  if (accumulate) accumulate_in(op, y, write);
  else write(y);
}

// The parts of scatter_ and scatter_add_ that are the same. Returns the source cut to index's shape.
Tensor check_scatter(const char* op, const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  check_source(op, x, source);
  const Tensor i = as_vector(index);
  Tensor s = as_vector(source);
  if (index.numel() == 0) return s;
  const Shape sizes = as_vector(x.detach()).sizes();
  TANTU_CHECK(i.dim() == sizes.size(), ShapeError,
              "{}: Index tensor must have the same number of dimensions as self tensor, but got {} and {}", op,
              i.sizes(), sizes);
  TANTU_CHECK(i.dim() == s.dim(), ShapeError,
              "{}: Index tensor must have the same number of dimensions as src tensor, but got {} and {}", op,
              i.sizes(), s.sizes());
  TANTU_CHECK(
      no_larger(i.sizes(), sizes, dim) && no_larger(i.sizes(), s.sizes(), -1), ShapeError,
      "{}: Expected index {} to be no larger than self {} apart from dimension {} and to be no larger size than src {}",
      op, i.sizes(), sizes, dim, s.sizes());
  for (int d = 0; d < i.dim(); ++d)
    if (s.sizes()[d] != i.sizes()[d]) s = s.narrow(d, 0, i.sizes()[d]);
  return s;
}

Tensor& scatter_write(const char* op, const char* grad_name, Tensor& x, int64_t dim, const Tensor& index,
                      const Tensor& whole, bool accumulate) {
  tape::check_inplace(op, x);
  check_index(op, x, index);
  const int d = wrap_dim(op, dim, x.sizes().size());
  const Tensor source = check_scatter(op, x, d, index, whole);
  Tensor y = x.dim() == 0 ? make_view(x.impl().storage, x.dtype(), {1}, {1}, x.storage_offset()) : x;
  scatter_into(op, y, d, as_vector(index), source, accumulate);
  if (tape::wants(x, source) && is_floating(x.dtype()))
    tape::record_inplace(grad_name, x, {x, source}, {tape::Saved(index)},
                         [d, accumulate, sizes = source.sizes()](tape::Backward& b) {
                           const Tensor g = b.grad(), index = b.saved(0);
                           TensorList result(2);
                           if (b.needs(0)) result[0] = accumulate ? g : scatter(g, d, index, 0);
                           if (b.needs(1) && index.numel() > 0) result[1] = gather(g, d, as_vector(index));
                           else if (b.needs(1)) result[1] = zeros(sizes, {.dtype = g.dtype(), .device = g.device()});
                           return result;
                         });
  else tape::written(x);
  return x;
}

// `gather`, under the name of the operation that needs it; with `wraps` negative positions count from the end.
Tensor gathered(const char* op, const Tensor& x, int d, const Tensor& index, bool wraps) {
  const Tensor from = as_vector(x), i = as_vector(index);
  if (index.numel() > 0) {
    TANTU_CHECK(i.dim() == from.dim(), ShapeError,
                "{}: Index tensor must have the same number of dimensions as input tensor, but got {} and {}", op,
                index.sizes(), x.sizes());
    TANTU_CHECK(no_larger(i.sizes(), from.sizes(), d), ShapeError,
                "{}: Size does not match, expected index {} to be no larger than self {} apart from dimension {}", op,
                i.sizes(), from.sizes(), d);
  }
  Tensor y = make_tensor(op, index.sizes(), x.dtype(), x.device());
  if (index.numel() > 0) {
    const IndexPlan plan = pointwise_plan(op, from, d, i, wraps);
    ConstView cells = from.in();
    View out = y.out();
    out.sizes = i.sizes();
    out.strides = contiguous_strides(i.sizes());
    on_device(x.device(), op, [&](auto& ctx) { index_take(ctx, plan, cell(cells), out); });
  }
  if (tape::wants(x)) {
    const Tensor from_start = wraps ? where(index < 0, index + from.sizes()[d], index) : index;
    tape::record("GatherBackward0", {&y}, {x}, {tape::Saved(from_start)}, [d, sizes = x.sizes()](tape::Backward& b) {
      const Tensor g = b.grad();
      Tensor whole = zeros(sizes, {.dtype = g.dtype(), .device = g.device()});
      return TensorList{scatter_add_(whole, d, b.saved(0), g)};
    });
  }
  return y;
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index, Site at) {
  tape::Op op("index_select", at);
  const int d = wrap_dim("index_select", dim, x.sizes().size());
  check_index("index_select", x, index);
  TANTU_CHECK(index.dim() <= 1, IndexError, "index_select: Index is supposed to be a vector, but got shape {}",
              index.sizes());
  if (x.dim() == 0) {
    TANTU_CHECK(index.numel() == 1, ShapeError, "index_select: Index to scalar can have only 1 value, got {} value(s)",
                index.numel());
    return index_select(x.unsqueeze(0), 0, index).squeeze(0);
  }
  const Tensor rows = as_vector(index);
  Shape sizes = x.sizes();
  sizes[d] = rows.numel();
  Tensor y = make_tensor("index_select", sizes, x.dtype(), x.device());
  const IndexPlan plan = slice_plan("index_select", x, d, rows);
  on_device(x.device(), "index_select", [&](auto& ctx) { index_take(ctx, plan, without_dim(x.in(), d), y.out()); });
  if (tape::wants(x))
    tape::record("IndexSelectBackward0", {&y}, {x}, {tape::Saved(rows)}, [d, from = x.sizes()](tape::Backward& b) {
      const Tensor g = b.grad();
      Tensor whole = zeros(from, {.dtype = g.dtype(), .device = g.device()});
      return TensorList{index_add_(whole, d, b.saved(0), g)};
    });
  return y;
}

Tensor& index_add_(Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, double alpha, Site at) {
  tape::Op op("index_add_", at);
  const char* name = "index_add_";
  tape::check_inplace(name, x);
  const int d = wrap_dim(name, dim, x.sizes().size());
  check_index(name, x, index);
  check_source(name, x, source);
  TANTU_CHECK(index.dim() <= 1, IndexError, "index_add_: Index is supposed to be a vector, but got shape {}",
              index.sizes());
  const Tensor rows = as_vector(index), parts = as_vector(source);
  const Shape sizes = as_vector(x.detach()).sizes();
  TANTU_CHECK(d < parts.dim() && rows.numel() == parts.sizes()[d], ShapeError,
              "index_add_: Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}", rows.numel(),
              d < parts.dim() ? parts.sizes()[d] : 0, d);
  Shape expected = sizes;
  expected[d] = rows.numel();
  TANTU_CHECK(parts.sizes() == expected && x.dim() == source.dim(), ShapeError,
              "index_add_: source tensor shape must match self tensor shape, excluding the specified dimension. Got "
              "self.shape = {} "
              "source.shape = {}",
              x.sizes(), source.sizes());
  const Scalar factor = is_floating(x.dtype()) ? Scalar(alpha) : Scalar(static_cast<int64_t>(alpha));
  const Tensor scaled = alpha == 1 ? parts : mul(parts, factor);
  const auto write = [&](Tensor& to) {
    Tensor y = to.dim() == 0 ? make_view(to.impl().storage, to.dtype(), {1}, {1}, to.storage_offset()) : to;
    const IndexPlan plan = slice_plan(name, y, d, rows);
    const Tensor from = apart_from(y, scaled.detach().to(y.dtype()));
    on_device(y.device(), name, [&](auto& ctx) { index_put(ctx, plan, from.in(), without_dim(y.out(), d), true); });
  };
  accumulate_in(name, x, write);
  if (tape::wants(x, scaled) && is_floating(x.dtype()))
    tape::record_inplace("IndexAddBackward0", x, {x, scaled}, {tape::Saved(rows)}, [d](tape::Backward& b) {
      TensorList result(2);
      if (b.needs(0)) result[0] = b.grad();
      if (b.needs(1)) result[1] = as_vector(index_select(b.grad(), d, b.saved(0)));
      return result;
    });
  else tape::written(x);
  return x;
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, double alpha, Site at) {
  tape::Op op("index_add", at);
  Tensor y = clone(x);
  return index_add_(y, dim, index, source, alpha);
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, Site at) {
  tape::Op op("gather", at);
  const int d = wrap_dim("gather", dim, x.sizes().size());
  check_index("gather", x, index);
  return gathered("gather", x, d, index, false);
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, int64_t dim, Site at) {
  tape::Op op("take_along_dim", at);
  check_index("take_along_dim", x, index);
  TANTU_CHECK(x.dim() == index.dim(), ShapeError,
              "take_along_dim: input and indices should have the same number of dimensions, but got {} dimensions for "
              "input, and {} "
              "dimensions for indices",
              x.dim(), index.dim());
  const int d = wrap_dim("take_along_dim", dim, x.sizes().size());
  Shape lead_x = x.sizes(), lead_i = index.sizes();
  if (x.dim() > 0) lead_x[d] = lead_i[d] = 1;
  Shape whole = broadcast_shapes("take_along_dim", lead_x, lead_i), picked = whole;
  if (x.dim() > 0) {
    whole[d] = x.sizes()[d];
    picked[d] = index.sizes()[d];
  }
  return gathered("take_along_dim", expand(x, whole), d, expand(index, picked), true);
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, Site at) {
  tape::Op op("take_along_dim", at);
  return take_along_dim(flatten(x), flatten(index), 0);
}

Tensor& scatter_(Tensor& x, int64_t dim, const Tensor& index, const Operand& source, Site at) {
  tape::Op op("scatter_", at);
  if (source.is_tensor()) return scatter_write("scatter_", "ScatterBackward0", x, dim, index, source.tensor(), false);
  const Scalar number = source.scalar().checked("scatter_", x.dtype());
  const Tensor value = full({}, number, {.dtype = x.dtype(), .device = x.device()});
  return scatter_write("scatter_", "ScatterBackward1", x, dim, index, value.expand(index.sizes()), false);
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& source, Site at) {
  tape::Op op("scatter", at);
  Tensor y = clone(x);
  return scatter_(y, dim, index, source);
}

Tensor& scatter_add_(Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Site at) {
  tape::Op op("scatter_add_", at);
  return scatter_write("scatter_add_", "ScatterAddBackward0", x, dim, index, source, true);
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Site at) {
  tape::Op op("scatter_add", at);
  Tensor y = clone(x);
  return scatter_add_(y, dim, index, source);
}

Tensor one_hot(const Tensor& x, std::optional<int64_t> num_classes, Site at) {
  tape::Op op("one_hot", at);
  TANTU_CHECK(x.dtype() == kInt64, DTypeError,
              "one_hot: one_hot is only applicable to index tensor of type int64, but got {}", x.dtype());
  TANTU_CHECK(!num_classes || *num_classes >= 0, ValueError, "one_hot: num_classes must not be negative, but got {}",
              *num_classes);
  TANTU_CHECK(num_classes.value_or(0) > 0 || x.numel() > 0, ShapeError,
              "one_hot: Can not infer total number of classes from empty tensor.");
  int64_t smallest = 0, largest = -1;
  if (x.numel() > 0) {
    smallest = x.min().item<int64_t>();
    largest = x.max().item<int64_t>();
  }
  TANTU_CHECK(smallest >= 0, IndexError, "one_hot: Class values must be non-negative, but got {}", smallest);
  const int64_t classes = num_classes.value_or(largest + 1);
  TANTU_CHECK(largest < classes, IndexError, "one_hot: Class values must be smaller than num_classes ({}), but got {}",
              classes, largest);
  Shape sizes = x.sizes();
  sizes.push_back(classes);
  checked_numel("one_hot", sizes);
  Tensor y = zeros(sizes, {.dtype = kInt64, .device = x.device()});
  return scatter_(y, -1, x.unsqueeze(-1), 1);
}

Tensor Tensor::index_select(int64_t dim, const Tensor& index, Site at) const {
  return tantu::index_select(*this, dim, index, at);
}
Tensor Tensor::gather(int64_t dim, const Tensor& index, Site at) const {
  return tantu::gather(*this, dim, index, at);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Operand& source, Site at) {
  return tantu::scatter_(*this, dim, index, source, at);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& source, Site at) {
  return tantu::scatter_add_(*this, dim, index, source, at);
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, double alpha, Site at) {
  return tantu::index_add_(*this, dim, index, source, alpha, at);
}

}  // namespace tantu
