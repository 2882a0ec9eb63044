#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

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

enum Rule { kToFloat, kKeep, kToBool };
enum Saves { kNothing = 0, kA = 1, kB = 2, kC = 4, kY = 8 };
enum Smoothness { kSmooth, kKinked, kFlat };

/// What is known of a row without running it.
struct RowInfo {
  const char* name;
  int arity;
  Rule rule;
  int saves;
  double low, high;
  Smoothness smoothness;
  bool passes_g[3];  ///< the gradient of input i is g itself
};
const RowInfo& info(Row row);

struct Params {
  double values[3] = {0, 0, 0};
};

/// y = row(inputs…). The inputs are already broadcast to y's shape; any dtypes and strides; an input may be y itself.
/// Computes in `compute` (float32, float64 or int64; the half types compute in float32, integers in int64) and rounds once
/// into y's dtype. For a kToBool row y is bool. An empty y is a no-op. Does not synchronize.
TANTU_KERNEL(pointwise_forward, Row row, const ConstView* inputs, View y, DType compute, const Params& params);

/// d = the row's derivative for input `which`. `operands` are g, a, b, c, y, already broadcast to d's shape; those the row
/// does not use may be empty views. Computes in float32, or float64 when `compute` is float64.
TANTU_KERNEL(pointwise_backward, Row row, int which, const ConstView* operands, View d, DType compute,
             const Params& params);

}  // namespace tantu::pointwise
