#pragma once

#include <tantu/core/error.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tantu {

/// The most dimensions a tensor may have.
inline constexpr int kMaxDims = 12;

/// A short list of 64-bit integers held in place: sizes, strides, axes. Never allocates.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) { assign(values.begin(), values.size()); }
  Dims(const std::vector<int64_t>& values) { assign(values.data(), values.size()); }
  /// `count` copies of `value`.
  static Dims filled(int count, int64_t value) {
    Dims d;
    for (int i = 0; i < count; ++i) d.push_back(value);
    return d;
  }

  Dims(const Dims& other) : count_(other.count_) {
    for (int i = 0; i < count_; ++i) values_[i] = other.values_[i];
  }
  Dims& operator=(const Dims& other) {
    count_ = other.count_;
    for (int i = 0; i < count_; ++i) values_[i] = other.values_[i];
    return *this;
  }

  int size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t operator[](int i) const { return values_[i]; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t back() const { return values_[count_ - 1]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + count_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + count_; }

  void push_back(int64_t value) {
    if (count_ == kMaxDims) too_many(count_ + 1);
    values_[count_++] = value;
  }
  void pop_back() { --count_; }
  void insert(int at, int64_t value) {
    push_back(value);
    for (int i = count_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(int at) {
    for (int i = at; i + 1 < count_; ++i) values_[i] = values_[i + 1];
    --count_;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.count_ != b.count_) return false;
    for (int i = 0; i < a.count_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

  /// "[2, 3]".
  std::string to_string() const;

 private:
  void assign(const int64_t* values, size_t count) {
    if (count > static_cast<size_t>(kMaxDims)) too_many(count);
    count_ = static_cast<int>(count);
    for (int i = 0; i < count_; ++i) values_[i] = values[i];
  }
  [[noreturn]] static void too_many(size_t count);
  [[noreturn]] static void too_many(int count) { too_many(static_cast<size_t>(count)); }

  int64_t values_[kMaxDims] = {};
  int count_ = 0;
};

using Shape = Dims;    ///< sizes, outermost first
using Strides = Dims;  ///< elements to the next index of each dimension

/// Number of elements: the product of the sizes, 1 for a scalar.
int64_t numel(const Shape& sizes);
/// The same for sizes from outside: throws ShapeError naming `op` on a negative size or when the product overflows (for
/// an empty tensor: when its strides do).
int64_t checked_numel(const char* op, const Shape& sizes);
/// Row-major strides of `sizes`.
Strides contiguous_strides(const Shape& sizes);
/// Whether the elements lie one after another in row-major order.
bool is_contiguous(const Shape& sizes, const Strides& strides);
/// The index of element `flat` of a row-major tensor.
TANTU_API Dims multi_index(const Shape& sizes, int64_t flat);
/// `dim` with negative values counted from the end. IndexError with PyTorch's text outside [-rank, rank-1]; rank 0
/// counts as 1.
int wrap_dim(const char* op, int64_t dim, int rank);
/// NumPy broadcasting. ShapeError "op: The size of tensor a (3) must match the size of tensor b (4) at non-singleton
/// dimension 1".
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);
/// Strides that show a tensor of (sizes, strides) as `shape`, 0 where it repeats. The caller has checked that it
/// broadcasts.
Strides broadcast_strides(const Shape& sizes, const Strides& strides, const Shape& shape);

}  // namespace tantu

template <>
struct TANTU_API fmt::formatter<tantu::Dims> : fmt::formatter<std::string_view> {
  auto format(const tantu::Dims& d, fmt::format_context& ctx) const -> fmt::format_context::iterator;
};
