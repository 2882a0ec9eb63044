#pragma once

// What P0(), P1(name, default), P2(...) and P3(...) of kernels/pointwise.def mean where a row is expanded: the
// expansion pastes one of these prefixes in front of them (`TANTU_DECLARE_##PARAMS`).

// In a declaration: `double alpha = 1,`
#define TANTU_DECLARE_P0()
#define TANTU_DECLARE_P1(n1, d1) double n1 = d1,
#define TANTU_DECLARE_P2(n1, d1, n2, d2) double n1 = d1, double n2 = d2,
#define TANTU_DECLARE_P3(n1, d1, n2, d2, n3, d3) double n1 = d1, double n2 = d2, double n3 = d3,

// In a definition: `double alpha,`
#define TANTU_DEFINE_P0()
#define TANTU_DEFINE_P1(n1, d1) double n1,
#define TANTU_DEFINE_P2(n1, d1, n2, d2) double n1, double n2,
#define TANTU_DEFINE_P3(n1, d1, n2, d2, n3, d3) double n1, double n2, double n3,

// Their values: `{{alpha}}`
#define TANTU_VALUES_P0() \
  {}
#define TANTU_VALUES_P1(n1, d1) \
  {                             \
    { n1 }                      \
  }
#define TANTU_VALUES_P2(n1, d1, n2, d2) \
  {                                     \
    { n1, n2 }                          \
  }
#define TANTU_VALUES_P3(n1, d1, n2, d2, n3, d3) \
  {                                             \
    { n1, n2, n3 }                              \
  }

// Their defaults: `{{1}}`
#define TANTU_DEFAULTS_P0() \
  {}
#define TANTU_DEFAULTS_P1(n1, d1) \
  {                               \
    { d1 }                        \
  }
#define TANTU_DEFAULTS_P2(n1, d1, n2, d2) \
  {                                       \
    { d1, d2 }                            \
  }
#define TANTU_DEFAULTS_P3(n1, d1, n2, d2, n3, d3) \
  {                                               \
    { d1, d2, d3 }                                \
  }

// Inside a row's expression: a constant of the row's own type.
#define TANTU_LOCAL_P0()
#define TANTU_LOCAL_P1(n1, d1) [[maybe_unused]] const param_t<V> n1(p[0]);
#define TANTU_LOCAL_P2(n1, d1, n2, d2) TANTU_LOCAL_P1(n1, d1) [[maybe_unused]] const param_t<V> n2(p[1]);
#define TANTU_LOCAL_P3(n1, d1, n2, d2, n3, d3) \
  TANTU_LOCAL_P2(n1, d1, n2, d2) [[maybe_unused]] const param_t<V> n3(p[2]);
