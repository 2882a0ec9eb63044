#pragma once

#include <tantu/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

/// Plain float64 arrays, in which references are written: nothing of the library computes here.
namespace tantu::optest {

/// Row-major float64 values of a shape.
struct Array {
  Shape sizes;
  std::vector<double> data;

  Array() = default;
  /// All elements `value`.
  explicit Array(const Shape& shape, double value = 0)
      : sizes(shape), data(static_cast<size_t>(tantu::numel(shape)), value) {}

  int rank() const { return sizes.size(); }
  int64_t size(int d) const { return sizes[d < 0 ? d + sizes.size() : d]; }
  int64_t numel() const { return static_cast<int64_t>(data.size()); }
  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
  /// The element at a multi-index; indices of dimensions of size 1 may be anything (they broadcast), surplus leading
  /// ones too.
  double at(const Dims& index) const { return data[static_cast<size_t>(offset(index))]; }
  double& at(const Dims& index) { return data[static_cast<size_t>(offset(index))]; }

 private:
  int64_t offset(const Dims& index) const;
};

/// Calls `f(index)` for every multi-index of a shape, row-major.
void for_each_index(const Shape& shape, const std::function<void(const Dims&)>& f);

/// f of every element, or of every pair or triple after broadcasting.
Array map(const Array& a, const std::function<double(double)>& f);
Array map(const Array& a, const Array& b, const std::function<double(double, double)>& f);
Array map(const Array& a, const Array& b, const Array& c, const std::function<double(double, double, double)>& f);
/// f of the elements that share a position outside of `dims` (all dimensions when empty), in row-major order.
Array reduce(const Array& x, const Dims& dims, bool keepdim,
             const std::function<double(const std::vector<double>&)>& f);
/// Each row of dimension `dim` replaced by f(row), which has the same length.
Array along(const Array& x, int dim, const std::function<std::vector<double>(const std::vector<double>&)>& f);

/// A tensor's elements as float64.
Array to_array(const Tensor& t);

}  // namespace tantu::optest
