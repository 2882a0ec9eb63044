#pragma once

#include <tantu/core/tensor.h>

#include <initializer_list>
#include <vector>

namespace tantu {

/// Numbers in nested braces, as `tensor` takes them: `{{1, 2}, {3, 4}}`.
class NestedList {
 public:
  NestedList(double v) : scalar_(v) {}
  NestedList(float v) : scalar_(v) {}
  NestedList(int v) : scalar_(v) {}
  NestedList(int64_t v) : scalar_(v) {}
  NestedList(long long v) : scalar_(v) {}
  NestedList(bool v) : scalar_(v) {}
  NestedList(std::initializer_list<NestedList> items) : is_list_(true), scalar_(0), items_(items) {}

  bool is_list() const { return is_list_; }
  Scalar scalar() const { return scalar_; }
  const std::vector<NestedList>& items() const { return items_; }

 private:
  bool is_list_ = false;
  Scalar scalar_;
  std::vector<NestedList> items_;
};

/// A tensor of the values in braces: float32 if one of them is floating, else int64, or bool if all are bools.
/// ShapeError when rows differ in length. As in PyTorch, a value too large for a floating dtype becomes infinite, one
/// that an integer dtype cannot hold is a ValueError (`Scalar::checked`).
Tensor tensor(const NestedList& values, const TensorOptions& options = {}, Site at = Site::here());
/// A one-dimensional tensor of a vector's values (dtype float32 for float and double unless told, else the vector's
/// own). ValueError as above.
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}, Site at = Site::here());

/// A tensor over memory that stays the caller's and must outlive it; row-major unless strides are given.
Tensor from_blob(void* data, const Shape& sizes, DType dtype = kFloat32, Site at = Site::here());
/// The same; `deleter(data)` runs when the last tensor over it goes.
Tensor from_blob(void* data, const Shape& sizes, const Strides& strides, void (*deleter)(void*), DType dtype = kFloat32,
                 Site at = Site::here());

/// Undefined contents.
Tensor empty(const Shape& sizes, const TensorOptions& options = {}, Site at = Site::here());
/// Undefined contents in x's shape, on its device, of its dtype unless given.
Tensor empty_like(const Tensor& x, const TensorOptions& options = {}, Site at = Site::here());
/// Every element 0.
Tensor zeros(const Shape& sizes, const TensorOptions& options = {}, Site at = Site::here());
/// Zeros in x's shape, dtype and place.
Tensor zeros_like(const Tensor& x, Site at = Site::here());
/// Every element 1.
Tensor ones(const Shape& sizes, const TensorOptions& options = {}, Site at = Site::here());
/// Ones in x's shape, dtype and place.
Tensor ones_like(const Tensor& x, Site at = Site::here());
/// Every element `value`; the dtype is the value's unless given. ValueError if it cannot hold the value
/// (`Scalar::checked`).
Tensor full(const Shape& sizes, Scalar value, const TensorOptions& options = {}, Site at = Site::here());
/// Every element `value`, in x's shape, dtype and place. ValueError as above.
Tensor full_like(const Tensor& x, Scalar value, Site at = Site::here());

/// [start, end) in steps: ceil((end - start) / step) values; int64 when all three are integers.
Tensor arange(Scalar start, Scalar end, Scalar step = 1, const TensorOptions& options = {}, Site at = Site::here());
Tensor arange(Scalar end, const TensorOptions& options = {}, Site at = Site::here());
/// `steps` values from start to end, both included; in the dtype's own arithmetic, counted from the nearer end.
/// ValueError if the dtype cannot hold an end; DTypeError for bool.
Tensor linspace(double start, double end, int64_t steps, const TensorOptions& options = {}, Site at = Site::here());
/// The identity matrix (n, m); m = n when absent.
Tensor eye(int64_t n, std::optional<int64_t> m = {}, const TensorOptions& options = {}, Site at = Site::here());

}  // namespace tantu
