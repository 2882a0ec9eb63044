#include <tantu/autograd/ops/overlap.h>

#include <tantu/autograd/ops.h>

#include <utility>

namespace tantu {

namespace {

// Whether x and y show the same elements in the same order; dimensions of size 1 do not matter.
bool is_same_view(const Tensor& x, const Tensor& y) {
  if (x.storage_offset() != y.storage_offset() || x.numel() != y.numel()) return false;
  Dims of_x, of_y;
  for (int d = 0; d < x.dim(); ++d)
    if (x.sizes()[d] != 1) of_x.push_back(x.strides()[d]);
  for (int d = 0; d < y.dim(); ++d)
    if (y.sizes()[d] != 1) of_y.push_back(y.strides()[d]);
  return of_x == of_y;
}

// The elements [first, last) of the storage that a tensor can touch.
std::pair<int64_t, int64_t> extent(const Tensor& t) {
  if (t.numel() == 0) return {0, 0};
  int64_t last = t.storage_offset();
  for (int d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  return {t.storage_offset(), last + 1};
}

}  // namespace

Tensor apart_from(const char* op, const Tensor& y, const Tensor& x) {
  if (!(x.impl().storage == y.impl().storage) || x.is_same(y) || is_same_view(x, y)) return {};
  const auto [x_first, x_last] = extent(x);
  const auto [y_first, y_last] = extent(y);
  if (x_first >= y_last || y_first >= x_last) return {};
  TANTU_CHECK(
      x_last - x_first != x.numel() || y_last - y_first != y.numel(), ShapeError,
      "{}: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory "
      "location. Please clone() the tensor before performing the operation. (written: sizes {}, strides {}, offset {}; "
      "input: sizes {}, strides {}, offset {})",
      op, y.sizes(), y.strides(), y.storage_offset(), x.sizes(), x.strides(), x.storage_offset());
  return x.detach().clone();
}

}  // namespace tantu
