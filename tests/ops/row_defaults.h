#pragma once

#include <tantu/kernels/pointwise_rows.h>

namespace tantu::pointwise {

/// The default parameters of every row, in their order.
inline const Params row_defaults[] = {
#define TANTU_UNARY(name, PARAMS, ...) TANTU_DEFAULTS_##PARAMS,
#define TANTU_BINARY(name, PARAMS, ...) TANTU_DEFAULTS_##PARAMS,
#define TANTU_TERNARY(name, PARAMS, ...) TANTU_DEFAULTS_##PARAMS,
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY
};

}  // namespace tantu::pointwise
