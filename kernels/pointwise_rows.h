#pragma once

#include <tantu/kernels/math.h>
#include <tantu/kernels/pointwise.h>
#include <tantu/kernels/pointwise_params.h>

/// The rows of kernels/pointwise.def as functions over V: `Real<T>` on the CPU and the GPU, `Tensor` under create_graph.
namespace tantu::pointwise {

using math::param_t;

template <Row row>
struct RowOf;

#define TANTU_ROW(which, expression)                                                                    \
  template <class V>                                                                                    \
  TANTU_HD static auto which([[maybe_unused]] const V& g, [[maybe_unused]] const V& a,                  \
                             [[maybe_unused]] const V& b, [[maybe_unused]] const V& c,                  \
                             [[maybe_unused]] const V& y, [[maybe_unused]] const double* p) {           \
    expression                                                                                          \
  }
#define TANTU_UNARY(name, PARAMS, rule_, saves, forward_, da_, low, high, smooth) \
  template <>                                                                     \
  struct RowOf<Row::name> {                                                       \
    static constexpr int arity = 1;                                               \
    static constexpr Rule rule = rule_;                                           \
    TANTU_ROW(forward, TANTU_LOCAL_##PARAMS return forward_;)                                   \
    TANTU_ROW(da, TANTU_LOCAL_##PARAMS return da_;)                                             \
  };
#define TANTU_BINARY(name, PARAMS, rule_, saves, forward_, da_, db_, low, high, smooth) \
  template <>                                                                           \
  struct RowOf<Row::name> {                                                             \
    static constexpr int arity = 2;                                                     \
    static constexpr Rule rule = rule_;                                                 \
    TANTU_ROW(forward, TANTU_LOCAL_##PARAMS return forward_;)                                         \
    TANTU_ROW(da, TANTU_LOCAL_##PARAMS return da_;)                                                   \
    TANTU_ROW(db, TANTU_LOCAL_##PARAMS return db_;)                                                   \
  };
#define TANTU_TERNARY(name, PARAMS, rule_, saves, forward_, da_, db_, dc_, low, high, smooth) \
  template <>                                                                                 \
  struct RowOf<Row::name> {                                                                   \
    static constexpr int arity = 3;                                                           \
    static constexpr Rule rule = rule_;                                                       \
    TANTU_ROW(forward, TANTU_LOCAL_##PARAMS return forward_;)                                               \
    TANTU_ROW(da, TANTU_LOCAL_##PARAMS return da_;)                                                         \
    TANTU_ROW(db, TANTU_LOCAL_##PARAMS return db_;)                                                         \
    TANTU_ROW(dc, TANTU_LOCAL_##PARAMS return dc_;)                                                         \
  };
#include <tantu/kernels/pointwise.def>
#undef TANTU_ROW
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY

}  // namespace tantu::pointwise
