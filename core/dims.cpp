#include <tantu/core/dims.h>

#include <fmt/format.h>

namespace tantu {

std::string Dims::to_string() const {
  return fmt::format("[{}]", fmt::join(begin(), end(), ", "));
}

void Dims::too_many(size_t count) {
  throw ShapeError(fmt::format("shape: tensors have at most {} dimensions, but got {}", kMaxDims, count));
}

int64_t numel(const Shape& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

int64_t checked_numel(const char* op, const Shape& sizes) {
  int64_t n = 1;
  bool zero = false, overflow = false;
  for (int64_t s : sizes) {
    TANTU_CHECK(s >= 0, ShapeError, "{}: sizes must not be negative, but got {}", op, sizes);
    if (s == 0) zero = true;
    else overflow |= __builtin_mul_overflow(n, s, &n);
  }
  int64_t step = 1;  // strides count empty dimensions as one element
  for (int i = sizes.size() - 1; zero && i > 0; --i)
    TANTU_CHECK(!__builtin_mul_overflow(step, sizes[i] > 1 ? sizes[i] : 1, &step), ShapeError,
                "{}: Stride calculation overflowed for sizes {}", op, sizes);
  TANTU_CHECK(zero || (!overflow && n <= (int64_t{1} << 59)), ShapeError, "{}: {} has too many elements", op, sizes);
  return zero ? 0 : n;
}

Strides contiguous_strides(const Shape& sizes) {
  Strides strides = sizes;
  int64_t step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= sizes[i] > 1 ? sizes[i] : 1;
  }
  return strides;
}

bool is_contiguous(const Shape& sizes, const Strides& strides) {
  int64_t step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != step) {
      for (int64_t s : sizes)
        if (s == 0) return true;
      return false;
    }
    step *= sizes[i];
  }
  return true;
}

int wrap_dim(const char* op, int64_t dim, int rank) {
  const int r = rank == 0 ? 1 : rank;
  TANTU_CHECK(dim >= -r && dim < r, IndexError,
              "{}: Dimension out of range (expected to be in range of [{}, {}], but got {})", op, -r, r - 1, dim);
  return static_cast<int>(dim < 0 ? dim + r : dim);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = a.size() > b.size() ? a.size() : b.size();
  Shape out = Dims::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TANTU_CHECK(x == y || x == 1 || y == 1, ShapeError,
                "{}: The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {} "
                "(shapes {} and {})",
                op, x, y, rank - 1 - i, a, b);
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Strides broadcast_strides(const Shape& sizes, const Strides& strides, const Shape& shape) {
  Strides out = Dims::filled(shape.size(), 0);
  const int lead = shape.size() - sizes.size();
  for (int i = 0; i < sizes.size(); ++i) out[lead + i] = sizes[i] == 1 && shape[lead + i] != 1 ? 0 : strides[i];
  return out;
}

Dims multi_index(const Shape& sizes, int64_t flat) {
  Dims index = sizes;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return index;
}

}  // namespace tantu

auto fmt::formatter<tantu::Dims>::format(const tantu::Dims& d, fmt::format_context& ctx) const
    -> fmt::format_context::iterator {
  return fmt::formatter<std::string_view>::format(d.to_string(), ctx);
}
