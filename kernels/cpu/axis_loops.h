#pragma once

#include <tantu/kernels/cpu/lines.h>
#include <tantu/kernels/cpu/reduce_plan.h>

#include <algorithm>
#include <vector>

/// How CPU kernels go through the lines of two tensors of one shape along one dimension.
namespace tantu::cpu {

struct AxisPlan {
  Loops lines;  ///< the other dimensions, merged; x and y are the two tensors' steps
  Loop axis;

  AxisPlan(const ConstView& x, const ConstView& y, int dim) {
    if (x.rank() > 0) axis = {x.sizes[dim], x.strides[dim], y.strides[dim]};
    for (int d = 0; d < x.rank(); ++d) {
      lines.numel *= d == dim ? 1 : x.sizes[d];
      if (d == dim || x.sizes[d] == 1) continue;
      const Loop l{x.sizes[d], x.strides[d], y.strides[d]};
      Loop* outer = lines.count > 0 ? &lines.loop[static_cast<size_t>(lines.count - 1)] : nullptr;
      if (outer && outer->x == l.x * l.size && outer->y == l.y * l.size) *outer = {outer->size * l.size, l.x, l.y};
      else lines.loop[static_cast<size_t>(lines.count++)] = l;
    }
    if (lines.count == 0) lines.loop[static_cast<size_t>(lines.count++)] = {};
  }

  int64_t numel() const { return lines.numel * axis.size; }
  /// Whether neighbouring lines lie side by side in both, so that a kernel can go through many of them at once.
  bool side_by_side() const {
    return axis.size > 1 && lines.inner().size > 1 && lines.inner().x == 1 && lines.inner().y == 1;
  }
};

/// One of the two tensors: where it is and how its elements become C.
template <class C>
struct LineSource {
  const char* data;
  int64_t item;
  LoadLine load;
  bool in_place;

  explicit LineSource(const ConstView& v)
      : data(static_cast<const char*>(v.data)),
        item(item_size(v.dtype)),
        load(load_line<C>(v.dtype)),
        in_place(is_stored_as<C>(v.dtype)) {}
  /// The n elements from `offset` as an array: their own memory where that will do, else `buffer`.
  const C* get(int64_t offset, int64_t stride, int64_t n, C* buffer) const {
    if (in_place && stride == 1) return reinterpret_cast<const C*>(data) + offset;
    load(data + offset * item, stride, n, buffer);
    return buffer;
  }
};

template <class C>
struct LineTarget {
  char* data;
  int64_t item;
  StoreLine store;
  bool in_place;

  explicit LineTarget(const View& v)
      : data(static_cast<char*>(v.data)),
        item(item_size(v.dtype)),
        store(store_line<C>(v.dtype)),
        in_place(is_stored_as<C>(v.dtype)) {}
  /// Where to write n elements; `put` brings them home.
  C* at(int64_t offset, int64_t stride, C* buffer) const {
    return in_place && stride == 1 ? reinterpret_cast<C*>(data) + offset : buffer;
  }
  void put(const C* from, int64_t offset, int64_t stride, int64_t n, const C* buffer) const {
    if (from == buffer) store(buffer, n, data + offset * item, stride);
  }
};

}  // namespace tantu::cpu
