// Permutations, categories, and the check of what a random operation is given.
//
// Permutation: positions sorted by 64 random bits each (8 passes of the sort in index_sort.cu). Categories without
// replacement: a block a row finds, sample after sample, the largest weight / exponential that comes after the one
// before: samples · categories steps. With replacement: a warp a row writes the running sum of the weights, then a
// thread a sample searches it for a uniform share. Ties go to the lower category.
#include <tantu/core/gpu/blocking.h>
#include <tantu/kernels/philox.h>
#include <tantu/kernels/random.h>
#include <tantu/kernels/index_sort.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/row_group.cuh>
#include <tantu/kernels/walk.cuh>
#include <tantu/kernels/workspace.cuh>

namespace tantu {

namespace {

constexpr int kThreads = kRowThreads;

__device__ __forceinline__ int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t thread_count() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

struct Stream {
  uint64_t seed, offset;
  __device__ __forceinline__ Philox4 at(int64_t i) const { return philox(seed, offset, static_cast<uint64_t>(i)); }
};

Stream next_of(Generator& generator) {
  return {generator.initial_seed(), generator.next_offset(kPhiloxStep)};
}

__global__ void __launch_bounds__(kThreads)
    random_keys_kernel(Stream stream, int64_t n, uint64_t* keys, uint64_t* order) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const Philox4 r = stream.at(i);
    keys[i] = static_cast<uint64_t>(r.x) << 32 | r.y;
    order[i] = static_cast<uint64_t>(i);
  }
}

struct Weights {  // p (rows, categories)
  const char* data;
  DType dtype;
  int64_t row_step, step, categories;

  template <class A>
  __device__ __forceinline__ A at(int64_t row, int64_t k) const {
    return load_as<A>(data, dtype, row * row_step + k * step);
  }
};

// How a category fares: the larger first, of equal ones the lower.
template <class A>
struct Entry {
  A value;
  int64_t category;
  __device__ __forceinline__ bool before(const Entry& other) const {
    return value != other.value ? value > other.value : category < other.category;
  }
};

template <class A>
__global__ void __launch_bounds__(kThreads, 2)
    race_kernel(Weights weights, Stream stream, int64_t rows, int64_t samples, int64_t* chosen) {
  __shared__ Entry<A> best[kThreads / 32];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Entry<A> last{A(INFINITY), -1};
    for (int64_t s = 0; s < samples; ++s) {
      Entry<A> own{A(-1), weights.categories};
      for (int64_t k = threadIdx.x; k < weights.categories; k += kThreads) {
        const A w = weights.at<A>(row, k);
        const A rival = -log(static_cast<A>(philox_unit(stream.at(row * weights.categories + k).x)));
        const Entry<A> entry{w > 0 ? w / rival : A(-1), k};
        if (last.before(entry) && entry.before(own)) own = entry;
      }
      for (int step = 16; step > 0; step /= 2) {
        const Entry<A> other{__shfl_xor_sync(kFullWarp, own.value, step),
                             __shfl_xor_sync(kFullWarp, own.category, step)};
        if (other.before(own)) own = other;
      }
      if (threadIdx.x % 32 == 0) best[threadIdx.x / 32] = own;
      __syncthreads();
      last = best[0];
      for (int w = 1; w < kThreads / 32; ++w)
        if (best[w].before(last)) last = best[w];
      if (threadIdx.x == 0) chosen[row * samples + s] = last.category;
      __syncthreads();
    }
  }
}

// sums (row, category) = the running sum of the weights; a warp a row.
template <class A>
__global__ void __launch_bounds__(kThreads) running_sums_kernel(Weights weights, int64_t rows, A* sums) {
  const int lane = threadIdx.x % 32;
  for (int64_t row = thread_index() / 32; row < rows; row += thread_count() / 32) {
    A before = 0;
    for (int64_t start = 0; start < weights.categories; start += 32) {
      const int64_t k = start + lane;
      A sum = k < weights.categories ? weights.at<A>(row, k) : A(0);
      for (int step = 1; step < 32; step *= 2) {
        const A lower = __shfl_up_sync(kFullWarp, sum, step);
        if (lane >= step) sum += lower;
      }
      if (k < weights.categories) sums[row * weights.categories + k] = before + sum;
      before += __shfl_sync(kFullWarp, sum, 31);
    }
  }
}

template <class A>
__global__ void __launch_bounds__(kThreads)
    search_kernel(Weights weights, const A* sums, Stream stream, int64_t rows, int64_t samples, int64_t* chosen) {
  const int64_t n = weights.categories;
  for (int64_t i = thread_index(); i < rows * samples; i += thread_count()) {
    const int64_t row = i / samples;
    const A* shares = sums + row * n;
    const A wanted = static_cast<A>(philox_unit(stream.at(i).x)) * shares[n - 1];
    int64_t low = 0, high = n - 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (shares[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    // rounding of the sums must not choose what has no weight
    while (low < n - 1 && !(weights.at<A>(row, low) > 0)) ++low;
    while (low > 0 && !(weights.at<A>(row, low) > 0)) --low;
    chosen[i] = low;
  }
}

template <class A>
void multinomial(GpuContext& ctx, const Weights& weights, int64_t rows, int64_t samples, int64_t* chosen,
                 bool replacement, Generator& generator) {
  const Stream stream = next_of(generator);
  if (!replacement || samples == 1)
    return launch(ctx, "race_kernel", race_kernel<A>, blocks_for(rows, 1, 65536), kThreads, 0, weights, stream, rows,
                  samples, chosen);
  const Workspace sums(ctx, "multinomial", rows * weights.categories * static_cast<int64_t>(sizeof(A)));
  launch(ctx, "running_sums_kernel", running_sums_kernel<A>, blocks_for(rows * 32, kThreads), kThreads, 0, weights,
         rows, sums.data<A>());
  launch(ctx, "search_kernel", search_kernel<A>, blocks_for(rows * samples, kThreads), kThreads, 0, weights,
         sums.data<A>(), stream, rows, samples, chosen);
}

// first = the lowest position of an element outside of [low, high].
__global__ void __launch_bounds__(kThreads)
    first_outside_kernel(Picture<1> x, int64_t n, double low, double high, unsigned long long* first) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const double v = load_as<double>(x.operands[0].data, x.operands[0].dtype, place_in(x, 0, i));
    if (!(v >= low && v <= high)) atomicMin(first, static_cast<unsigned long long>(i));
  }
}
__global__ void __launch_bounds__(32) value_kernel(Picture<1> x, const unsigned long long* first, double* value) {
  if (threadIdx.x == 0 && *first != ~0ull)
    *value = load_as<double>(x.operands[0].data, x.operands[0].dtype, place_in(x, 0, static_cast<int64_t>(*first)));
}

}  // namespace

void random_permutation(GpuContext& ctx, View y, Generator& generator) {
  const int64_t n = y.numel();
  const Workspace scratch(ctx, "randperm", sort_bytes(n, true));
  SortArrays arrays(scratch.data(), n, true);
  launch(ctx, "random_keys_kernel", random_keys_kernel, blocks_for(n, kThreads), kThreads, 0, next_of(generator), n,
         static_cast<uint64_t*>(arrays.keys[0]), static_cast<uint64_t*>(arrays.order[0]));
  sort_positions(ctx, arrays, 64);
  const gpu::DeviceScope device(ctx.device);
  TANTU_CUDA_TRY(cudaMemcpyAsync(y.data, arrays.order[0], static_cast<size_t>(n) * sizeof(int64_t),
                                 cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(ctx.stream)));
}

void random_multinomial(GpuContext& ctx, ConstView p, View y, bool replacement, Generator& generator) {
  const Weights weights{static_cast<const char*>(p.data), p.dtype, p.strides[0], p.strides[1], p.sizes[1]};
  const int64_t rows = p.sizes[0], samples = y.sizes[1];
  if (p.dtype == kFloat64) multinomial<double>(ctx, weights, rows, samples, y.as<int64_t>(), replacement, generator);
  else multinomial<float>(ctx, weights, rows, samples, y.as<int64_t>(), replacement, generator);
}

void first_outside(GpuContext& ctx, ConstView x, double low, double high, std::optional<double>& found) {
  struct Answer {
    unsigned long long first;
    double value;
  } answer;
  const Workspace scratch(ctx, "check", sizeof answer);
  auto* first = scratch.data<unsigned long long>();
  const auto stream = static_cast<cudaStream_t>(ctx.stream);
  const auto picture = make_picture<1>(&x, 1);
  const gpu::DeviceScope device(ctx.device);
  TANTU_CUDA_TRY(cudaMemsetAsync(first, 0xff, sizeof answer, stream));
  if (x.numel() > 0)
    launch(ctx, "first_outside_kernel", first_outside_kernel, blocks_for(x.numel(), kThreads), kThreads, 0, picture,
           x.numel(), low, high, first);
  launch(ctx, "value_kernel", value_kernel, 1, 32, 0, picture, first, reinterpret_cast<double*>(first + 1));
  gpu::copy_to_host(SyncReason::Check, ctx, &answer, first, sizeof answer);
  found.reset();
  if (answer.first != ~0ull) found = answer.value;
}

}  // namespace tantu
