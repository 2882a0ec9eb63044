#pragma once

// The kernels of reductions, for any operation that says what it is made of:
//
//     struct Sum {
//       using In = float;                                            // what elements are read as
//       using Acc = float;                                           // what is kept of them; has a shuffle_xor
//       Acc identity() const;                                        // of no elements
//       void add(Acc&, In x, int64_t k) const;                       // element k of the row joins
//       template <int V, int N>                                      // N elements join: k + i / V * step + i % V
//       void add_all(Acc&, const In (&x)[N], int64_t k, int64_t step) const;
//       Acc operator()(Acc a, Acc b) const;                          // two parts in one
//       void store(const Acc& a, int64_t y) const;                   // the result, at offset y
//     };
//
// Rows: a team of 1 … 32 lanes (n ≤ 1024) or a block a row; few long rows are cut into pieces, whose partial results go
// to the workspace and are joined by one block in order. Columns, where neighbouring results lie side by side: a block
// is a tile of 32 or more lanes by up to 8 threads that share a column (more where there are fewer columns); a lane
// reads 16 bytes of a line, so a warp reads whole sectors. Bytes moved: each element once. Several loads are under way
// before the first is used.
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/load_each.cuh>
#include <tantu/kernels/reduce_plan.cuh>
#include <tantu/kernels/strided.cuh>
#include <tantu/kernels/workspace.cuh>

namespace tantu {
namespace {

/// Rows of T's without gaps, in vectors of 16 bytes. The same element goes to the same thread when they cannot be
/// loaded so.
template <class T, class In>
struct PackedSource {
  static constexpr int kVector = kPerVector<T>, kLoads = 16 / kVector < 4 ? 16 / kVector : 4;
  const T* data;
  bool vector;

  template <int U>
  __device__ __forceinline__ void load(In (&v)[U * kVector], const ReduceShape&, int64_t row, int64_t k,
                                       int64_t step) const {
    const T* from[U];
#pragma unroll
    for (int u = 0; u < U; ++u) from[u] = data + row + k + u * step;
    load_packs<T, U>(v, from, kVector, vector, In(0));
  }
  __device__ __forceinline__ In one(const ReduceShape& s, int64_t row, int64_t k) const {
    return static_cast<In>(widened(data[row + s.reduced.place(k)]));
  }
  /// Elements k, k + step … of kVector neighbouring columns, of which `count` exist.
  template <int U>
  __device__ __forceinline__ void lines(In (&v)[U * kVector], const ReduceShape& s, int64_t column, int64_t k,
                                        int64_t step, int64_t count) const {
    const T* from[U];
#pragma unroll
    for (int u = 0; u < U; ++u) from[u] = data + column + s.reduced.place(k + u * step);
    load_packs<T, U>(v, from, count, vector, In(0));
  }
};

/// Any strides, a dtype known at run time only.
template <class In>
struct AnySource {
  static constexpr int kVector = 1, kLoads = 4;
  const char* data;
  DType dtype;

  template <int U>
  __device__ __forceinline__ void load(In (&v)[U], const ReduceShape& s, int64_t row, int64_t k, int64_t step) const {
    int64_t at[U];
#pragma unroll
    for (int u = 0; u < U; ++u) at[u] = row + s.reduced.place(k + u * step);
    load_each(v, data, dtype, at);
  }
  __device__ __forceinline__ In one(const ReduceShape& s, int64_t row, int64_t k) const {
    return load_as<In>(data, dtype, row + s.reduced.place(k));
  }
  template <int U>
  __device__ __forceinline__ void lines(In (&v)[U], const ReduceShape& s, int64_t column, int64_t k, int64_t step,
                                        int64_t) const {
    load<U>(v, s, column, k, step);
  }
};

template <class Op, class Source>
__device__ __forceinline__ typename Op::Acc reduce_piece(const Op& op, const Source& x, const ReduceShape& s,
                                                         int64_t row, int64_t begin, int64_t end, int rank, int team) {
  using In = typename Op::In;
  constexpr int V = Source::kVector, U = Source::kLoads;
  const int64_t step = int64_t{team} * V;
  typename Op::Acc acc = op.identity();
  int64_t k = begin;
  for (; k + U * step <= end; k += U * step) {
    In v[U * V];
    x.template load<U>(v, s, row, k + rank * V, step);
    op.template add_all<V>(acc, v, k + rank * V, step);
  }
  if constexpr (V > 1)
    for (; k + step <= end; k += step) {
      In v[V];
      x.template load<1>(v, s, row, k + rank * V, step);
      op.template add_all<V>(acc, v, k + rank * V, step);
    }
  for (k += rank; k < end; k += team) op.add(acc, x.one(s, row, k), k);
  return acc;
}

template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_rows_kernel(Op op, Source x, ReduceShape s, int team, typename Op::Acc* parts) {
  using Acc = typename Op::Acc;
  const int rank = threadIdx.x % team, teams = kReduceThreads / team;
  const int64_t tasks = s.rows * s.pieces.size();
  for (int64_t base = int64_t{blockIdx.x} * teams; base < tasks; base += int64_t{gridDim.x} * teams) {
    const int64_t task = base + threadIdx.x / team;
    int64_t from = 0, to = 0;
    Acc acc = op.identity();
    if (task < tasks) {
      int64_t piece = task;
      s.kept.place(s.pieces.split(piece), from, to);
      const int64_t begin = piece * s.piece, end = begin + s.piece < s.n ? begin + s.piece : s.n;
      acc = reduce_piece(op, x, s, from, begin, end, rank, team);
    }
    acc = team_join(acc, team, arch::dynamic_smem<Acc>(), op);
    if (rank != 0 || task >= tasks) continue;
    if (parts) parts[task] = acc;
    else op.store(acc, to);
  }
}

template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns_kernel(Op op, Source x, ReduceShape s, int width, typename Op::Acc* parts) {
  using Acc = typename Op::Acc;
  constexpr int V = Source::kVector, U = Source::kLoads;
  const int lane = threadIdx.x % width, first = threadIdx.x / width, lines = kReduceThreads / width;
  const int inner = s.kept.count - 1;
  const int64_t size = s.kept.size[inner].size(), tiles = (size + width * V - 1) / (width * V);
  const int64_t tasks = s.rows / size * tiles * s.pieces.size();
  for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    int64_t piece = task;
    const int64_t place = s.pieces.split(piece), column = (place % tiles * width + lane) * V;
    const int64_t row = place / tiles * size + column;
    const int64_t end = (piece + 1) * s.piece < s.n ? (piece + 1) * s.piece : s.n;
    Acc acc[V];
    for (int j = 0; j < V; ++j) acc[j] = op.identity();
    int64_t from = 0, to = 0;
    if (column < size) {
      s.kept.place(row, from, to);
      int64_t k = piece * s.piece + first;
      for (; k + (U - 1) * lines < end; k += U * lines) {
        typename Op::In v[U * V];
        x.template lines<U>(v, s, from, k, lines, size - column);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          typename Op::In one[U];
          for (int u = 0; u < U; ++u) one[u] = v[u * V + j];
          op.template add_all<1>(acc[j], one, k, lines);
        }
      }
      for (; k < end; k += lines) {
        typename Op::In v[V];
        x.template lines<1>(v, s, from, k, lines, size - column);
        for (int j = 0; j < V; ++j) op.add(acc[j], v[j], k);
      }
    }
    join_lines(acc, width, arch::dynamic_smem<Acc>(), op);
    if (first != 0) continue;
    for (int j = 0; j < V; ++j) {
      if (column + j >= size) break;
      if (parts) parts[(row + j) * s.pieces.size() + piece] = acc[j];
      else op.store(acc[j], to + j * s.kept.y[inner]);
    }
  }
}

template <class Op>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_parts_kernel(Op op, const typename Op::Acc* parts, ReduceShape s) {
  using Acc = typename Op::Acc;
  for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
    Acc acc = op.identity();
    for (int64_t p = threadIdx.x; p < s.pieces.size(); p += kReduceThreads)
      acc = op(acc, parts[row * s.pieces.size() + p]);
    acc = team_join(acc, kReduceThreads, arch::dynamic_smem<Acc>(), op);
    int64_t from, to;
    s.kept.place(row, from, to);
    if (threadIdx.x == 0) op.store(acc, to);
  }
}

/// Host: room for the pieces' partial results, and their last step.
template <class Op>
class ReduceParts {
 public:
  using Acc = typename Op::Acc;
  ReduceParts(GpuContext& ctx, const char* name, const ReduceShape& s)
      : ctx_(ctx),
        name_(name),
        shape_(s),
        room_(ctx, name, s.pieces.size() > 1 ? s.rows * s.pieces.size() * static_cast<int64_t>(sizeof(Acc)) : 0) {}
  Acc* data() const { return shape_.pieces.size() > 1 ? room_.template data<Acc>() : nullptr; }
  void join(const Op& op) const {
    if (shape_.pieces.size() > 1)
      launch(ctx_, name_, reduce_parts_kernel<Op>, blocks_for(shape_.rows, 1, 65535), kReduceThreads,
             kReduceThreads / 32 * sizeof(Acc), op, data(), shape_);
  }

 private:
  GpuContext& ctx_;
  const char* name_;
  const ReduceShape& shape_;
  Workspace room_;
};

template <class Op, class Source>
void reduce_rows(GpuContext& ctx, const char* name, const Op& op, const Source& x, ReducePlan plan) {
  const int team = plan.cut_rows(Source::kVector);
  const ReduceShape& s = plan.shape;
  const ReduceParts<Op> parts(ctx, name, s);
  launch(ctx, name, reduce_rows_kernel<Op, Source>, blocks_for(s.rows * s.pieces.size(), kReduceThreads / team, 65535),
         kReduceThreads, kReduceThreads / 32 * sizeof(typename Op::Acc), op, x, s, team, parts.data());
  parts.join(op);
}

template <class Op, class Source>
void reduce_columns(GpuContext& ctx, const char* name, const Op& op, const Source& x, ReducePlan plan) {
  constexpr int V = Source::kVector;
  const int width = plan.cut_columns(V);
  const ReduceShape& s = plan.shape;
  const ReduceParts<Op> parts(ctx, name, s);
  const int64_t size = s.kept.size[s.kept.count - 1].size();
  const int64_t tasks = s.rows / size * ((size + width * V - 1) / (width * V)) * s.pieces.size();
  launch(ctx, name, reduce_columns_kernel<Op, Source>, blocks_for(tasks, 1, 65535), kReduceThreads,
         kReduceThreads / 2 * V * sizeof(typename Op::Acc), op, x, s, width, parts.data());
  parts.join(op);
}

/// Host: runs `op` over a plan's rows or columns of any dtype.
template <class Op>
void reduce_any(GpuContext& ctx, const char* name, const Op& op, const ConstView& x, const ReducePlan& plan) {
  if (plan.shape.rows == 0) return;
  const AnySource<typename Op::In> from{static_cast<const char*>(x.data), x.dtype};
  if (plan.columns) reduce_columns(ctx, name, op, from, plan);
  else reduce_rows(ctx, name, op, from, plan);
}
/// The same for rows (not columns) of T's; the plan says `packed`.
template <class T, class Op>
void reduce_packed_rows(GpuContext& ctx, const char* name, const Op& op, const ConstView& x, const ReducePlan& plan) {
  if (plan.shape.rows == 0) return;
  reduce_rows(ctx, name, op, PackedSource<T, typename Op::In>{static_cast<const T*>(x.data), plan.vector}, plan);
}
/// The same for rows or columns of T's.
template <class T, class Op>
void reduce_packed(GpuContext& ctx, const char* name, const Op& op, const ConstView& x, const ReducePlan& plan) {
  if (plan.shape.rows == 0) return;
  const PackedSource<T, typename Op::In> from{static_cast<const T*>(x.data), plan.vector};
  if (plan.columns) reduce_columns(ctx, name, op, from, plan);
  else reduce_rows(ctx, name, op, from, plan);
}

/// What an operation whose elements join one after another has in common.
template <class Op, class A>
struct ReduceEach {
  using In = A;
  using Acc = A;
  char* y;
  DType y_dtype;

  __device__ __forceinline__ const Op& self() const { return static_cast<const Op&>(*this); }
  __device__ __forceinline__ void add(A& acc, A x, int64_t) const { acc = self()(acc, x); }
  /// As a tree, so that errors grow slowly and the steps do not wait for each other.
  template <int V, int N>
  __device__ __forceinline__ void add_all(A& acc, const A (&x)[N], int64_t, int64_t) const {
    A part[N];
#pragma unroll
    for (int i = 0; i < N; ++i) part[i] = x[i];
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) part[i] = self()(part[i], part[i + half]);
    acc = self()(acc, part[0]);
  }
  __device__ __forceinline__ void store(A acc, int64_t at) const {
    store_as<A>(y, y_dtype, at, acc);
  }
};

}  // namespace
}  // namespace tantu
