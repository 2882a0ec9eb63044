#pragma once

#include <tantu/core/device.h>
#include <tantu/core/dims.h>
#include <tantu/core/dtype.h>

namespace tantu {

/// Where a tensor's elements are: what kernels see of it. It owns nothing and lives no longer than the call.
template <class Pointer>
struct BasicView {
  Pointer data = nullptr;  ///< the first element (offset included)
  DType dtype = kFloat32;
  Device device;
  Shape sizes;
  Strides strides;  ///< in elements; 0 where a dimension is expanded

  int rank() const { return sizes.size(); }
  int64_t numel() const { return tantu::numel(sizes); }
  bool contiguous() const { return is_contiguous(sizes, strides); }
  template <class T>
  auto as() const {
    if constexpr (std::is_const_v<std::remove_pointer_t<Pointer>>) return static_cast<const T*>(data);
    else return static_cast<T*>(data);
  }
  /// The same elements shown as `shape` by broadcasting; the caller has checked that it fits.
  BasicView broadcast_to(const Shape& shape) const {
    BasicView v = *this;
    v.strides = broadcast_strides(sizes, strides, shape);
    v.sizes = shape;
    return v;
  }
};

/// A view kernels may write.
struct View : BasicView<void*> {};
/// A view kernels only read.
struct ConstView : BasicView<const void*> {
  ConstView() = default;
  ConstView(const BasicView<const void*>& v) : BasicView(v) {}
  ConstView(const View& v) : BasicView{v.data, v.dtype, v.device, v.sizes, v.strides} {}
};

}  // namespace tantu
