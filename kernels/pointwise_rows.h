#pragma once

#include <tantu/kernels/math.h>
#include <tantu/kernels/pointwise.h>
#include <tantu/kernels/pointwise_params.h>

/// The rows of kernels/pointwise.def as functions over V: `Real<T>` on the CPU and the GPU, `Tensor` under
/// create_graph.
namespace tantu::pointwise {

using math::param_t;

using math::logical_and;
using math::logical_or;
using math::logical_xor;
using math::where;

// Parts of rows that are used more than once.
template <class V>
TANTU_HD auto normal_below(const V& a) {  // P(N(0, 1) < a)
  return (erf(a * 0.70710678118654752) + 1) * 0.5;
}
template <class V>
TANTU_HD auto normal_density(const V& a) {
  return exp(a * a * -0.5) * 0.39894228040143268;
}
// 2 sqrt(2/pi) (a + 0.044715 a³): gelu(a) is nearly a * sigmoid of it. And its derivative.
template <class V>
TANTU_HD auto gelu_inner(const V& a) {
  return a * (a * a * 0.071354816272600247 + 1.5957691216057308);
}
template <class V>
TANTU_HD auto gelu_inner_slope(const V& a) {
  return a * a * 0.21406444881780074 + 1.5957691216057308;
}
template <class V>
TANTU_HD auto sum_of_squares(const V& a, const V& b) {  // 1 instead of 0, where all that is divided by it is 0
  return where(logical_and(a == 0, b == 0), 1, a * a + b * b);
}
template <class V>
TANTU_HD auto outside(const V& a, const V& low, const V& high) {
  return logical_or(low > high, logical_or(a<low, a> high));
}

template <Row row>
struct RowOf;

#define TANTU_ROW(which, expression)                                                                                \
  template <class V>                                                                                                \
  TANTU_HD static auto which([[maybe_unused]] const V& g, [[maybe_unused]] const V& a, [[maybe_unused]] const V& b, \
                             [[maybe_unused]] const V& c, [[maybe_unused]] const V& y,                              \
                             [[maybe_unused]] const double* p) {                                                    \
    expression                                                                                                      \
  }
#define TANTU_UNARY_OF(function, name, PARAMS, rule_, saves, forward_, da_, low, high, smooth) \
  template <>                                                                                  \
  struct RowOf<Row::name> {                                                                    \
    static constexpr const char* label = #function;                                            \
    static constexpr int arity = 1;                                                            \
    static constexpr Rule rule = rule_;                                                        \
    static constexpr Gradient gradient[] = {gradient_of(#da_)};                                \
    TANTU_ROW(forward, TANTU_LOCAL_##PARAMS return forward_;)                                  \
    TANTU_ROW(da, TANTU_LOCAL_##PARAMS return da_;)                                            \
  };
#define TANTU_BINARY_OF(function, name, PARAMS, rule_, saves, forward_, da_, db_, low, high, smooth) \
  template <>                                                                                        \
  struct RowOf<Row::name> {                                                                          \
    static constexpr const char* label = #function;                                                  \
    static constexpr int arity = 2;                                                                  \
    static constexpr Rule rule = rule_;                                                              \
    static constexpr Gradient gradient[] = {gradient_of(#da_), gradient_of(#db_)};                   \
    TANTU_ROW(forward, TANTU_LOCAL_##PARAMS return forward_;)                                        \
    TANTU_ROW(da, TANTU_LOCAL_##PARAMS return da_;)                                                  \
    TANTU_ROW(db, TANTU_LOCAL_##PARAMS return db_;)                                                  \
  };
#define TANTU_TERNARY_OF(function, name, PARAMS, rule_, saves, forward_, da_, db_, dc_, low, high, smooth) \
  template <>                                                                                              \
  struct RowOf<Row::name> {                                                                                \
    static constexpr const char* label = #function;                                                        \
    static constexpr int arity = 3;                                                                        \
    static constexpr Rule rule = rule_;                                                                    \
    static constexpr Gradient gradient[] = {gradient_of(#da_), gradient_of(#db_), gradient_of(#dc_)};      \
    TANTU_ROW(forward, TANTU_LOCAL_##PARAMS return forward_;)                                              \
    TANTU_ROW(da, TANTU_LOCAL_##PARAMS return da_;)                                                        \
    TANTU_ROW(db, TANTU_LOCAL_##PARAMS return db_;)                                                        \
    TANTU_ROW(dc, TANTU_LOCAL_##PARAMS return dc_;)                                                        \
  };
#define TANTU_UNARY(name, ...) TANTU_UNARY_OF(name, name, __VA_ARGS__)
#define TANTU_BINARY(name, ...) TANTU_BINARY_OF(name, name, __VA_ARGS__)
#define TANTU_TERNARY(name, ...) TANTU_TERNARY_OF(name, name, __VA_ARGS__)
#include <tantu/kernels/pointwise.def>
#undef TANTU_ROW
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY

}  // namespace tantu::pointwise
