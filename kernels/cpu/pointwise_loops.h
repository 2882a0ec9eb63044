#pragma once

#include <tantu/kernels/pointwise_rows.h>

#include <array>

/// The inner loops of the rows: contiguous arrays of one compute type. Instantiated in generated shards of 8 rows each.
namespace tantu::pointwise {

using Loop = void (*)(const void* const* operands, void* out, int64_t n, const double* params);

/// A row's loops by compute type: 0 float, 1 double, 2 int64_t; null where the row does not take the type or needs no
/// kernel.
struct RowLoops {
  Loop forward[3] = {};
  Loop backward[3][2] = {};  // [input][float, double]
};

template <Row row, class T>
void forward_loop(const void* const* operands, void* out, int64_t n, const double* p) {
  using V = math::Real<T>;
  const T* a = static_cast<const T*>(operands[0]);
  const T* b = static_cast<const T*>(operands[RowOf<row>::arity > 1 ? 1 : 0]);
  const T* c = static_cast<const T*>(operands[RowOf<row>::arity > 2 ? 2 : 0]);
  using Out = std::conditional_t<RowOf<row>::rule == kToBool, bool, T>;
  Out* y = static_cast<Out*>(out);
  const V none(0);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const auto r = RowOf<row>::template forward<V>(none, V::of(a[i]), V::of(b[i]), V::of(c[i]), none, p);
    if constexpr (RowOf<row>::rule == kToBool) y[i] = r;
    else y[i] = V(r).v;
  }
}

// An operand the row does not save points at any readable array: the compiler drops its unused loads.
template <Row row, int which, class T>
void backward_loop(const void* const* operands, void* out, int64_t n, const double* p) {
  using V = math::Real<T>;
  const T *g = static_cast<const T*>(operands[0]), *a = static_cast<const T*>(operands[1]),
          *b = static_cast<const T*>(operands[2]), *c = static_cast<const T*>(operands[3]),
          *y = static_cast<const T*>(operands[4]);
  T* d = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const V gv = V::of(g[i]), av = V::of(a[i]), bv = V::of(b[i]), cv = V::of(c[i]), yv = V::of(y[i]);
    V r;
    if constexpr (which == 0) r = RowOf<row>::template da<V>(gv, av, bv, cv, yv, p);
    else if constexpr (which == 1) r = RowOf<row>::template db<V>(gv, av, bv, cv, yv, p);
    else r = RowOf<row>::template dc<V>(gv, av, bv, cv, yv, p);
    d[i] = r.v;
  }
}

template <Row row, int which>
void add_backward(RowLoops& loops) {
  if constexpr (RowOf<row>::gradient[which] == kComputed) {
    loops.backward[which][0] = backward_loop<row, which, float>;
    loops.backward[which][1] = backward_loop<row, which, double>;
  }
}

template <Row row>
RowLoops loops_of() {
  using R = RowOf<row>;
  RowLoops loops;
  if constexpr (takes_floats(R::rule)) {
    loops.forward[0] = forward_loop<row, float>;
    loops.forward[1] = forward_loop<row, double>;
  }
  if constexpr (takes_integers(R::rule)) loops.forward[2] = forward_loop<row, int64_t>;
  add_backward<row, 0>(loops);
  if constexpr (R::arity > 1) add_backward<row, 1>(loops);
  if constexpr (R::arity > 2) add_backward<row, 2>(loops);
  return loops;
}

inline constexpr int kRowsPerShard = 8;
inline constexpr int kShards = (kRows + kRowsPerShard - 1) / kRowsPerShard;
using LoopTable = std::array<RowLoops, kRows>;

/// Fills in the loops of rows [8 * Shard, 8 * Shard + 8). Defined in the generated file of that shard.
template <int Shard>
void fill_shard(LoopTable& table);

}  // namespace tantu::pointwise
