#pragma once

#include <tantu/core/tensor.h>

#include <type_traits>

namespace tantu {

/// "Nothing": a new dimension of size 1 in an index, an absent bound of a Slice.
struct NoneType {};
inline constexpr NoneType None;

/// "As many whole dimensions as fit here."
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis;

/// Positions start, start + step, … before stop, as in Python: `Slice(1, 3)`, `Slice(None, -1)`, `Slice(None, None,
/// 2)`. Negative bounds count from the end and excess is cut; the step must be positive.
class Slice {
 public:
  /// A position or `None`.
  class Bound {
   public:
    Bound(NoneType) {}
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    Bound(T position) : position_(static_cast<int64_t>(position)) {}
    const std::optional<int64_t>& position() const { return position_; }

   private:
    std::optional<int64_t> position_;
  };

  Slice(Bound start = None, Bound stop = None, int64_t step = 1)
      : start_(start.position()), stop_(stop.position()), step_(step) {}

  const std::optional<int64_t>& start() const { return start_; }
  const std::optional<int64_t>& stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  std::optional<int64_t> start_, stop_;
  int64_t step_;
};

/// One entry of an index, `x.index({Slice(1, 3), None, Ellipsis, 2, positions, mask})`:
///
/// - an integer takes one position of a dimension, which disappears; a Slice takes several; `None` adds a dimension of
///   size 1; `Ellipsis` stands for the dimensions not named; `true`/`false` add a dimension of size 1/0;
/// - an int64 or int32 tensor takes the positions it holds; a bool (or uint8) tensor stands for as many dimensions as
/// it
///   has and takes the positions where it is not zero. Several such tensors broadcast together and run in step; their
///   common dimensions stand where the tensors stood if these were neighbours, else in front.
class Index {
 public:
  enum class Kind : uint8_t { Integer, Bool, Slice, None, Ellipsis, Tensor };

  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Index(T value) : kind_(std::is_same_v<T, bool> ? Kind::Bool : Kind::Integer), integer_(static_cast<int64_t>(value)) {}
  Index(const tantu::Slice& slice) : kind_(Kind::Slice), slice_(slice) {}
  Index(NoneType) : kind_(Kind::None) {}
  Index(EllipsisType) : kind_(Kind::Ellipsis) {}
  Index(const tantu::Tensor& tensor) : kind_(Kind::Tensor), tensor_(tensor) {}

  Kind kind() const { return kind_; }
  /// The position of an Integer; 0 or 1 of a Bool.
  int64_t integer() const { return integer_; }
  const tantu::Slice& slice() const { return slice_; }
  const tantu::Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  tantu::Slice slice_;
  tantu::Tensor tensor_;
};

using IndexList = std::vector<Index>;

}  // namespace tantu
