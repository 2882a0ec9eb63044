#pragma once

#include <tantu/kernels/copy.h>

#include <vector>

namespace tantu::cpu {

/// A half tensor as float32, row-major: what kernels without half arithmetic compute with.
class FloatCopy {
 public:
  FloatCopy(CpuContext& ctx, const ConstView& x) : FloatCopy(x.sizes) { copy(ctx, x, view_); }
  /// Room for a result.
  explicit FloatCopy(const Shape& sizes) : data_(static_cast<size_t>(numel(sizes))) {
    view_.data = data_.data();
    view_.dtype = kFloat32;
    view_.sizes = sizes;
    view_.strides = contiguous_strides(sizes);
  }
  FloatCopy(const FloatCopy&) = delete;
  FloatCopy& operator=(const FloatCopy&) = delete;

  float* data() { return data_.data(); }
  const float* data() const { return data_.data(); }
  const View& view() const { return view_; }

 private:
  std::vector<float> data_;
  View view_;
};

}  // namespace tantu::cpu
