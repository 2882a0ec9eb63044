// y = (x - mean) · rstd · weight + bias, row by row, and its gradients.
//
// A row of up to 1024 elements has a warp, a longer one a block, which reads it three times, the second and third from
// cache: for the mean, for the squared differences to it, for the result. Backward: dx in the same mapping, two sums
// and the result; the parameters' gradients are sums down the columns: blocks of 32 columns and 8 rows side by side add
// chunks of rows, then a thread a column adds the chunks, in order. Bytes moved: forward x read and y written once;
// backward g and x twice, dx written once. Bound by memory bandwidth.
#include <tantu/kernels/layer_norm.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/moments.cuh>
#include <tantu/kernels/typed_reader.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>
#include <limits>

namespace tantu {

namespace {

constexpr int kColumns = 32, kSide = kRowThreads / kColumns;

template <DType D>
struct RowReader {
  Reader<D> x;
  int64_t start;
  bool packs;
  __device__ __forceinline__ Compute<D> operator()(int64_t i) const { return x(start + i); }
  template <class Group, class F>
  __device__ __forceinline__ void each(int64_t n, F f) const {
    tantu::each<Group, D>(n, packs, [&](int64_t i, auto count) {
      constexpr int V = decltype(count)::value;
      Compute<D> values[V];
      load_some(x, start + i, values);
#pragma unroll
      for (int e = 0; e < V; ++e) f(values[e]);
    });
  }
};

template <class A>
inline constexpr A kLargest = std::numeric_limits<A>::max();

template <DType D, class Group>
__global__ void __launch_bounds__(kRowThreads, 2)
    layer_norm_kernel(Reader<D> x, Reader<D> weight, Reader<D> bias, char* y, double* stats, int64_t rows, int64_t n,
                      Compute<D> root_eps, bool centered, bool packs) {
  using A = Compute<D>;
  __shared__ A shared[kRowThreads / 32];
  __shared__ A factors[Group::kRows];
  for (int64_t r = Group::first_row(); r < rows; r += Group::row_step()) {
    const Spread<A> s = spread_of<A, Group>(RowReader<D>{x, r * n, packs}, n, centered, shared);
    A& factor = factors[threadIdx.x / Group::kThreads];  // rstd for x·scale
    if (Group::lane() == 0) {
      // 1 / sqrt(var + eps) from the larger of their roots, so that no square leaves float32
      const A root = sqrt(s.square / static_cast<A>(n)), least = root_eps * s.scale;  // both of x·scale
      const bool spread = root > least;
      const A ratio = spread ? least / root : least > 0 ? root / least : A(0), longer = sqrt(1 + ratio * ratio);
      const A scaled = spread ? 1 / (root * longer) : 1 / (root_eps * longer) / s.scale;
      stats[2 * r] = static_cast<double>(s.high / s.scale) + static_cast<double>(s.low / s.scale);
      stats[2 * r + 1] = static_cast<double>(spread ? scaled * s.scale : 1 / (root_eps * longer));
      // beyond the largest: a constant row, whose differences are 0
      factor = scaled > kLargest<A> ? kLargest<A> : scaled;
    }
    if (Group::kThreads > 32) __syncthreads();
    else __syncwarp();
    each<Group, D>(n, packs, [&](int64_t i, auto count) {
      constexpr int V = decltype(count)::value;
      A values[V], w[V], b[V];
      load_some(x, r * n + i, values);
      load_some(weight, i, w, A(1));
      load_some(bias, i, b);
#pragma unroll
      for (int e = 0; e < V; ++e) values[e] = ((values[e] * s.scale - s.high) - s.low) * factor * w[e] + b[e];
      store_some<V, D>(y, r * n + i, values);
    });
    if (Group::kThreads > 32) __syncthreads();
    else __syncwarp();
  }
}

// dx = rstd (gw - mean of gw - normal · mean of gw · normal), gw = g · weight.
template <DType D, class Group>
__global__ void __launch_bounds__(kRowThreads, 2)
    layer_norm_gradient_kernel(Reader<D> g, Reader<D> x, Reader<D> weight, const Normal<Compute<D>>* normals, char* dx,
                               int64_t rows, int64_t n, bool centered, bool packs) {
  using A = Compute<D>;
  __shared__ A shared[kRowThreads / 32];
  for (int64_t r = Group::first_row(); r < rows; r += Group::row_step()) {
    const Normal<A> normal = normals[r];
    A along = 0, level = 0;
    each<Group, D>(n, packs, [&](int64_t i, auto count) {
      constexpr int V = decltype(count)::value;
      A values[V], gw[V], w[V];
      load_some(x, r * n + i, values);
      load_some(g, r * n + i, gw);
      load_some(weight, i, w, A(1));
#pragma unroll
      for (int e = 0; e < V; ++e) {
        along += gw[e] * w[e] * normal.of(values[e]);
        level += gw[e] * w[e];
      }
    });
    along = Group::sum(along, shared) / static_cast<A>(n);
    level = centered ? Group::sum(level, shared) / static_cast<A>(n) : A(0);
    each<Group, D>(n, packs, [&](int64_t i, auto count) {
      constexpr int V = decltype(count)::value;
      A values[V], gw[V], w[V];
      load_some(x, r * n + i, values);
      load_some(g, r * n + i, gw);
      load_some(weight, i, w, A(1));
#pragma unroll
      for (int e = 0; e < V; ++e) values[e] = normal.rstd * (gw[e] * w[e] - level - normal.of(values[e]) * along);
      store_some<V, D>(dx, r * n + i, values);
    });
  }
}

// parts (chunk, 2, column) = the chunk's sums of g · normal and of g.
template <DType D>
__global__ void __launch_bounds__(kRowThreads, 2)
    sum_columns_kernel(Reader<D> g, Reader<D> x, const Normal<Compute<D>>* normals, Compute<D>* parts, int64_t rows,
                       int64_t n, int64_t chunk) {
  using A = Compute<D>;
  __shared__ A sums[2][kSide][kColumns];
  const int64_t tiles = (n + kColumns - 1) / kColumns, part = blockIdx.x / tiles;
  const int column = threadIdx.x % kColumns, side = threadIdx.x / kColumns;
  const int64_t i = blockIdx.x % tiles * kColumns + column;
  const int64_t last = (part + 1) * chunk, end = last < rows ? last : rows;
  A along = 0, level = 0;
  for (int64_t r = part * chunk + side; r < end && i < n; r += kSide) {
    const A gi = g(r * n + i);
    along += gi * normals[r].of(x(r * n + i));
    level += gi;
  }
  sums[0][side][column] = along;
  sums[1][side][column] = level;
  __syncthreads();
  if (side >= 2 || i >= n) return;
  A sum = 0;
  for (int s = 0; s < kSide; ++s) sum += sums[side][s][column];
  parts[(2 * part + side) * n + i] = sum;
}

template <DType D>
__global__ void __launch_bounds__(kRowThreads)
    sum_parts_kernel(const Compute<D>* parts, int64_t count, int64_t n, char* dweight, char* dbias) {
  using A = Compute<D>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < 2 * n; i += stride) {
    char* to = i < n ? dweight : dbias;
    if (!to) continue;
    A sum = 0;
    for (int64_t p = 0; p < count; ++p) sum += parts[2 * p * n + i];
    store_as<A>(to, D, i < n ? i : i - n, sum);
  }
}

template <DType D>
bool all_fit_packs(int64_t n, std::initializer_list<const void*> operands) {
  bool fit = true;
  for (const void* data : operands) fit &= fits_packs<D>(data, n);
  return fit;
}

template <DType D>
void forward(GpuContext& ctx, const ConstView& x, const ConstView& weight, const ConstView& bias, const View& y,
             const View& stats, double eps, bool centered) {
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const bool packs = all_fit_packs<D>(n, {x.data, weight.data, bias.data, y.data});
  visit_group(group_for(n, false), [&](auto group) {
    using Group = decltype(group);
    if constexpr (Group::kThreads > 1)
      launch(ctx, "layer_norm_kernel", layer_norm_kernel<D, Group>, Group::blocks(rows), kRowThreads, 0, reader<D>(x),
             reader<D>(weight), reader<D>(bias), static_cast<char*>(y.data), stats.as<double>(), rows, n,
             static_cast<Compute<D>>(std::sqrt(eps)), centered, packs);
  });
}

template <DType D>
void backward(GpuContext& ctx, const ConstView& g, const ConstView& x, const ConstView& weight, const ConstView& stats,
              const View& dx, const View& dweight, const View& dbias, bool centered) {
  using A = Compute<D>;
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const int64_t chunk = std::max<int64_t>(128, (rows + 511) / 512), parts = (rows + chunk - 1) / chunk;
  const bool packs = all_fit_packs<D>(n, {g.data, x.data, weight.data, dx.data});
  const bool parameters = dweight.data || dbias.data;
  const int64_t normal_bytes = rows * static_cast<int64_t>(sizeof(Normal<A>));
  const Workspace scratch(ctx, "layer_norm",
                          normal_bytes + (parameters ? 2 * parts * n * static_cast<int64_t>(sizeof(A)) : 0));
  auto* normals = scratch.data<Normal<A>>();
  auto* sums = reinterpret_cast<A*>(scratch.data<char>() + normal_bytes);
  if (rows > 0)
    launch(ctx, "split_stats_kernel", split_stats_kernel<A>, blocks_for(rows, kRowThreads), kRowThreads, 0,
           stats.as<double>(), rows, normals);
  if (dx.data && rows > 0)
    visit_group(group_for(n, false), [&](auto group) {
      using Group = decltype(group);
      if constexpr (Group::kThreads > 1)
        launch(ctx, "layer_norm_gradient_kernel", layer_norm_gradient_kernel<D, Group>, Group::blocks(rows),
               kRowThreads, 0, reader<D>(g), reader<D>(x), reader<D>(weight), normals, static_cast<char*>(dx.data),
               rows, n, centered, packs);
    });
  if (!parameters) return;
  if (parts > 0)
    launch(ctx, "sum_columns_kernel", sum_columns_kernel<D>, parts * ((n + kColumns - 1) / kColumns), kRowThreads, 0,
           reader<D>(g), reader<D>(x), normals, sums, rows, n, chunk);
  launch(ctx, "sum_parts_kernel", sum_parts_kernel<D>, blocks_for(2 * n, kRowThreads), kRowThreads, 0, sums, parts, n,
         static_cast<char*>(dweight.data), static_cast<char*>(dbias.data));
}

}  // namespace

void layer_norm_forward(GpuContext& ctx, ConstView x, ConstView weight, ConstView bias, View y, View stats, double eps,
                        bool centered) {
  if (x.sizes[0] == 0) return;
  visit_typed(x.dtype, [&]<DType D>() { forward<D>(ctx, x, weight, bias, y, stats, eps, centered); });
}

void layer_norm_backward(GpuContext& ctx, ConstView g, ConstView x, ConstView weight, ConstView stats, View dx,
                         View dweight, View dbias, bool centered) {
  if (x.sizes[1] == 0) return;
  visit_typed(x.dtype, [&]<DType D>() { backward<D>(ctx, g, x, weight, stats, dx, dweight, dbias, centered); });
}

}  // namespace tantu
