#include <tantu/autograd/ops/shape.h>

#include <tantu/autograd/ops/reduce.h>
#include <tantu/autograd/ops/view_of.h>

namespace tantu {

namespace {

Shape infer_shape(const char* op, int64_t elements, const Shape& shape) {
  Shape out = shape;
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      TANTU_CHECK(unknown < 0, ShapeError, "{}: only one dimension can be inferred, but got {}", op, shape);
      unknown = i;
      continue;
    }
    TANTU_CHECK(shape[i] >= 0, ShapeError, "{}: invalid shape dimension {} in {}", op, shape[i], shape);
    TANTU_CHECK(!__builtin_mul_overflow(known, shape[i], &known), ShapeError, "{}: {} has too many elements", op,
                shape);
  }
  if (unknown >= 0) {
    TANTU_CHECK(
        known != 0, ShapeError,
        "{}: cannot reshape tensor of {} elements into shape {} because the unspecified dimension size -1 can be "
        "any value and is ambiguous",
        op, elements, shape);
    out[unknown] = elements / known;
    known *= out[unknown];
  }
  TANTU_CHECK(known == elements, ShapeError, "{}: shape '{}' is invalid for input of size {}", op, shape, elements);
  return out;
}

// Strides that show x as `shape` without moving an element, if there are any. x's dimensions fall into runs that lie
// one within the other; every run must be made of whole dimensions of `shape`.
std::optional<Strides> strides_for(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous() || x.numel() == 0) return contiguous_strides(shape);
  Shape runs;  // innermost first
  Strides steps;
  for (int d = x.sizes().size() - 1; d >= 0; --d) {
    const int64_t size = x.sizes()[d], stride = x.strides()[d];
    if (size == 1) continue;
    const int last = runs.size() - 1;
    if (last >= 0 && stride == steps[last] * runs[last]) {
      runs[last] *= size;
    } else {
      runs.push_back(size);
      steps.push_back(stride);
    }
  }
  Strides out = shape;
  int run = 0;
  int64_t covered = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] != 1 && run < runs.size() && covered == runs[run]) {
      ++run;
      covered = 1;
    }
    const bool beyond = run == runs.size();
    if (beyond && shape[d] != 1) return std::nullopt;
    out[d] = beyond ? 1 : covered * steps[run];
    covered *= shape[d];
    if (!beyond && runs[run] % covered != 0) return std::nullopt;
  }
  return out;
}

Tensor shown_as(const Tensor& x, const char* grad_name, const Shape& shape, const Strides& strides) {
  return view_of(x, grad_name, shape, strides, x.storage_offset(),
                 [](const Tensor& g, const Shape& from) { return reshape(g, from); });
}

}  // namespace

Tensor view(const Tensor& x, const Shape& shape, Site at) {
  tape::Op op("view", at);
  const Shape out = infer_shape("view", x.numel(), shape);
  const auto strides = strides_for(x, out);
  TANTU_CHECK(
      strides, ShapeError,
      "view: view size is not compatible with input tensor's size and stride (at least one dimension spans across "
      "two contiguous subspaces). Use .reshape(...) instead: view size {}, input size {}, stride {}",
      shape, x.sizes(), x.strides());
  return shown_as(x, "ViewBackward0", out, *strides);
}

Tensor reshape(const Tensor& x, const Shape& shape, Site at) {
  tape::Op op("reshape", at);
  const Shape out = infer_shape("reshape", x.numel(), shape);
  if (const auto strides = strides_for(x, out)) return shown_as(x, "ViewBackward0", out, *strides);
  return shown_as(clone(x), "UnsafeViewBackward0", out, contiguous_strides(out));
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim, Site at) {
  tape::Op op("flatten", at);
  const int rank = x.sizes().size();
  const int first = wrap_dim("flatten", start_dim, rank), last = wrap_dim("flatten", end_dim, rank);
  TANTU_CHECK(first <= last, ValueError, "flatten: start_dim cannot come after end_dim, but got {} and {}", start_dim,
              end_dim);
  if (rank == 0) return reshape(x, {1});
  Shape shape;
  int64_t merged = 1;
  for (int i = 0; i < rank; ++i) {
    if (i < first || i > last) shape.push_back(x.sizes()[i]);
    else merged *= x.sizes()[i];
    if (i == last) shape.push_back(merged);
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, int64_t dim, const Shape& sizes, Site at) {
  tape::Op op("unflatten", at);
  TANTU_CHECK(x.dim() > 0, IndexError, "unflatten: cannot be applied to a 0-dim tensor");
  TANTU_CHECK(!sizes.empty(), ShapeError, "unflatten: sizes must be non-empty");
  const int d = wrap_dim("unflatten", dim, x.sizes().size());
  const Shape inner = infer_shape("unflatten", x.sizes()[d], sizes);
  Shape shape;
  for (int i = 0; i < x.sizes().size(); ++i) {
    if (i != d) shape.push_back(x.sizes()[i]);
    else
      for (int64_t s : inner) shape.push_back(s);
  }
  return view(x, shape);
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1, Site at) {
  tape::Op op("transpose", at);
  const int rank = x.sizes().size();
  const int i = wrap_dim("transpose", dim0, rank), j = wrap_dim("transpose", dim1, rank);
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  if (rank > 0) {
    std::swap(sizes[i], sizes[j]);
    std::swap(strides[i], strides[j]);
  }
  return view_of(x, "TransposeBackward0", sizes, strides, x.storage_offset(),
                 [i, j](const Tensor& g, const Shape&) { return transpose(g, i, j); });
}

Tensor permute(const Tensor& x, const Dims& dims, Site at) {
  tape::Op op("permute", at);
  const int rank = x.sizes().size();
  TANTU_CHECK(dims.size() == rank, ShapeError,
              "permute: number of dimensions in the tensor input does not match the length of the desired ordering of "
              "dimensions i.e. input.dim() = {} is not equal to len(dims) = {} ({})",
              rank, dims.size(), dims);
  Shape sizes;
  Strides strides;
  Dims inverse = Dims::filled(rank, -1);
  for (int i = 0; i < rank; ++i) {
    const int d = wrap_dim("permute", dims[i], rank);
    TANTU_CHECK(inverse[d] < 0, ValueError, "permute: duplicate dims are not allowed: {}", dims);
    inverse[d] = i;
    sizes.push_back(x.sizes()[d]);
    strides.push_back(x.strides()[d]);
  }
  return view_of(x, "PermuteBackward0", sizes, strides, x.storage_offset(),
                 [inverse](const Tensor& g, const Shape&) { return permute(g, inverse); });
}

Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination, Site at) {
  tape::Op op("movedim", at);
  const int rank = x.sizes().size();
  TANTU_CHECK(source.size() == destination.size(), ShapeError,
              "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as "
              "destination ({} dims)",
              source, destination);
  if (rank == 0) return permute(x, {});
  Dims order = Dims::filled(rank, -1);
  bool taken[kMaxDims] = {};
  for (int i = 0; i < source.size(); ++i) {
    const int from = wrap_dim("movedim", source[i], rank), to = wrap_dim("movedim", destination[i], rank);
    TANTU_CHECK(!taken[from], ValueError, "movedim: repeated dim in `source` ({})", source);
    TANTU_CHECK(order[to] < 0, ValueError, "movedim: repeated dim in `destination` ({})", destination);
    taken[from] = true;
    order[to] = from;
  }
  int next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (taken[next]) ++next;
    d = next++;
  }
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Shape& shape, Site at) {
  tape::Op op("expand", at);
  const int lead = shape.size() - x.sizes().size();
  TANTU_CHECK(
      lead >= 0, ShapeError,
      "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor "
      "({}): sizes {}, tensor {}",
      shape.size(), x.sizes().size(), shape, x.sizes());
  Shape out = shape;
  for (int i = 0; i < shape.size(); ++i) {
    const int64_t have = i < lead ? 1 : x.sizes()[i - lead];
    if (shape[i] == -1) {
      TANTU_CHECK(i >= lead, ShapeError,
                  "expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {} "
                  "(sizes {})",
                  i, shape);
      out[i] = have;
    }
    TANTU_CHECK(
        out[i] == have || (have == 1 && out[i] >= 0), ShapeError,
        "expand: The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}. "
        "Target sizes: {}. Tensor sizes: {}",
        shape[i], have, i, shape, x.sizes());
  }
  return view_of(x, "ExpandBackward0", out, broadcast_strides(x.sizes(), x.strides(), out), x.storage_offset(),
                 [](const Tensor& g, const Shape& from) { return sum_to_size(g, from); });
}

Tensor squeeze(const Tensor& x, Site at) {
  tape::Op op("squeeze", at);
  Shape sizes;
  Strides strides;
  for (int i = 0; i < x.sizes().size(); ++i)
    if (x.sizes()[i] != 1) {
      sizes.push_back(x.sizes()[i]);
      strides.push_back(x.strides()[i]);
    }
  return shown_as(x, "SqueezeBackward0", sizes, strides);
}

Tensor squeeze(const Tensor& x, int64_t dim, Site at) {
  tape::Op op("squeeze", at);
  const int d = wrap_dim("squeeze", dim, x.sizes().size());
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  if (!sizes.empty() && sizes[d] == 1) {
    sizes.erase(d);
    strides.erase(d);
  }
  return shown_as(x, "SqueezeBackward1", sizes, strides);
}

Tensor unsqueeze(const Tensor& x, int64_t dim, Site at) {
  tape::Op op("unsqueeze", at);
  const int d = wrap_dim("unsqueeze", dim, x.sizes().size() + 1);
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  const int64_t step = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, step);
  return shown_as(x, "UnsqueezeBackward0", sizes, strides);
}

Tensor Tensor::view(const Shape& shape, Site at) const {
  return tantu::view(*this, shape, at);
}
Tensor Tensor::reshape(const Shape& shape, Site at) const {
  return tantu::reshape(*this, shape, at);
}
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim, Site at) const {
  return tantu::flatten(*this, start_dim, end_dim, at);
}
Tensor Tensor::transpose(int64_t dim0, int64_t dim1, Site at) const {
  return tantu::transpose(*this, dim0, dim1, at);
}
Tensor Tensor::t(Site at) const {
  TANTU_CHECK(dim() <= 2, ShapeError, "t: expects a tensor with <= 2 dimensions, but self is {}D", dim());
  return tantu::transpose(*this, 0, dim() < 2 ? 0 : 1, at);
}
Tensor Tensor::permute(const Dims& dims, Site at) const {
  return tantu::permute(*this, dims, at);
}
Tensor Tensor::expand(const Shape& shape, Site at) const {
  return tantu::expand(*this, shape, at);
}
Tensor Tensor::expand_as(const Tensor& other, Site at) const {
  return tantu::expand(*this, other.sizes(), at);
}
Tensor Tensor::squeeze(Site at) const {
  return tantu::squeeze(*this, at);
}
Tensor Tensor::squeeze(int64_t dim, Site at) const {
  return tantu::squeeze(*this, dim, at);
}
Tensor Tensor::unsqueeze(int64_t dim, Site at) const {
  return tantu::unsqueeze(*this, dim, at);
}

}  // namespace tantu
