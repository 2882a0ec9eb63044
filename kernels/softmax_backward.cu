// dx = y (g - Σ g y), or with log g - exp(y) Σ g, along one dimension.
//
// As softmax.cu: lines that fit are held in registers by a team of lanes or a block. Bytes moved: g and y read once, dx
// written once; 4 FLOP an element: bound by the bandwidth. Longer lines and other strides read g and y twice.
#include <tantu/kernels/softmax.h>
#include <tantu/kernels/softmax.cuh>

namespace tantu {

namespace {

template <class T>
constexpr int kVectorsOf = std::is_same_v<T, double> ? 2 : 16 / kPerVector<T>;  // of each of g and y

// What an element adds to the line's sum, and its result once that is known.
template <class C>
__device__ __forceinline__ C term(C g, C y, bool log) {
  return log ? g : g * y;
}
template <class C>
__device__ __forceinline__ C gradient(C g, C y, C total, bool log) {
  return log ? g - exp_of(y) * total : y * (g - total);
}

template <class T, int kVectors>
__global__ void __launch_bounds__(kSoftmaxMost)
    softmax_backward_kernel(Picture<3> places, int64_t lines, int n, int team, bool vector, bool log) {
  using C = compute_t<T>;
  constexpr int kCount = kPerVector<T>;
  const int rank = threadIdx.x % team, teams = blockDim.x / team;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * teams; base < lines; base += int64_t{gridDim.x} * teams) {
    const int64_t line = base + threadIdx.x / team;
    const T* pointer_g = reinterpret_cast<const T*>(places.operands[0].data);
    const T* pointer_y = reinterpret_cast<const T*>(places.operands[1].data);
    T* dx = reinterpret_cast<T*>(places.operands[2].data);
    int mine = 0;
    if (line < lines) {
      pointer_g += offset_of(places, 0, line);
      pointer_y += offset_of(places, 1, line);
      dx += offset_of(places, 2, line);
      mine = n;
    }
    C g[kVectors][kCount], y[kVectors][kCount];
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int k = (u * team + rank) * kCount;
      load_packed<T>(g[u], pointer_g + k, mine - k, vector, C(0));
      load_packed<T>(y[u], pointer_y + k, mine - k, vector, C(0));
    }
    C total = 0;
#pragma unroll
    for (int u = 0; u < kVectors; ++u)
      for (int j = 0; j < kCount; ++j) total += term(g[u][j], y[u][j], log);
    total = team_join(total, team, arch::dynamic_smem<C>(), Add());
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int k = (u * team + rank) * kCount;
      for (int j = 0; j < kCount; ++j) g[u][j] = gradient(g[u][j], y[u][j], total, log);
      store_packed<T>(dx + k, g[u], mine - k, vector);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kSoftmaxThreads)
    softmax_backward_long_kernel(Picture<3> places, int64_t lines, int64_t n, bool vector, bool log) {
  using C = compute_t<T>;
  constexpr int kCount = kPerVector<T>;
  constexpr int64_t kStep = int64_t{kSoftmaxThreads} * kCount;
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const T* pointer_g = reinterpret_cast<const T*>(places.operands[0].data) + offset_of(places, 0, line);
    const T* pointer_y = reinterpret_cast<const T*>(places.operands[1].data) + offset_of(places, 1, line);
    T* dx = reinterpret_cast<T*>(places.operands[2].data) + offset_of(places, 2, line);
    C part[kCount] = {}, g[kCount], y[kCount];
#pragma unroll 2
    for (int64_t k = threadIdx.x * kCount; k < n; k += kStep) {
      load_packed<T>(g, pointer_g + k, n - k, vector, C(0));
      load_packed<T>(y, pointer_y + k, n - k, vector, C(0));
      for (int j = 0; j < kCount; ++j) part[j] += term(g[j], y[j], log);
    }
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) part[j] += part[j + half];
    const C total = team_join(part[0], kSoftmaxThreads, arch::dynamic_smem<C>(), Add());
    for (int64_t k = threadIdx.x * kCount; k < n; k += kStep) {
      load_packed<T>(g, pointer_g + k, n - k, vector, C(0));
      load_packed<T>(y, pointer_y + k, n - k, vector, C(0));
#pragma unroll
      for (int j = 0; j < kCount; ++j) g[j] = gradient(g[j], y[j], total, log);
      store_packed<T>(dx + k, g, n - k, vector);
    }
  }
}

template <class C>
__global__ void __launch_bounds__(kSoftmaxThreads)
    softmax_backward_strided_kernel(AxisLines<3> p, int width, bool log) {
  const int lane = threadIdx.x % width, first = threadIdx.x / width, shared_by = blockDim.x / width;
  C* shared = arch::dynamic_smem<C>();
  const Strided *g = &p.places.operands[0], *y = &p.places.operands[1], *dx = &p.places.operands[2];
  for (int64_t base = int64_t{blockIdx.x} * width; base < p.count; base += int64_t{gridDim.x} * width) {
    const int64_t line = base + lane < p.count ? base + lane : p.count - 1;
    const int64_t at_g = offset_of(p.places, 0, line), at_y = offset_of(p.places, 1, line);
    const int64_t to = offset_of(p.places, 2, line);
    C total[1] = {0};
    for (int64_t k = first; k < p.n; k += shared_by)
      total[0] += term(load_as<C>(g->data, g->dtype, at_g + k * p.step[0]),
                       log ? C(0) : load_as<C>(y->data, y->dtype, at_y + k * p.step[1]), log);
    join_lines(total, width, shared, Add());
    __syncthreads();
    if (first == 0) shared[lane] = total[0];
    __syncthreads();
    total[0] = shared[lane];
    __syncthreads();
    if (base + lane < p.count)
      for (int64_t k = first; k < p.n; k += shared_by)
        store_as<C>(dx->data, dx->dtype, to + k * p.step[2],
                    gradient(load_as<C>(g->data, g->dtype, at_g + k * p.step[0]),
                             load_as<C>(y->data, y->dtype, at_y + k * p.step[1]), total[0], log));
  }
}

template <class T>
void softmax_backward_rows(GpuContext& ctx, const AxisLines<3>& p, bool log) {
  constexpr int kVectors = kVectorsOf<T>;
  using C = compute_t<T>;
  if (p.n > int64_t{kSoftmaxMost} * kVectors * kPerVector<T>)
    return launch(ctx, "softmax_backward_long_kernel", softmax_backward_long_kernel<T>, blocks_for(p.count, 1, 65535),
                  kSoftmaxThreads, kSoftmaxThreads / 32 * sizeof(C), p.places, p.count, p.n, p.vector, log);
  const SoftmaxTeam t(p.n, kPerVector<T>, kVectors);
  launch(ctx, "softmax_backward_kernel", softmax_backward_kernel<T, kVectors>, t.blocks(p.count), t.threads,
         32 * sizeof(C), p.places, p.count, static_cast<int>(p.n), t.team, p.vector, log);
}

template <class C>
void softmax_backward_strided(GpuContext& ctx, const AxisLines<3>& p, bool log) {
  const int width = softmax_width(p.count, p.n);
  launch(ctx, "softmax_backward_strided_kernel", softmax_backward_strided_kernel<C>, blocks_for(p.count, width, 65535),
         kSoftmaxThreads, kSoftmaxThreads * sizeof(C), p, width, log);
}

}  // namespace

void softmax_backward(GpuContext& ctx, ConstView g, ConstView y, View dx, int axis, bool log) {
  const AxisLines<3> p({g, y, dx}, axis);
  if (p.count == 0 || p.n == 0) return;
  if (p.rows) visit_stored(y.dtype, [&]<class T>() { softmax_backward_rows<T>(ctx, p, log); });
  else if (y.dtype == kFloat64) softmax_backward_strided<double>(ctx, p, log);
  else softmax_backward_strided<float>(ctx, p, log);
}

}  // namespace tantu
