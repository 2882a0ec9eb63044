#include <tantu/autograd/ops/shape.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

namespace tantu {

namespace {

// A view of x; `backward(g, sizes of x)` takes the gradient back.
template <class F>
Tensor make_view_of(const Tensor& x, const char* grad_name, const Shape& sizes, const Strides& strides, int64_t offset, F backward) {
  Tensor y = make_view(x.impl().storage, x.dtype(), sizes, strides, offset);
  tape::note_view(y, x);
  if (tape::wants(x))
    tape::record(grad_name, {&y}, {x}, {}, [from = x.sizes(), backward](tape::Backward& b) {
      return TensorList{backward(b.grad(), from)};
    });
  return y;
}

Shape infer_shape(const char* op, const Tensor& x, const Shape& shape) {
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
    TANTU_CHECK(!__builtin_mul_overflow(known, shape[i], &known), ShapeError, "{}: {} has too many elements", op, shape);
  }
  if (unknown >= 0) {
    TANTU_CHECK(known != 0, ShapeError, "{}: cannot reshape tensor of {} elements into shape {}: -1 can be any value", op,
                x.numel(), shape);
    out[unknown] = x.numel() / known;
    known *= out[unknown];
  }
  TANTU_CHECK(known == x.numel(), ShapeError, "{}: shape {} is invalid for input of size {} (shape {})", op, shape, x.numel(),
              x.sizes());
  return out;
}

// Strides that show x as `shape` without moving an element, if there are any.
std::optional<Strides> strides_for(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous() || x.numel() == 0) return contiguous_strides(shape);
  Strides out = Dims::filled(shape.size(), 1);
  int to = shape.size() - 1, from = x.sizes().size() - 1;
  while (from >= 0) {
    // A run of x's dimensions that lie one within the other.
    int64_t run = x.sizes()[from], step = x.strides()[from];
    int start = from;
    while (start > 0 && (x.sizes()[start - 1] == 1 || run == 1 || x.strides()[start - 1] == x.strides()[from] * run)) {
      --start;
      if (run == 1) {
        step = x.strides()[start];
        from = start;
      }
      run *= x.sizes()[start];
    }
    int64_t covered = 1;
    while (to >= 0 && (covered < run || shape[to] == 1)) {
      out[to] = covered * step;
      covered *= shape[to];
      --to;
    }
    if (covered != run) return std::nullopt;
    from = start - 1;
  }
  for (; to >= 0; --to) {
    if (shape[to] != 1) return std::nullopt;
    out[to] = 1;
  }
  return out;
}

Tensor view_as(const Tensor& x, const char* grad_name, const Shape& shape, const Strides& strides) {
  return make_view_of(x, grad_name, shape, strides, x.storage_offset(),
                      [](const Tensor& g, const Shape& from) { return reshape(g, from); });
}

}  // namespace

Tensor view(const Tensor& x, const Shape& shape, Site at) {
  tape::Op op("view", at);
  const Shape out = infer_shape("view", x, shape);
  const auto strides = strides_for(x, out);
  TANTU_CHECK(strides, ShapeError,
              "view: view size {} is not compatible with input tensor's size {} and stride {}. Use .reshape(...) instead", shape,
              x.sizes(), x.strides());
  return view_as(x, "ViewBackward0", out, *strides);
}

Tensor reshape(const Tensor& x, const Shape& shape, Site at) {
  tape::Op op("reshape", at);
  const Shape out = infer_shape("reshape", x, shape);
  if (const auto strides = strides_for(x, out)) return view_as(x, "ViewBackward0", out, *strides);
  const Tensor copy = clone(x);
  return view_as(copy, "UnsafeViewBackward0", out, contiguous_strides(out));
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim, Site at) {
  tape::Op op("flatten", at);
  const int rank = x.sizes().size();
  const int first = wrap_dim("flatten", start_dim, rank), last = wrap_dim("flatten", end_dim, rank);
  TANTU_CHECK(first <= last, ValueError, "flatten: start_dim {} cannot come after end_dim {}", start_dim, end_dim);
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
  return make_view_of(x, "TransposeBackward0", sizes, strides, x.storage_offset(),
                      [i, j](const Tensor& g, const Shape&) { return transpose(g, i, j); });
}

Tensor permute(const Tensor& x, const Dims& dims, Site at) {
  tape::Op op("permute", at);
  const int rank = x.sizes().size();
  TANTU_CHECK(dims.size() == rank, ShapeError, "permute: number of dimensions in the tensor input does not match the length "
              "of the desired ordering of dimensions: input.dim() = {} and dims {}", rank, dims);
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
  return make_view_of(x, "PermuteBackward0", sizes, strides, x.storage_offset(),
                      [inverse](const Tensor& g, const Shape&) { return permute(g, inverse); });
}

Tensor expand(const Tensor& x, const Shape& shape, Site at) {
  tape::Op op("expand", at);
  const int lead = shape.size() - x.sizes().size();
  TANTU_CHECK(lead >= 0, ShapeError, "expand: the number of sizes provided ({}: {}) must be greater or equal to the number of "
              "dimensions in the tensor ({}: {})", shape.size(), shape, x.sizes().size(), x.sizes());
  Shape out = shape;
  for (int i = 0; i < shape.size(); ++i) {
    const int64_t have = i < lead ? 1 : x.sizes()[i - lead];
    if (shape[i] == -1) {
      TANTU_CHECK(i >= lead, ShapeError, "expand: the size -1 isn't allowed in a leading, non-existing dimension {} ({})", i, shape);
      out[i] = have;
    }
    TANTU_CHECK(out[i] == have || (have == 1 && out[i] >= 0), ShapeError,
                "expand: The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}. "
                "Target sizes: {}. Tensor sizes: {}", shape[i], have, i, shape, x.sizes());
  }
  return make_view_of(x, "ExpandBackward0", out, broadcast_strides(x.sizes(), x.strides(), out), x.storage_offset(),
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
  return view_as(x, "SqueezeBackward0", sizes, strides);
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
  return view_as(x, "SqueezeBackward1", sizes, strides);
}

Tensor unsqueeze(const Tensor& x, int64_t dim, Site at) {
  tape::Op op("unsqueeze", at);
  const int d = wrap_dim("unsqueeze", dim, x.sizes().size() + 1);
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  const int64_t step = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, step);
  return view_as(x, "UnsqueezeBackward0", sizes, strides);
}

Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step, Site at) {
  tape::Op op("slice", at);
  TANTU_CHECK(x.dim() > 0, IndexError, "slice: cannot be applied to a 0-dim tensor");
  TANTU_CHECK(step > 0, ValueError, "slice: step must be positive, but got {}", step);
  const int d = wrap_dim("slice", dim, x.sizes().size());
  const int64_t n = x.sizes()[d];
  const auto clip = [n](int64_t i) { return i < 0 ? (i + n < 0 ? 0 : i + n) : i > n ? n : i; };
  const int64_t first = clip(start.value_or(0)), last = clip(end.value_or(n));
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  sizes[d] = last > first ? (last - first - 1) / step + 1 : 0;
  const int64_t offset = x.storage_offset() + (sizes[d] > 0 ? first * strides[d] : 0);
  strides[d] *= step;
  return make_view_of(x, "SliceBackward0", sizes, strides, offset, [d, first, last, step](const Tensor& g, const Shape& from) {
    Tensor whole = zeros(from, {.dtype = g.dtype(), .device = g.device()});
    slice(whole, d, first, last, step).copy_(g);
    return whole;
  });
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length, Site at) {
  tape::Op op("narrow", at);
  TANTU_CHECK(x.dim() > 0, IndexError, "narrow: cannot be applied to a 0-dim tensor");
  const int d = wrap_dim("narrow", dim, x.sizes().size());
  const int64_t n = x.sizes()[d], first = start < 0 ? start + n : start;
  TANTU_CHECK(length >= 0, ValueError, "narrow: length must be non-negative, but got {}", length);
  TANTU_CHECK(first >= 0 && first <= n && length <= n - first, IndexError,
              "narrow: start ({}) + length ({}) exceeds dimension size ({}) of dimension {}", start, length, n, d);
  return slice(x, d, first, first + length, 1);
}

Tensor select(const Tensor& x, int64_t dim, int64_t index, Site at) {
  tape::Op op("select", at);
  TANTU_CHECK(x.dim() > 0, IndexError, "select: cannot be applied to a 0-dim tensor");
  const int d = wrap_dim("select", dim, x.sizes().size());
  const int64_t n = x.sizes()[d];
  TANTU_CHECK(index >= -n && index < n, IndexError, "select: index {} is out of bounds for dimension {} with size {}", index, d, n);
  const int64_t i = index < 0 ? index + n : index;
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  const int64_t offset = x.storage_offset() + i * strides[d];
  sizes.erase(d);
  strides.erase(d);
  return make_view_of(x, "SelectBackward0", sizes, strides, offset, [d, i](const Tensor& g, const Shape& from) {
    Tensor whole = zeros(from, {.dtype = g.dtype(), .device = g.device()});
    select(whole, d, i).copy_(g);
    return whole;
  });
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2, Site at) {
  tape::Op op("diagonal", at);
  const int rank = x.sizes().size();
  const int i = wrap_dim("diagonal", dim1, rank), j = wrap_dim("diagonal", dim2, rank);
  TANTU_CHECK(i != j, ValueError, "diagonal: dimensions cannot be identical {}, {}", dim1, dim2);
  const int64_t rows = x.sizes()[i], columns = x.sizes()[j];
  const int64_t length = std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  const int64_t start = length == 0 ? 0 : offset >= 0 ? offset * strides[j] : -offset * strides[i];
  const int64_t step = strides[i] + strides[j];
  for (int d : {std::max(i, j), std::min(i, j)}) {
    sizes.erase(d);
    strides.erase(d);
  }
  sizes.push_back(length);
  strides.push_back(step);
  return make_view_of(x, "DiagonalBackward0", sizes, strides, x.storage_offset() + start,
                      [offset, i, j](const Tensor& g, const Shape& from) {
                        Tensor whole = zeros(from, {.dtype = g.dtype(), .device = g.device()});
                        diagonal(whole, offset, i, j).copy_(g);
                        return whole;
                      });
}

Tensor as_strided(const Tensor& x, const Shape& sizes, const Strides& strides, int64_t offset, Site at) {
  tape::Op op("as_strided", at);
  TANTU_CHECK(sizes.size() == strides.size(), ShapeError, "as_strided: mismatch in length of strides {} and shape {}", strides, sizes);
  const int64_t n = checked_numel("as_strided", sizes);
  int64_t last = offset;
  for (int i = 0; i < sizes.size(); ++i) {
    TANTU_CHECK(strides[i] >= 0, ShapeError, "as_strided: negative strides are not supported, got {}", strides);
    int64_t reach = 0;
    TANTU_CHECK(n == 0 || (!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) && !__builtin_add_overflow(last, reach, &last)),
                ShapeError, "as_strided: sizes {} and strides {} overflow", sizes, strides);
  }
  TANTU_CHECK(offset >= 0 && (n == 0 || last < x.impl().storage->bytes() / x.element_size()), ShapeError,
              "as_strided: sizes {}, strides {}, offset {} are out of bounds for storage of {} elements", sizes, strides, offset,
              x.impl().storage->bytes() / x.element_size());
  return make_view_of(x, "AsStridedBackward0", sizes, strides, offset,
                      [base_strides = x.strides(), base_offset = x.storage_offset(), sizes, strides, offset](const Tensor& g, const Shape& from) {
                        return as_strided_backward(g, from, base_strides, base_offset, sizes, strides, offset);
                      });
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim, Site at) {
  tape::Op op("split", at);
  TANTU_CHECK(x.dim() > 0, IndexError, "split: expects at least a 1-dimensional tensor");
  const int d = wrap_dim("split", dim, x.sizes().size());
  const int64_t n = x.sizes()[d];
  TANTU_CHECK(size > 0 || (size == 0 && n == 0), ValueError, "split: split_size must be positive, but got {}", size);
  std::vector<Tensor> parts;
  if (n == 0) parts.push_back(narrow(x, d, 0, 0));
  for (int64_t start = 0; start < n; start += size) parts.push_back(narrow(x, d, start, std::min(size, n - start)));
  return parts;
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim, Site at) {
  tape::Op op("chunk", at);
  TANTU_CHECK(x.dim() > 0, IndexError, "chunk: expects at least a 1-dimensional tensor");
  TANTU_CHECK(chunks > 0, ValueError, "chunk: expects `chunks` to be greater than 0, got: {}", chunks);
  const int d = wrap_dim("chunk", dim, x.sizes().size());
  return split(x, std::max<int64_t>(1, (x.sizes()[d] + chunks - 1) / chunks), d);
}

Tensor Tensor::view(const Shape& shape, Site at) const { return tantu::view(*this, shape, at); }
Tensor Tensor::reshape(const Shape& shape, Site at) const { return tantu::reshape(*this, shape, at); }
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim, Site at) const { return tantu::flatten(*this, start_dim, end_dim, at); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1, Site at) const { return tantu::transpose(*this, dim0, dim1, at); }
Tensor Tensor::t(Site at) const {
  TANTU_CHECK(dim() <= 2, ShapeError, "t: expects a tensor with <= 2 dimensions, but self is {}D", dim());
  return dim() < 2 ? tantu::view(*this, sizes(), at) : tantu::transpose(*this, 0, 1, at);
}
Tensor Tensor::permute(const Dims& dims, Site at) const { return tantu::permute(*this, dims, at); }
Tensor Tensor::expand(const Shape& shape, Site at) const { return tantu::expand(*this, shape, at); }
Tensor Tensor::expand_as(const Tensor& other, Site at) const { return tantu::expand(*this, other.sizes(), at); }
Tensor Tensor::squeeze(Site at) const { return tantu::squeeze(*this, at); }
Tensor Tensor::squeeze(int64_t dim, Site at) const { return tantu::squeeze(*this, dim, at); }
Tensor Tensor::unsqueeze(int64_t dim, Site at) const { return tantu::unsqueeze(*this, dim, at); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length, Site at) const { return tantu::narrow(*this, dim, start, length, at); }
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step, Site at) const {
  return tantu::slice(*this, dim, start, end, step, at);
}
Tensor Tensor::select(int64_t dim, int64_t index, Site at) const { return tantu::select(*this, dim, index, at); }
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2, Site at) const { return tantu::diagonal(*this, offset, dim1, dim2, at); }
Tensor Tensor::as_strided(const Shape& sizes, const Strides& strides, int64_t offset, Site at) const {
  return tantu::as_strided(*this, sizes, strides, offset, at);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim, Site at) const { return tantu::chunk(*this, chunks, dim, at); }
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim, Site at) const { return tantu::split(*this, size, dim, at); }
Tensor Tensor::operator[](int64_t index) const { return tantu::select(*this, 0, index); }

Tensor as_strided_backward(const Tensor& g, const Shape& base_sizes, const Strides& base_strides, int64_t base_offset,
                           const Shape& sizes, const Strides& strides, int64_t offset) {
  // Overlapping pictures add up; here each element of the picture is added to its place in a flat buffer of the base's extent.
  int64_t extent = numel(base_sizes) == 0 ? 0 : 1;
  for (int i = 0; i < base_sizes.size(); ++i) extent += (base_sizes[i] - 1) * base_strides[i];
  const TensorOptions options{.dtype = g.dtype(), .device = g.device()};
  Tensor buffer = zeros({std::max<int64_t>(extent, 0)}, options);
  if (g.numel() > 0) {
    Shape unit_sizes = sizes;
    Strides unit_strides = strides;
    Tensor part = g;
    for (int i = 0; i < sizes.size(); ++i)
      if (strides[i] == 0 && sizes[i] > 1) {
        part = sum(part, i, true);
        unit_sizes[i] = 1;
      }
    buffer.as_strided(unit_sizes, unit_strides, offset - base_offset).copy_(part);
  }
  return buffer.as_strided(base_sizes, base_strides, 0);
}

}  // namespace tantu
