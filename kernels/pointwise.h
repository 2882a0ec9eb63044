#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

#include <string_view>

/// The kernels behind kernels/pointwise.def.
namespace tantu::pointwise {

/// One value per row of the table: `Row::exp`, `Row::add`, ...
enum class Row : int {
#define TANTU_UNARY(name, ...) name,
#define TANTU_BINARY(name, ...) name,
#define TANTU_TERNARY(name, ...) name,
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY
  kCount
};
inline constexpr int kRows = static_cast<int>(Row::kCount);

enum Rule { kToFloat, kFloats, kKeep, kNumbers, kIntegers, kToBool };
constexpr bool takes_integers(Rule rule) {
  return rule != kToFloat && rule != kFloats;
}
constexpr bool takes_floats(Rule rule) {
  return rule != kIntegers;
}
enum Saves { kNothing = 0, kA = 1, kB = 2, kC = 4, kY = 8 };
enum Smoothness { kSmooth, kKinked, kFlat };

/// What a derivative needs: a kernel, or nothing since it is g itself or zero.
enum Gradient { kComputed, kPasses, kZero };
constexpr Gradient gradient_of(std::string_view text) {
  return text == "g" ? kPasses : text == "zeros_like(g)" ? kZero : kComputed;
}

/// What is known of a row without running it.
struct RowInfo {
  const char* name;      ///< of the function
  const char* in_place;  ///< of its in-place form
  const char* row;       ///< of the row itself: differs for the rows one function chooses from
  int arity;
  Rule rule;
  int saves;
  double low, high;
  Smoothness smoothness;
  Gradient gradient[3];
};
const RowInfo& info(Row row);

struct Params {
  double values[3] = {0, 0, 0};
};

/// y = row(inputs…). The inputs are already broadcast to y's shape; any dtypes and strides; an input may be y itself.
/// An input beside others of a GPU may be one number of host memory (its view's device is the CPU), read at the call.
/// Computes in `compute` (float32, float64 or int64; the half types compute in float32, integers in int64) and rounds
/// once into y's dtype (of a kToBool row: 1 or 0). An empty y is a no-op. Does not synchronize.
TANTU_KERNEL(pointwise_forward, Row row, const ConstView* inputs, View y, DType compute, const Params& params);

/// The same on the CPU for contiguous operands that all have the compute dtype, y too (of a kToBool row: bool).
void pointwise_contiguous(Row row, const void* const* inputs, void* y, int64_t n, DType compute, const Params& params);

/// Whether an integer or bool view on the CPU holds a zero.
bool has_zero(const ConstView& x);

/// d = the row's derivative for input `which` (where it is kComputed). `operands` are g, a, b, c, y, already broadcast
/// to d's shape; those the row does not use may be empty views. Computes in float32, or float64 when `compute` is
/// float64.
TANTU_KERNEL(pointwise_backward, Row row, int which, const ConstView* operands, View d, DType compute,
             const Params& params);

}  // namespace tantu::pointwise
