#pragma once

#include <tantu/core/view.h>

#include <array>

/// How CPU kernels walk operands of any strides and dtypes: in chunks, through small buffers of one compute type.
namespace tantu::cpu {

/// One operand of a walk: where it is, what it holds, and its strides in the walk's dimensions.
struct WalkOperand {
  char* data = nullptr;
  DType dtype = kFloat32;
  Strides strides;
  bool contiguous = false;  ///< its elements follow one another in the walk's order
};

inline constexpr int kMaxOperands = 6;

/// Several views of one shape, with dimensions dropped, reordered (by the first operand's strides) and merged as far as
/// all of them allow. Element i of the walk is the same element of every operand.
struct Walk {
  Shape sizes;
  int64_t numel = 0;
  int count = 0;
  std::array<WalkOperand, kMaxOperands> operands;

  /// `views[0]` decides the order: give the output first. All views have the same sizes.
  Walk(const ConstView* views, int count);
};

/// Copies elements [start, start + n) of an operand into `buffer`, converted to `compute` (float32, float64, int64 or
/// bool).
void load(const Walk& walk, int operand, int64_t start, int64_t n, DType compute, void* buffer);
/// The reverse: writes the buffer's elements to [start, start + n), converted to the operand's dtype, rounding once.
void store(const Walk& walk, int operand, int64_t start, int64_t n, DType compute, const void* buffer);

/// Chunk length of such walks, in elements: buffers of this size stay in the first-level cache.
inline constexpr int64_t kChunk = 1024;

}  // namespace tantu::cpu
