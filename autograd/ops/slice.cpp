#include <tantu/autograd/ops/shape.h>

#include <tantu/autograd/ops/view_of.h>

#include <algorithm>

namespace tantu {

namespace {

int dim_of(const char* op, const Tensor& x, int64_t dim) {
  TANTU_CHECK(x.dim() > 0, IndexError, "{}: cannot be applied to a 0-dim tensor", op);
  return wrap_dim(op, dim, x.sizes().size());
}

}  // namespace

Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step,
             Site at) {
  tape::Op op("slice", at);
  const int d = dim_of("slice", x, dim);
  TANTU_CHECK(step > 0, ValueError, "slice: step must be positive, but got {}", step);
  const int64_t n = x.sizes()[d];
  const auto clip = [n](int64_t i) { return i < 0 ? std::max<int64_t>(i + n, 0) : std::min(i, n); };
  const int64_t first = clip(start.value_or(0)), last = clip(end.value_or(n));
  const int64_t stride = std::min(step, std::max<int64_t>(n, 1));  // a longer one takes the same elements
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  sizes[d] = last > first ? (last - first - 1) / stride + 1 : 0;
  const int64_t offset = x.storage_offset() + (sizes[d] > 0 ? first * strides[d] : 0);
  strides[d] *= stride;
  return view_of(x, "SliceBackward0", sizes, strides, offset, [=](const Tensor& g, const Shape& from) {
    return embed("SliceBackward0", g, from, [=](const Tensor& whole) { return slice(whole, d, first, last, stride); });
  });
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length, Site at) {
  tape::Op op("narrow", at);
  const int d = dim_of("narrow", x, dim);
  const int64_t n = x.sizes()[d];
  TANTU_CHECK(length >= 0, ValueError, "narrow: length must be non-negative, but got {}", length);
  TANTU_CHECK(start >= -n && start <= n, IndexError,
              "narrow: start out of range (expected to be in range of [{}, {}], but got {})", -n, n, start);
  const int64_t first = start < 0 ? start + n : start;
  TANTU_CHECK(length <= n - first, IndexError,
              "narrow: start ({}) + length ({}) exceeds dimension size ({}) of dimension {}", first, length, n, d);
  return slice(x, d, first, first + length, 1);
}

Tensor select(const Tensor& x, int64_t dim, int64_t index, Site at) {
  tape::Op op("select", at);
  const int d = dim_of("select", x, dim);
  const int64_t n = x.sizes()[d];
  TANTU_CHECK(index >= -n && index < n, IndexError, "select: index {} is out of bounds for dimension {} with size {}",
              index, d, n);
  const int64_t i = index < 0 ? index + n : index;
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  const int64_t offset = x.storage_offset() + i * strides[d];
  sizes.erase(d);
  strides.erase(d);
  return view_of(x, "SelectBackward0", sizes, strides, offset, [d, i](const Tensor& g, const Shape& from) {
    return embed("SelectBackward0", g, from, [d, i](const Tensor& whole) { return select(whole, d, i); });
  });
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2, Site at) {
  tape::Op op("diagonal", at);
  const int rank = x.sizes().size();
  const int i = dim_of("diagonal", x, dim1), j = wrap_dim("diagonal", dim2, rank);
  TANTU_CHECK(i != j, ValueError, "diagonal: diagonal dimensions cannot be identical {}, {}", dim1, dim2);
  const int64_t rows = x.sizes()[i], columns = x.sizes()[j];
  const int64_t length =
      std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
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
  return view_of(
      x, "DiagonalBackward0", sizes, strides, x.storage_offset() + start, [=](const Tensor& g, const Shape& from) {
        return embed("DiagonalBackward0", g, from, [=](const Tensor& whole) { return diagonal(whole, offset, i, j); });
      });
}

namespace {

// An empty list that will hold `count` parts; OutOfMemoryError before the first of them is made.
std::vector<Tensor> room_for(const char* op, int64_t count) {
  return in_host_memory(op, [&] {
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(count));
    return parts;
  });
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim, Site at) {
  tape::Op op("split", at);
  const int d = dim_of("split", x, dim);
  const int64_t n = x.sizes()[d];
  TANTU_CHECK(size >= 0, ValueError, "split: expects split_size be non-negative, but got split_size={}", size);
  TANTU_CHECK(size > 0 || n == 0, ValueError,
              "split: split_size can only be 0 if dimension size is 0, but got dimension size of {}", n);
  std::vector<Tensor> parts = room_for("split", n == 0 ? 1 : (n - 1) / size + 1);
  if (n == 0) parts.push_back(narrow(x, d, 0, 0));
  for (int64_t start = 0; start < n; start += parts.back().sizes()[d])
    parts.push_back(narrow(x, d, start, std::min(size, n - start)));
  return parts;
}

std::vector<Tensor> split_with_sizes(const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim, Site at) {
  tape::Op op("split_with_sizes", at);
  const int d = dim_of("split_with_sizes", x, dim);
  const int64_t n = x.sizes()[d];
  int64_t left = n;
  for (int64_t size : sizes) {
    TANTU_CHECK(size >= 0, ValueError,
                "split_with_sizes: expects split_sizes have only non-negative entries, but got {}", size);
    left = size <= left ? left - size : -1;
    if (left < 0) break;
  }
  TANTU_CHECK(
      left == 0, ShapeError,
      "split_with_sizes: expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got {} "
      "sizes that do not",
      n, d, sizes.size());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(narrow(x, d, start, size));
    start += size;
  }
  return parts;
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim, Site at) {
  tape::Op op("chunk", at);
  const int d = dim_of("chunk", x, dim);
  TANTU_CHECK(chunks > 0, ValueError, "chunk: expects `chunks` to be greater than 0, got: {}", chunks);
  const int64_t n = x.sizes()[d];
  if (n == 0) {
    std::vector<Tensor> parts = room_for("chunk", chunks);
    for (int64_t i = 0; i < chunks; ++i) parts.push_back(narrow(x, d, 0, 0));
    return parts;
  }
  return split(x, (n - 1) / chunks + 1, d);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim, Site at) {
  tape::Op op("unbind", at);
  const int d = dim_of("unbind", x, dim);
  std::vector<Tensor> parts = room_for("unbind", x.sizes()[d]);
  for (int64_t i = 0; i < x.sizes()[d]; ++i) parts.push_back(select(x, d, i));
  return parts;
}

Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length, Site at) const {
  return tantu::narrow(*this, dim, start, length, at);
}
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step,
                     Site at) const {
  return tantu::slice(*this, dim, start, end, step, at);
}
Tensor Tensor::select(int64_t dim, int64_t index, Site at) const {
  return tantu::select(*this, dim, index, at);
}
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2, Site at) const {
  return tantu::diagonal(*this, offset, dim1, dim2, at);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim, Site at) const {
  return tantu::chunk(*this, chunks, dim, at);
}
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim, Site at) const {
  return tantu::split(*this, size, dim, at);
}
Tensor Tensor::operator[](int64_t index) const {
  return tantu::select(*this, 0, index);
}

}  // namespace tantu
