// Where x is not zero: counted by chunks of 2048 elements, summed over the chunks on the host, which must know the
// total anyway to make the result, then written in order.
//
// One block a chunk, 8 rounds of 256 neighbours: a lane's place is the count of the chunks before, the rounds before,
// the warps before and the lanes below. Bytes moved: x twice, 8 a position written; bound by memory bandwidth.
#include <tantu/core/gpu/blocking.h>
#include <tantu/kernels/nonzero.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/walk.cuh>
#include <tantu/kernels/warp.cuh>
#include <tantu/kernels/workspace.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ __forceinline__ bool is_set(const Picture<1>& x, int64_t i) {
  const Strided& of = x.operands[0];
  const int64_t at = place_in(x, 0, i);
  if (of.dtype == kFloat64) return load_as<double>(of.data, of.dtype, at) != 0;
  if (of.dtype == kFloat32 || of.dtype == kFloat16 || of.dtype == kBFloat16)
    return load_as<float>(of.data, of.dtype, at) != 0;
  return load_as<int64_t>(of.data, of.dtype, at) != 0;
}

// The block's count of a flag, and how many threads below this one have it; `counts` holds one number a warp.
__device__ __forceinline__ int count_below(bool flag, int* counts, int& all) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned votes = __ballot_sync(kFullWarp, flag);
  if (lane == 0) counts[warp] = __popc(votes);
  __syncthreads();
  int below = __popc(votes & ((1u << lane) - 1));
  all = 0;
  for (int w = 0; w < kWarps; ++w) {
    below += w < warp ? counts[w] : 0;
    all += counts[w];
  }
  __syncthreads();
  return below;
}

__global__ void __launch_bounds__(kThreads) count_kernel(Picture<1> x, int64_t n, int64_t* counts) {
  __shared__ int warps[kWarps];
  const int64_t start = blockIdx.x * kNonzeroGpuChunk;
  int64_t total = 0;
  for (int64_t r = 0; r < kNonzeroGpuChunk; r += kThreads) {
    int all;
    const int64_t i = start + r + threadIdx.x;
    count_below(i < n && is_set(x, i), warps, all);
    total += all;
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads)
    write_kernel(Picture<1> x, int64_t n, const int64_t* starts, int64_t* positions) {
  __shared__ int warps[kWarps];
  const int64_t start = blockIdx.x * kNonzeroGpuChunk;
  int64_t* to = positions + starts[blockIdx.x];
  for (int64_t r = 0; r < kNonzeroGpuChunk; r += kThreads) {
    int all;
    const int64_t i = start + r + threadIdx.x;
    const bool set = i < n && is_set(x, i);
    const int below = count_below(set, warps, all);
    if (set) to[below] = i;
    to += all;
  }
}

struct Steps {
  int rank;
  int64_t sizes[kMaxDims] = {}, below[kMaxDims] = {};  // below: elements to the next index of a dimension
};

// A thread a coordinate.
__global__ void __launch_bounds__(kThreads)
    unravel_kernel(const int64_t* positions, int64_t total, const __grid_constant__ Steps steps, int64_t* y) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total; i += stride) {
    const int64_t n = i / steps.rank;
    const int d = static_cast<int>(i - n * steps.rank);
    y[i] = positions[n] / steps.below[d] % steps.sizes[d];
  }
}

}  // namespace

void nonzero_counts(GpuContext& ctx, ConstView x, std::vector<int64_t>& counts) {
  const int64_t n = x.numel(), chunks = (n + kNonzeroGpuChunk - 1) / kNonzeroGpuChunk;
  counts.assign(static_cast<size_t>(chunks), 0);
  if (n == 0) return;
  const size_t bytes = counts.size() * sizeof(int64_t);
  const Workspace on_device(ctx, "nonzero", static_cast<int64_t>(bytes));
  launch(ctx, "count_kernel", count_kernel, chunks, kThreads, 0, make_picture<1>(&x, 1), n, on_device.data<int64_t>());
  gpu::copy_to_host(SyncReason::Nonzero, ctx, counts.data(), on_device.data(), static_cast<int64_t>(bytes));
}

void nonzero_positions(GpuContext& ctx, ConstView x, const std::vector<int64_t>& counts, View positions) {
  if (positions.numel() == 0) return;
  std::vector<int64_t> starts;
  int64_t start = 0;
  for (int64_t count : counts) {
    starts.push_back(start);
    start += count;
  }
  const size_t bytes = starts.size() * sizeof(int64_t);
  const Workspace on_device(ctx, "nonzero", static_cast<int64_t>(bytes));
  gpu::copy_to_device(ctx, on_device.data(), starts.data(), static_cast<int64_t>(bytes));
  launch(ctx, "write_kernel", write_kernel, static_cast<int64_t>(starts.size()), kThreads, 0, make_picture<1>(&x, 1),
         x.numel(), on_device.data<int64_t>(), positions.as<int64_t>());
}

void unravel(GpuContext& ctx, ConstView positions, const Shape& sizes, View y) {
  const int64_t total = y.numel();
  if (total == 0) return;
  Steps steps{sizes.size(), {}, {}};
  const Strides below = contiguous_strides(sizes);
  for (int d = 0; d < sizes.size(); ++d) {
    steps.sizes[d] = sizes[d];
    steps.below[d] = below[d];
  }
  launch(ctx, "unravel_kernel", unravel_kernel, blocks_for(total, kThreads), kThreads, 0, positions.as<int64_t>(),
         total, steps, y.as<int64_t>());
}

}  // namespace tantu
