// y = (x - mean) · rstd · weight + bias, channel by channel of x (N, C, S), and its gradients.
//
// Two sums over a channel come first, in parts: where S is long a part is up to 4096 neighbours of one line, added by a
// warp or a block; else it is 64 rows of one column of (N, C·S), added by a thread, neighbours of a warp taking
// neighbouring columns. Then a block a channel joins the parts in order: moments by Chan's formula with integer counts,
// gradients by a tree. Last, elements are mapped, a pack of 16 bytes a thread where a channel's
// lines allow. Bytes moved: training forward x twice (mostly from cache) and once
// more, y once; backward g and x twice, dx once. Bound by memory bandwidth.
#include <tantu/kernels/batch_norm.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/moments.cuh>
#include <tantu/kernels/typed_reader.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>

namespace tantu {

namespace {

constexpr int64_t kLongLine = 64, kLinePart = 4096, kRowsPart = 64;

// How the elements of a channel are cut. Part p of channel c: element i is at start + i · step, i < n.
struct Cut {
  int64_t batch, channels, inner;
  bool lines;        // a part lies within a line, else down a column
  int64_t per_line;  // parts of a line, or of a column
  int64_t parts;     // of a channel

  explicit Cut(const ConstView& x) : batch(x.sizes[0]), channels(x.sizes[1]), inner(x.sizes[2]) {
    lines = inner >= kLongLine;
    per_line = lines ? (inner + kLinePart - 1) / kLinePart : (batch + kRowsPart - 1) / kRowsPart;
    parts = per_line * (lines ? batch : inner);
  }
  int group() const { return lines ? group_for(std::min(inner, kLinePart), false) : 1; }
  __host__ __device__ int64_t all_parts() const { return parts * channels; }

  struct Part {
    int64_t channel, part, start, step, n;
  };
  // The k-th part: neighbouring k are neighbouring columns, or parts of a line.
  __device__ __forceinline__ Part at(int64_t k) const {
    if (lines) {
      const int64_t line = k / per_line, p = k - line * per_line, b = line / channels, c = line - b * channels;
      const int64_t rest = inner - p * kLinePart;
      return {c, b * per_line + p, line * inner + p * kLinePart, 1, rest < kLinePart ? rest : kLinePart};
    }
    const int64_t columns = channels * inner, p = k / columns, column = k - p * columns, c = column / inner;
    const int64_t rest = batch - p * kRowsPart;
    return {c, p * inner + (column - c * inner), p * kRowsPart * columns + column, columns,
            rest < kRowsPart ? rest : kRowsPart};
  }
};

// A vector of one value a channel; may be absent.
struct Values {
  char* data = nullptr;
  DType dtype = kFloat32;
  int64_t step = 1;

  explicit Values(const ConstView& v)
      : data(static_cast<char*>(const_cast<void*>(v.data))), dtype(v.dtype), step(v.rank() == 1 ? v.strides[0] : 1) {}
  template <class A>
  __device__ __forceinline__ A at(int64_t c, A otherwise) const {
    return data ? load_as<A>(data, dtype, c * step) : otherwise;
  }
};

template <DType D>
struct PartReader {
  Reader<D> x;
  int64_t start, step;
  __device__ __forceinline__ Compute<D> operator()(int64_t i) const { return x(start + i * step); }
  template <class Group, class F>
  __device__ __forceinline__ void each(int64_t n, F f) const {
    for (int64_t i = Group::lane(); i < n; i += Group::kThreads) f((*this)(i));
  }
};

// moments (channel, part).
template <DType D, class Group>
__global__ void __launch_bounds__(kRowThreads, 2) part_moments_kernel(Cut cut, Reader<D> x, Moments* moments) {
  using A = Compute<D>;
  __shared__ A shared[kRowThreads / 32];
  for (int64_t k = Group::first_row(); k < cut.all_parts(); k += Group::row_step()) {
    const Cut::Part p = cut.at(k);
    const Spread<A> s = spread_of<A, Group>(PartReader<D>{x, p.start, p.step}, p.n, true, shared);
    if (Group::lane() == 0) moments[p.channel * cut.parts + p.part] = moments_of(s, p.n);
  }
}

__device__ __forceinline__ void update(const Values& running, int64_t c, double momentum, double value) {
  if (running.data)
    store_as<double>(running.data, running.dtype, c * running.step,
                     (1 - momentum) * running.at(c, 0.0) + momentum * value);
}

// A block a channel: a thread merges every 256th part, then pairs of threads.
__global__ void __launch_bounds__(kRowThreads, 2)
    join_moments_kernel(const Moments* moments, int64_t parts, double eps, Values running_mean, Values running_var,
                        double momentum, double* stats) {
  Moments* shared = arch::dynamic_smem<Moments>();
  const int64_t c = blockIdx.x;
  Moments own{0, 0, 0};
  for (int64_t p = threadIdx.x; p < parts; p += kRowThreads) own = merged(own, moments[c * parts + p]);
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int width = kRowThreads / 2; width > 0; width /= 2) {
    if (static_cast<int>(threadIdx.x) < width)
      shared[threadIdx.x] = merged(shared[threadIdx.x], shared[threadIdx.x + width]);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const Moments all = shared[0];
  const double count = static_cast<double>(all.count);
  stats[2 * c] = all.mean;
  stats[2 * c + 1] = 1 / sqrt(all.square / count + eps);
  update(running_mean, c, momentum, all.mean);
  update(running_var, c, momentum, all.square / (count - 1));
}

__global__ void __launch_bounds__(kRowThreads)
    running_stats_kernel(Values mean, Values var, double eps, int64_t n, double* stats) {
  for (int64_t c = static_cast<int64_t>(blockIdx.x) * kRowThreads + threadIdx.x; c < n;
       c += static_cast<int64_t>(gridDim.x) * kRowThreads) {
    stats[2 * c] = mean.at(c, 0.0);
    stats[2 * c + 1] = 1 / sqrt(var.at(c, 0.0) + eps);
  }
}

// Element k's channel.
__device__ __forceinline__ int64_t channel_of(const Cut& cut, int64_t k) {
  return k / cut.inner % cut.channels;
}

// f(k, c, V) for this thread's share of all elements: V from k on are of channel c.
template <DType D, class F>
__device__ __forceinline__ void each_element(const Cut& cut, bool packs, F f) {
  constexpr int kPack = kPerVector<Stored<D>>;
  const int64_t total = cut.batch * cut.channels * cut.inner, stride = static_cast<int64_t>(gridDim.x) * kRowThreads;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (packs)
    for (int64_t k = thread * kPack; k < total; k += stride * kPack)
      f(k, channel_of(cut, k), std::integral_constant<int, kPack>());
  else
    for (int64_t k = thread; k < total; k += stride) f(k, channel_of(cut, k), std::integral_constant<int, 1>());
}

template <DType D>
__global__ void __launch_bounds__(kRowThreads, 2)
    batch_norm_kernel(Cut cut, bool packs, Reader<D> x, const Normal<Compute<D>>* normals, Values weight, Values bias,
                      char* y) {
  using A = Compute<D>;
  each_element<D>(cut, packs, [&](int64_t k, int64_t c, auto count) {
    constexpr int V = decltype(count)::value;
    const Normal<A> normal = normals[c];
    const A w = weight.at(c, A(1)), b = bias.at(c, A(0));
    A values[V];
    load_some(x, k, values);
#pragma unroll
    for (int e = 0; e < V; ++e) values[e] = normal.of(values[e]) * w + b;
    store_some<V, D>(y, k, values);
  });
}

// sums (channel, part, 2): of g · normal and of g.
template <DType D, class Group>
__global__ void __launch_bounds__(kRowThreads, 2)
    part_sums_kernel(Cut cut, Reader<D> g, Reader<D> x, const Normal<Compute<D>>* normals, Compute<D>* sums) {
  using A = Compute<D>;
  __shared__ A shared[kRowThreads / 32];
  for (int64_t k = Group::first_row(); k < cut.all_parts(); k += Group::row_step()) {
    const Cut::Part p = cut.at(k);
    const Normal<A> normal = normals[p.channel];
    A along = 0, level = 0;
    for (int64_t i = Group::lane(); i < p.n; i += Group::kThreads) {
      const A gi = g(p.start + i * p.step);
      along += gi * normal.of(x(p.start + i * p.step));
      level += gi;
    }
    along = Group::sum(along, shared);
    level = Group::sum(level, shared);
    if (Group::lane() != 0) continue;
    A* to = sums + 2 * (p.channel * cut.parts + p.part);
    to[0] = along;
    to[1] = level;
  }
}

// A block a channel: totals (channel, 2), and the parameters' gradients.
template <DType D>
__global__ void __launch_bounds__(kRowThreads, 2)
    join_sums_kernel(const Compute<D>* sums, int64_t parts, Compute<D>* totals, char* dweight, char* dbias) {
  using A = Compute<D>;
  using Group = RowGroup<kRowThreads>;
  __shared__ A shared[kRowThreads / 32];
  const int64_t c = blockIdx.x;
  A along = 0, level = 0;
  for (int64_t p = threadIdx.x; p < parts; p += kRowThreads) {
    along += sums[2 * (c * parts + p)];
    level += sums[2 * (c * parts + p) + 1];
  }
  along = Group::sum(along, shared);
  level = Group::sum(level, shared);
  if (threadIdx.x != 0) return;
  totals[2 * c] = along;
  totals[2 * c + 1] = level;
  if (dweight) store_as<A>(dweight, D, c, along);
  if (dbias) store_as<A>(dbias, D, c, level);
}

// dx = rstd · weight · g, in training less what the statistics carry.
template <DType D>
__global__ void __launch_bounds__(kRowThreads, 2)
    batch_norm_gradient_kernel(Cut cut, bool packs, Reader<D> g, Reader<D> x, const Normal<Compute<D>>* normals,
                               Values weight, const Compute<D>* totals, char* dx) {
  using A = Compute<D>;
  const A count = static_cast<A>(cut.batch * cut.inner);
  each_element<D>(cut, packs, [&](int64_t k, int64_t c, auto elements) {
    constexpr int V = decltype(elements)::value;
    const Normal<A> normal = normals[c];
    const A factor = normal.rstd * weight.at(c, A(1));
    const A along = totals ? totals[2 * c] / count : A(0), level = totals ? totals[2 * c + 1] / count : A(0);
    A d[V], values[V];
    load_some(g, k, d);
    load_some(totals ? x : Reader<D>{nullptr}, k, values);
#pragma unroll
    for (int e = 0; e < V; ++e) d[e] = factor * (totals ? d[e] - level - normal.of(values[e]) * along : d[e]);
    store_some<V, D>(dx, k, d);
  });
}

bool can_pack(const Cut& cut, DType t, std::initializer_list<const void*> operands) {
  bool fit = false;
  visit_typed(t, [&]<DType D>() {
    fit = true;
    for (const void* data : operands) fit &= fits_packs<D>(data, cut.inner);
  });
  return fit;
}

template <class A>
void split_stats(GpuContext& ctx, const ConstView& stats, int64_t channels, Normal<A>* normals) {
  launch(ctx, "split_stats_kernel", split_stats_kernel<A>, blocks_for(channels, kRowThreads), kRowThreads, 0,
         stats.as<double>(), channels, normals);
}

template <DType D>
void backward(GpuContext& ctx, const ConstView& g, const ConstView& x, const ConstView& stats, const ConstView& weight,
              bool training, const View& dx, const View& dweight, const View& dbias) {
  using A = Compute<D>;
  const Cut cut(x);
  const int64_t total = x.numel(), normal_bytes = cut.channels * static_cast<int64_t>(sizeof(Normal<A>));
  const Workspace scratch(ctx, "batch_norm",
                          normal_bytes + 2 * cut.channels * (cut.parts + 1) * static_cast<int64_t>(sizeof(A)));
  auto* normals = scratch.data<Normal<A>>();
  A* totals = reinterpret_cast<A*>(scratch.data<char>() + normal_bytes);
  A* sums = totals + 2 * cut.channels;
  split_stats(ctx, stats, cut.channels, normals);
  if (training || dweight.data || dbias.data) {
    if (total > 0)
      visit_group(cut.group(), [&](auto group) {
        using Group = decltype(group);
        launch(ctx, "part_sums_kernel", part_sums_kernel<D, Group>, Group::blocks(cut.all_parts()), kRowThreads, 0, cut,
               reader<D>(g), reader<D>(x), normals, sums);
      });
    launch(ctx, "join_sums_kernel", join_sums_kernel<D>, cut.channels, kRowThreads, 0, sums, cut.parts, totals,
           static_cast<char*>(dweight.data), static_cast<char*>(dbias.data));
  }
  if (dx.data && total > 0)
    launch(ctx, "batch_norm_gradient_kernel", batch_norm_gradient_kernel<D>, blocks_for(total, kRowThreads, 65536),
           kRowThreads, 0, cut, can_pack(cut, D, {g.data, x.data, dx.data}), reader<D>(g), reader<D>(x), normals,
           Values(weight), training ? totals : nullptr, static_cast<char*>(dx.data));
}

}  // namespace

void batch_norm_statistics(GpuContext& ctx, ConstView x, View stats, double eps, double momentum, View running_mean,
                           View running_var) {
  const Cut cut(x);
  if (cut.channels == 0) return;
  const Workspace scratch(ctx, "batch_norm", cut.all_parts() * static_cast<int64_t>(sizeof(Moments)));
  auto* moments = scratch.data<Moments>();
  if (x.numel() > 0)
    visit_typed(x.dtype, [&]<DType D>() {
      visit_group(cut.group(), [&](auto group) {
        using Group = decltype(group);
        launch(ctx, "part_moments_kernel", part_moments_kernel<D, Group>, Group::blocks(cut.all_parts()), kRowThreads,
               0, cut, reader<D>(x), moments);
      });
    });
  launch(ctx, "join_moments_kernel", join_moments_kernel, cut.channels, kRowThreads, kRowThreads * sizeof(Moments),
         moments, cut.parts, eps, Values(running_mean), Values(running_var), momentum, stats.as<double>());
}

void batch_norm_from_running(GpuContext& ctx, ConstView running_mean, ConstView running_var, double eps, View stats) {
  const int64_t n = running_mean.numel();
  if (n == 0) return;
  launch(ctx, "running_stats_kernel", running_stats_kernel, blocks_for(n, kRowThreads), kRowThreads, 0,
         Values(running_mean), Values(running_var), eps, n, stats.as<double>());
}

void batch_norm_forward(GpuContext& ctx, ConstView x, ConstView stats, ConstView weight, ConstView bias, View y) {
  const Cut cut(x);
  const int64_t total = x.numel();
  if (total == 0) return;
  visit_typed(x.dtype, [&]<DType D>() {
    using A = Compute<D>;
    const Workspace scratch(ctx, "batch_norm", cut.channels * static_cast<int64_t>(sizeof(Normal<A>)));
    split_stats(ctx, stats, cut.channels, scratch.data<Normal<A>>());
    launch(ctx, "batch_norm_kernel", batch_norm_kernel<D>, blocks_for(total, kRowThreads, 65536), kRowThreads, 0, cut,
           can_pack(cut, D, {x.data, y.data}), reader<D>(x), scratch.data<Normal<A>>(), Values(weight), Values(bias),
           static_cast<char*>(y.data));
  });
}

void batch_norm_backward(GpuContext& ctx, ConstView g, ConstView x, ConstView stats, ConstView weight, bool training,
                         View dx, View dweight, View dbias) {
  if (x.sizes[1] == 0) return;
  visit_typed(x.dtype, [&]<DType D>() { backward<D>(ctx, g, x, stats, weight, training, dx, dweight, dbias); });
}

}  // namespace tantu
