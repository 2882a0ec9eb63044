#include <tantu/autograd/ops/shape.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/view_of.h>
#include <tantu/kernels/index.h>

#include <algorithm>

namespace tantu {

namespace {

// A strided picture of a storage.
struct Picture {
  Shape sizes;
  Strides strides;
  int64_t offset;

  // One more than the last element it shows.
  int64_t end() const {
    int64_t last = offset;
    for (int d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0) return offset;
      last += (sizes[d] - 1) * strides[d];
    }
    return last + 1;
  }

  // Whether it may show an element twice.
  bool may_overlap() const {
    Dims order;  // dimensions, by stride
    for (int d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0) return false;
      if (sizes[d] == 1) continue;
      int at = order.size();
      while (at > 0 && strides[static_cast<int>(order[at - 1])] > strides[d]) --at;
      order.insert(at, d);
    }
    int64_t reach = 0;  // of the dimensions within
    for (int64_t d : order) {
      const int64_t stride = strides[static_cast<int>(d)];
      if (stride <= reach) return true;
      reach += (sizes[static_cast<int>(d)] - 1) * stride;
    }
    return false;
  }

  Tensor of(const Tensor& buffer, int64_t start) const {
    return make_view(buffer.impl().storage, buffer.dtype(), sizes, strides, offset - start);
  }
};

// Adds each element of g to its place in the buffer, in which the picture begins at `start`.
void deposit(const Tensor& g, Picture picture, Tensor& buffer, int64_t start) {
  Tensor part = g;
  for (int d = 0; d < picture.sizes.size(); ++d)
    if (picture.strides[d] == 0 && picture.sizes[d] > 1) {
      part = sum(part, d, true);
      picture.sizes[d] = 1;
    }
  if (!picture.may_overlap()) {
    picture.of(buffer, start).copy_(part);
    return;
  }
  IndexPlan plan{.op = "as_strided_backward", .sizes = picture.sizes, .base = picture.strides};
  Tensor origin = Picture{{}, {}, picture.offset}.of(buffer, start);
  const Tensor values = part.to(buffer.dtype());
  on_device(g.device(), plan.op, [&](auto& ctx) { index_put(ctx, plan, values.in(), origin.out(), true); });
}

// g, laid out as `from`, added into a storage of zeros and read as `to`. Its own transpose when the pictures are
// exchanged.
Tensor transfer(const Tensor& g, const Picture& from, const Picture& to) {
  const int64_t start = std::min(from.offset, to.offset), extent = std::max(from.end(), to.end()) - start;
  Tensor y;
  {
    NoGradGuard no_grad;
    Tensor buffer = zeros({extent}, {.dtype = is_half(g.dtype()) ? kFloat32 : g.dtype(), .device = g.device()});
    if (g.numel() > 0) deposit(g, from, buffer, start);
    y = to.of(buffer, start).to(g.dtype());
  }
  if (tape::wants(g))
    tape::record("AsStridedBackward0", {&y}, {g}, {},
                 [from, to](tape::Backward& b) { return TensorList{transfer(b.grad(), to, from)}; });
  return y;
}

}  // namespace

Tensor as_strided(const Tensor& x, const Shape& sizes, const Strides& strides, int64_t offset, Site at) {
  tape::Op op("as_strided", at);
  TANTU_CHECK(sizes.size() == strides.size(), ShapeError,
              "as_strided: mismatch in length of strides and shape: strides {}, shape {}", strides, sizes);
  const int64_t n = checked_numel("as_strided", sizes), elements = x.impl().storage->bytes() / x.element_size();
  int64_t last = offset;
  for (int i = 0; i < sizes.size(); ++i) {
    TANTU_CHECK(strides[i] >= 0, ShapeError,
                "as_strided: negative strides are not supported at the moment, got strides: {}", strides);
    int64_t reach = 0;
    TANTU_CHECK(n == 0 || (!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                           !__builtin_add_overflow(last, reach, &last)),
                ShapeError, "as_strided: sizes {} and strides {} overflow", sizes, strides);
  }
  TANTU_CHECK(
      offset >= 0 && (n == 0 || last < elements), ShapeError,
      "as_strided: setStorage: sizes {}, strides {}, storage offset {} requiring a storage size of {} elements are out "
      "of bounds for storage of {} elements",
      sizes, strides, offset, last + 1, elements);
  return view_of(x, "AsStridedBackward0", sizes, strides, offset,
                 [base_strides = x.strides(), base_offset = x.storage_offset(), sizes, strides, offset](
                     const Tensor& g, const Shape& from) {
                   return as_strided_backward(g, from, base_strides, base_offset, sizes, strides, offset);
                 });
}

Tensor as_strided_backward(const Tensor& g, const Shape& base_sizes, const Strides& base_strides, int64_t base_offset,
                           const Shape& sizes, const Strides& strides, int64_t offset) {
  const Picture base{base_sizes, base_strides, base_offset}, picture{sizes, strides, offset};
  const Tensor total = transfer(g, picture, base);
  if (!base.may_overlap()) return total;
  // Positions of the base that are one element share its gradient: whoever repeated them will add them up again.
  const Tensor shares = transfer(ones(base_sizes, {.dtype = g.dtype(), .device = g.device()}), base, base);
  return total / shares;
}

Tensor Tensor::as_strided(const Shape& sizes, const Strides& strides, int64_t offset, Site at) const {
  return tantu::as_strided(*this, sizes, strides, offset, at);
}

}  // namespace tantu
