// y = exp(x - m) / s, or with log (x - m) - log s; m = max x, s = Σ exp(x - m) along one dimension.
//
// Lines without gaps that fit: a team of 1 … 32 lanes (up to 512 elements) or a block holds a line in registers,
// loaded 16 bytes at a time. Bytes moved: the line read once, written once; about 10 FLOP an element: bound by the
// bandwidth.
// Longer lines: a block a line; m and s in one pass (max_sum.cuh), a second one writes. The line is read twice.
// Other strides and mixed dtypes: a block of neighbouring lines by threads that share each; two passes.
#include <tantu/kernels/softmax.h>
#include <tantu/kernels/softmax.cuh>

namespace tantu {

namespace {

template <class T>
constexpr int kVectorsOf = std::is_same_v<T, double> ? 4 : 16 / kPerVector<T>;  // of a line that one thread holds

template <class T, int kVectors>
__global__ void __launch_bounds__(kSoftmaxMost)
    softmax_kernel(Picture<2> places, int64_t lines, int n, int team, bool vector, bool log) {
  using C = compute_t<T>;
  constexpr int kCount = kPerVector<T>;
  const int rank = threadIdx.x % team, teams = blockDim.x / team;
  C* shared = arch::dynamic_smem<C>();
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * teams; base < lines; base += int64_t{gridDim.x} * teams) {
    const int64_t line = base + threadIdx.x / team;
    const T* x = reinterpret_cast<const T*>(places.operands[0].data);
    T* y = reinterpret_cast<T*>(places.operands[1].data);
    int mine = 0;  // elements of the line; 0 for threads without a line
    if (line < lines) {
      x += offset_of(places, 0, line);
      y += offset_of(places, 1, line);
      mine = n;
    }
    C v[kVectors][kCount];
    C m = -kInfinity<C>;
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int k = (u * team + rank) * kCount;
      load_packed<T>(v[u], x + k, mine - k, vector, -kInfinity<C>);
    }
#pragma unroll
    for (int u = 0; u < kVectors; ++u)
      for (int j = 0; j < kCount; ++j) m = NanMax()(m, v[u][j]);
    m = team_join(m, team, shared, NanMax());
    C s = 0;
#pragma unroll
    for (int u = 0; u < kVectors; ++u)
      for (int j = 0; j < kCount; ++j) {
        v[u][j] -= m;
        const C e = exp_of(v[u][j]);
        s += e;
        if (!log) v[u][j] = e;
      }
    s = team_join(s, team, shared, Add());
    const C rest = log ? log_of(s) : 1 / s;
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int k = (u * team + rank) * kCount;
      for (int j = 0; j < kCount; ++j) v[u][j] = log ? v[u][j] - rest : v[u][j] * rest;
      store_packed<T>(y + k, v[u], mine - k, vector);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kSoftmaxThreads)
    softmax_long_kernel(Picture<2> places, int64_t lines, int64_t n, bool vector, bool log) {
  using C = compute_t<T>;
  constexpr int kCount = kPerVector<T>, kVectors = 16 / kCount;
  constexpr int64_t kStep = int64_t{kSoftmaxThreads} * kCount;
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const T* x = reinterpret_cast<const T*>(places.operands[0].data) + offset_of(places, 0, line);
    T* y = reinterpret_cast<T*>(places.operands[1].data) + offset_of(places, 1, line);
    MaxSum<C> total;
    for (int64_t k = threadIdx.x * kCount; k < n; k += kVectors * kStep) {
      C v[kVectors * kCount];
#pragma unroll
      for (int u = 0; u < kVectors; ++u)
        load_packed<T>(reinterpret_cast<C(&)[kCount]>(v[u * kCount]), x + k + u * kStep, n - k - u * kStep, vector,
                       -kInfinity<C>);
      total.add(v);
    }
    total = team_join(total, kSoftmaxThreads, arch::dynamic_smem<MaxSum<C>>(), JoinMaxSums());
    const C rest = log ? log_of(total.s) : 1 / total.s;
    for (int64_t k = threadIdx.x * kCount; k < n; k += kStep) {
      C v[kCount];
      load_packed<T>(v, x + k, n - k, vector, C(0));
#pragma unroll
      for (int j = 0; j < kCount; ++j) v[j] = log ? (v[j] - total.m) - rest : exp_of(v[j] - total.m) * rest;
      store_packed<T>(y + k, v, n - k, vector);
    }
  }
}

template <class C>
__global__ void __launch_bounds__(kSoftmaxThreads) softmax_strided_kernel(AxisLines<2> p, int width, bool log) {
  const int lane = threadIdx.x % width, first = threadIdx.x / width, shared_by = blockDim.x / width;
  MaxSum<C>* shared = arch::dynamic_smem<MaxSum<C>>();
  const Strided& x = p.places.operands[0];
  const Strided& y = p.places.operands[1];
  for (int64_t base = int64_t{blockIdx.x} * width; base < p.count; base += int64_t{gridDim.x} * width) {
    const int64_t line = base + lane < p.count ? base + lane : p.count - 1;
    const int64_t from = offset_of(p.places, 0, line), to = offset_of(p.places, 1, line);
    MaxSum<C> total[1];
    for (int64_t k = first; k < p.n; k += 4 * shared_by) {
      C v[4];
      for (int i = 0; i < 4; ++i) {
        const int64_t at = k + i * shared_by;
        v[i] = at < p.n ? load_as<C>(x.data, x.dtype, from + at * p.step[0]) : -kInfinity<C>;
      }
      total[0].add(v);
    }
    join_lines(total, width, shared, JoinMaxSums());
    __syncthreads();
    if (first == 0) shared[lane] = total[0];
    __syncthreads();
    total[0] = shared[lane];
    __syncthreads();
    const C rest = log ? log_of(total[0].s) : 1 / total[0].s;
    if (base + lane < p.count)
      for (int64_t k = first; k < p.n; k += shared_by) {
        const C v = load_as<C>(x.data, x.dtype, from + k * p.step[0]) - total[0].m;
        store_as<C>(y.data, y.dtype, to + k * p.step[1], log ? v - rest : exp_of(v) * rest);
      }
  }
}

template <class T>
void softmax_rows(GpuContext& ctx, const AxisLines<2>& p, bool log) {
  constexpr int kVectors = kVectorsOf<T>;
  using C = compute_t<T>;
  if (p.n > int64_t{kSoftmaxMost} * kVectors * kPerVector<T>)
    return launch(ctx, "softmax_long_kernel", softmax_long_kernel<T>, blocks_for(p.count, 1, 65535), kSoftmaxThreads,
                  kSoftmaxThreads / 32 * sizeof(MaxSum<C>), p.places, p.count, p.n, p.vector, log);
  const SoftmaxTeam t(p.n, kPerVector<T>, kVectors);
  launch(ctx, "softmax_kernel", softmax_kernel<T, kVectors>, t.blocks(p.count), t.threads, 32 * sizeof(C), p.places,
         p.count, static_cast<int>(p.n), t.team, p.vector, log);
}

template <class C>
void softmax_strided(GpuContext& ctx, const AxisLines<2>& p, bool log) {
  const int width = softmax_width(p.count, p.n);
  launch(ctx, "softmax_strided_kernel", softmax_strided_kernel<C>, blocks_for(p.count, width, 65535), kSoftmaxThreads,
         kSoftmaxThreads * sizeof(MaxSum<C>), p, width, log);
}

}  // namespace

void softmax_forward(GpuContext& ctx, ConstView x, View y, int axis, bool log) {
  const AxisLines<2> p({x, y}, axis);
  if (p.count == 0 || p.n == 0) return;
  if (p.rows) visit_stored(x.dtype, [&]<class T>() { softmax_rows<T>(ctx, p, log); });
  else if (x.dtype == kFloat64) softmax_strided<double>(ctx, p, log);
  else softmax_strided<float>(ctx, p, log);
}

}  // namespace tantu
