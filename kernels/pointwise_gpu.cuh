#pragma once

// y = row(a, b, c), and the rows' derivatives, for every row of kernels/pointwise.def.
//
// One thread an element, in strides of the grid. Dtypes and strides are looked up per element; the arithmetic is the
// row's own text in float, double or int64_t. Bytes moved: each operand once; a few FLOP an element: bound by the
// bandwidth.
#include <tantu/kernels/pointwise_rows.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>

#include <type_traits>

namespace tantu::pointwise {
namespace {

constexpr int kThreads = 256;

template <Row row, class T>
__global__ void __launch_bounds__(kThreads) pointwise_kernel(Picture<4> p, int64_t n, Params params) {
  using V = math::Real<T>;
  using R = RowOf<row>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    V in[3];
    for (int k = 0; k < 3; ++k)
      in[k] = k < R::arity ? V::of(load_as<T>(p.operands[k + 1].data, p.operands[k + 1].dtype, offset_of(p, k + 1, i)))
                           : V(0);
    const auto r = R::template forward<V>(V(0), in[0], in[1], in[2], V(0), params.values);
    if constexpr (R::rule == kToBool)
      store_as<int64_t>(p.operands[0].data, p.operands[0].dtype, offset_of(p, 0, i), r ? 1 : 0);
    else store_as<T>(p.operands[0].data, p.operands[0].dtype, offset_of(p, 0, i), V(r).v);
  }
}

template <Row row, int which, class T>
__global__ void __launch_bounds__(kThreads) pointwise_backward_kernel(Picture<6> p, int64_t n, Params params) {
  using V = math::Real<T>;
  using R = RowOf<row>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    V in[5];  // g, a, b, c, y; those the row does not use are absent
    for (int k = 0; k < 5; ++k)
      in[k] = p.operands[k + 1].data
                  ? V::of(load_as<T>(p.operands[k + 1].data, p.operands[k + 1].dtype, offset_of(p, k + 1, i)))
                  : V(0);
    V r;
    if constexpr (which == 0) r = R::template da<V>(in[0], in[1], in[2], in[3], in[4], params.values);
    else if constexpr (which == 1) r = R::template db<V>(in[0], in[1], in[2], in[3], in[4], params.values);
    else r = R::template dc<V>(in[0], in[1], in[2], in[3], in[4], params.values);
    store_as<T>(p.operands[0].data, p.operands[0].dtype, offset_of(p, 0, i), r.v);
  }
}

template <Row row, class T>
void forward_row(GpuContext& ctx, const ConstView* views, int64_t n, const Params& params) {
  launch(ctx, RowOf<row>::label, pointwise_kernel<row, T>, blocks_for(n, kThreads), kThreads, 0,
         make_picture<4>(views, RowOf<row>::arity + 1), n, params);
}

template <Row row, int which, class T>
void backward_row(GpuContext& ctx, const ConstView* views, int64_t n, const Params& params) {
  launch(ctx, RowOf<row>::label, pointwise_backward_kernel<row, which, T>, blocks_for(n, kThreads), kThreads, 0,
         make_picture<6>(views, 6), n, params);
}

using Launcher = void (*)(GpuContext&, const ConstView*, int64_t, const Params&);

struct GpuRow {
  int arity = 0;
  Launcher forward[3] = {};      // float, double, int64_t
  Launcher backward[3][2] = {};  // [input][float, double]
};

template <Row row, int which>
void add_backward(GpuRow& r) {
  if constexpr (RowOf<row>::gradient[which] == kComputed) {
    r.backward[which][0] = backward_row<row, which, float>;
    r.backward[which][1] = backward_row<row, which, double>;
  }
}

template <Row row>
GpuRow gpu_row() {
  using R = RowOf<row>;
  GpuRow r;
  r.arity = R::arity;
  if constexpr (takes_floats(R::rule)) {
    r.forward[0] = forward_row<row, float>;
    r.forward[1] = forward_row<row, double>;
  }
  if constexpr (takes_integers(R::rule)) r.forward[2] = forward_row<row, int64_t>;
  add_backward<row, 0>(r);
  if constexpr (R::arity > 1) add_backward<row, 1>(r);
  if constexpr (R::arity > 2) add_backward<row, 2>(r);
  return r;
}

}  // namespace

/// Puts the launchers of rows [8 * Shard, 8 * Shard + 8) into `rows` (an array of GpuRow). Defined in the generated
/// shards.
template <int Shard>
void fill_gpu_shard(GpuContext* target, void* rows);  // the context only tells the two targets' functions apart

}  // namespace tantu::pointwise
