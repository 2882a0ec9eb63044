// cumsum: y[k] = x[0] + … + x[k] along a line. prod_backward: dx[k] = g times the product of the other elements.
//
// Lines side by side, and very short ones: a thread a line, from its start to its end. Others: a warp (n ≤ 1024) or a
// block a line, in tiles; a thread holds 4 neighbouring elements, the threads' sums are scanned by shuffles, and the
// tile's total is carried to the next tile. Few long lines are cut into pieces: their totals first, a scan of those,
// and every piece starts with the total before it. Bytes moved: the line read once (twice in pieces) and written once;
// the additions are float64, one an element and few more: bound by the bandwidth where float64 runs at half speed.
#include <tantu/kernels/scan.h>
#include <tantu/kernels/axis_lines.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/load_each.cuh>
#include <tantu/kernels/reduce_plan.cuh>
#include <tantu/kernels/workspace.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256, kItems = 4;

struct AddUp {  // integers wrap around
  template <class A>
  __device__ __forceinline__ A operator()(A a, A b) const {
    if constexpr (std::is_integral_v<A>) return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
};
struct Multiply {
  template <class A>
  __device__ __forceinline__ A operator()(A a, A b) const {
    return a * b;
  }
};

// Lines cut into pieces. Position i of a line is element i, or with `reverse` element n - 1 - i.
struct Scan {
  AxisLines<2> lines;
  Divider pieces;
  int64_t piece = 0;
  bool reverse = false;
  ReduceLoops at;  // where the lines begin

  Scan(const ConstView& x, const View& y, int axis, bool backwards) : lines({x, y}, axis), reverse(backwards) {
    const Picture<2>& p = lines.places;
    ReduceLoop loops[kMaxDims] = {};
    for (int d = 0; d < p.rank; ++d) loops[d] = {p.sizes[d], p.operands[0].strides[d], p.operands[1].strides[d]};
    at.set(loops, p.rank);
  }

  __device__ __forceinline__ int64_t element(int64_t i) const { return reverse ? lines.n - 1 - i : i; }
  __device__ __forceinline__ int64_t end_of(int64_t part) const {
    return (part + 1) * piece < lines.n ? (part + 1) * piece : lines.n;
  }
};

// kItems elements from position i on, 0 behind `end`. In is what they are read and written as.
template <class In, class A>
__device__ __forceinline__ void read_items(A (&v)[kItems], const Scan& s, int64_t from, int64_t i, int64_t end) {
  const Strided& x = s.lines.places.operands[0];
  int64_t at[kItems];
  In in[kItems];
#pragma unroll
  for (int j = 0; j < kItems; ++j) at[j] = from + s.element(i + j < end ? i + j : end - 1) * s.lines.step[0];
  load_each(in, x.data, x.dtype, at);
#pragma unroll
  for (int j = 0; j < kItems; ++j) v[j] = i + j < end ? static_cast<A>(in[j]) : A(0);
}

template <class In, class A>
__global__ void __launch_bounds__(kThreads, 3) scan_lines_kernel(Scan s, int team, const A* before) {
  const int rank = threadIdx.x % team, teams = kThreads / team;
  A* shared = arch::dynamic_smem<A>();
  const Strided& y = s.lines.places.operands[1];
  const int64_t tasks = s.lines.count * s.pieces.size();
  for (int64_t base = int64_t{blockIdx.x} * teams; base < tasks; base += int64_t{gridDim.x} * teams) {
    const int64_t task = base + threadIdx.x / team, mine = task < tasks ? task : tasks - 1;
    int64_t part = mine, from, to;
    s.at.place(s.pieces.split(part), from, to);
    const int64_t end = s.end_of(part);
    A carry = before && part > 0 ? before[mine - 1] : A(0);
    for (int64_t tile = part * s.piece; tile < end; tile += team * kItems) {
      const int64_t i = tile + rank * kItems;
      A v[kItems], total;
      read_items<In>(v, s, from, i, end);
      for (int j = 1; j < kItems; ++j) v[j] = AddUp()(v[j - 1], v[j]);
      const A front = AddUp()(carry, team_scan(v[kItems - 1], team, A(0), shared, AddUp(), total));
      carry = AddUp()(carry, total);
      for (int j = 0; j < kItems; ++j)
        if (i + j < end && task < tasks)
          store_as<In>(y.data, y.dtype, to + s.element(i + j) * s.lines.step[1], static_cast<In>(AddUp()(front, v[j])));
    }
  }
}

// totals[task] = the sum of a piece.
template <class In, class A>
__global__ void __launch_bounds__(kThreads) scan_totals_kernel(Scan s, A* totals) {
  const int64_t tasks = s.lines.count * s.pieces.size();
  for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    int64_t part = task, from, to;
    s.at.place(s.pieces.split(part), from, to);
    const int64_t end = s.end_of(part);
    A sum = 0;
    for (int64_t i = part * s.piece + threadIdx.x * kItems; i < end; i += kThreads * kItems) {
      A v[kItems];
      read_items<In>(v, s, from, i, end);
      sum = AddUp()(sum, AddUp()(AddUp()(v[0], v[1]), AddUp()(v[2], v[3])));
    }
    sum = team_join(sum, kThreads, arch::dynamic_smem<A>(), AddUp());
    if (threadIdx.x == 0) totals[task] = sum;
  }
}

// A thread a line.
template <class In, class A>
__global__ void __launch_bounds__(kThreads) scan_columns_kernel(Scan s) {
  const Strided& y = s.lines.places.operands[1];
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t line = int64_t{blockIdx.x} * kThreads + threadIdx.x; line < s.lines.count; line += stride) {
    int64_t from, to;
    s.at.place(line, from, to);
    A sum = 0;
    for (int64_t i = 0; i < s.lines.n; i += kItems) {
      A v[kItems];
      read_items<In>(v, s, from, i, s.lines.n);
      for (int j = 0; j < kItems; ++j) {
        sum = AddUp()(sum, v[j]);
        if (i + j < s.lines.n)
          store_as<In>(y.data, y.dtype, to + s.element(i + j) * s.lines.step[1], static_cast<In>(sum));
      }
    }
  }
}

bool side_by_side(const AxisLines<2>& lines) {
  if (lines.n <= 16) return true;
  const auto length = [](int64_t step) { return step < 0 ? -step : step; };
  const int inner = lines.places.rank - 1;
  return inner >= 0 && lines.count >= 256 && length(lines.places.operands[0].strides[inner]) < length(lines.step[0]);
}

template <class In, class A>
void scan_lines(GpuContext& ctx, Scan s) {
  const int64_t n = s.lines.n, lines = s.lines.count;
  s.piece = n;
  if (side_by_side(s.lines))
    return launch(ctx, "cumsum", scan_columns_kernel<In, A>, blocks_for(lines, kThreads, 65535), kThreads, 0, s);
  constexpr size_t kShared = kThreads / 32 * sizeof(A);
  if (n > 16384 && lines < 512) {
    const int64_t most = 1024 / lines, wanted = (n + 8191) / 8192, cut = most < wanted ? most : wanted;
    s.piece = ((n + cut - 1) / cut + 1023) / 1024 * 1024;
    s.pieces = (n + s.piece - 1) / s.piece;
  }
  const int64_t pieces = s.pieces.size();
  const Workspace totals(ctx, "cumsum", pieces > 1 ? lines * pieces * static_cast<int64_t>(sizeof(A)) : 0);
  A* before = nullptr;
  if (pieces > 1) {
    before = totals.data<A>();
    launch(ctx, "cumsum", scan_totals_kernel<In, A>, blocks_for(lines * pieces, 1, 65535), kThreads, kShared, s,
           before);
    View sums;
    sums.data = before;
    sums.dtype = std::is_integral_v<A> ? kInt64 : kFloat64;
    sums.sizes = Shape({lines, pieces});
    sums.strides = contiguous_strides(sums.sizes);
    Scan of_totals(sums, sums, 1, false);
    of_totals.piece = pieces;
    launch(ctx, "cumsum", scan_lines_kernel<A, A>, blocks_for(lines, 1, 65535), kThreads, kShared, of_totals, kThreads,
           static_cast<const A*>(nullptr));
  }
  const int team = n <= 1024 ? 32 : kThreads;
  launch(ctx, "cumsum", scan_lines_kernel<In, A>, blocks_for(lines * pieces, kThreads / team, 65535), kThreads, kShared,
         s, team, static_cast<const A*>(before));
}

// One row: before[i] = g x[0] … x[i - 1], then dx[i] = before[i] x[i + 1] … x[n - 1].
template <class C>
__global__ void __launch_bounds__(kThreads)
    prod_backward_kernel(Picture<3> rows, ReduceLoops row, int64_t count, int64_t n, int team, C* before) {
  const int rank = threadIdx.x % team, teams = kThreads / team;
  C* shared = arch::dynamic_smem<C>();
  const Strided *g = &rows.operands[0], *x = &rows.operands[1], *dx = &rows.operands[2];
  for (int64_t base = int64_t{blockIdx.x} * teams; base < count; base += int64_t{gridDim.x} * teams) {
    const int64_t task = base + threadIdx.x / team, r = task < count ? task : count - 1;
    const int64_t from = offset_of(rows, 1, r), to = offset_of(rows, 2, r);
    C carry = load_as<C>(g->data, g->dtype, offset_of(rows, 0, r)), total;
    for (int64_t tile = 0; tile < n; tile += team) {
      const int64_t i = tile + rank;
      const C v = i < n ? load_as<C>(x->data, x->dtype, from + row.place(i)) : C(1);
      const C front = team_scan(v, team, C(1), shared, Multiply(), total);
      if (i < n && task < count) before[task * n + i] = carry * front;
      carry *= total;
    }
    __syncthreads();
    carry = 1;
    for (int64_t tile = 0; tile < n; tile += team) {
      const int64_t i = n - 1 - (tile + rank);
      int64_t at_x, at_dx;
      row.place(i < 0 ? 0 : i, at_x, at_dx);
      const C v = i >= 0 ? load_as<C>(x->data, x->dtype, from + at_x) : C(1);
      const C back = carry * team_scan(v, team, C(1), shared, Multiply(), total);
      if (i >= 0 && task < count) store_as<C>(dx->data, dx->dtype, to + at_dx, before[task * n + i] * back);
      carry *= total;
    }
  }
}

// The first `count` dimensions.
ConstView outer_part(const ConstView& v, int count) {
  ConstView part = v;
  while (part.rank() > count) {
    part.sizes.pop_back();
    part.strides.pop_back();
  }
  return part;
}

template <class C>
void prod_backward(GpuContext& ctx, const ConstView& g, const ConstView& x, const View& dx, int reduced) {
  const int kept = x.rank() - reduced;
  const ConstView rows[] = {g, outer_part(x, kept), outer_part(dx, kept)};
  ReduceLoop loops[kMaxDims] = {};
  int64_t n = 1;
  for (int d = 0; d < reduced; ++d) {
    loops[d] = {x.sizes[kept + d], x.strides[kept + d], dx.strides[kept + d]};
    n *= loops[d].size;
  }
  const int64_t count = g.numel();
  if (count == 0 || n == 0) return;
  const Workspace before(ctx, "prod", count * n * static_cast<int64_t>(sizeof(C)));
  ReduceLoops row;
  row.set(loops, arrange(loops, reduced, true));
  const int team = n <= 256 ? 32 : kThreads;
  launch(ctx, "prod_backward", prod_backward_kernel<C>, blocks_for(count, kThreads / team, 65535), kThreads,
         kThreads / 32 * sizeof(C), make_picture<3>(rows, 3), row, count, n, team, before.data<C>());
}

}  // namespace

void cumsum(GpuContext& ctx, ConstView x, View y, int axis, bool reverse) {
  const Scan s(x, y, axis, reverse);
  if (s.lines.count == 0 || s.lines.n == 0) return;
  if (is_integral(y.dtype)) scan_lines<int64_t, int64_t>(ctx, s);
  else if (y.dtype == kFloat64) scan_lines<double, double>(ctx, s);
  else scan_lines<float, double>(ctx, s);
}

void prod_backward_last(GpuContext& ctx, ConstView g, ConstView x, View dx, int reduced) {
  if (x.dtype == kFloat64) prod_backward<double>(ctx, g, x, dx, reduced);
  else prod_backward<float>(ctx, g, x, dx, reduced);
}

}  // namespace tantu
