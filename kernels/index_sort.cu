// Stable sort of (key, position) pairs: radix sort from the lowest digit, 8 bits a pass.
//
// A pass: one block counts the digits of each tile of 2048 pairs; one warp per digit sums these counts over the tiles;
// one block per tile puts its pairs where they belong. A pair's place is the number of pairs with a smaller digit, plus
// those of its digit in the tiles before, the warps before, the rounds before and the lanes below: no atomics decide,
// so equal keys keep their order and bits repeat. Bytes moved a pass: 5 words a pair; bound by memory bandwidth.
#include <tantu/kernels/index_sort.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/warp.cuh>

#include <utility>

namespace tantu {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kItems = 8, kTile = kThreads * kItems;
constexpr int kDigits = 256, kDigitBits = 8;
static_assert(kDigits == kThreads, "one thread per digit");

int64_t tiles_of(int64_t count) {
  return (count + kTile - 1) / kTile;
}

// counts (digit, tile) = how many keys of the tile have the digit.
template <class T>
__global__ void __launch_bounds__(kThreads)
    count_digits_kernel(const T* keys, T* counts, int64_t count, int64_t tiles, int shift) {
  __shared__ unsigned digits[kDigits];
  const int64_t tile = blockIdx.x, start = tile * kTile;
  digits[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < kTile && start + i < count; i += kThreads)
    atomicAdd(&digits[(keys[start + i] >> shift) % kDigits], 1u);
  __syncthreads();
  counts[threadIdx.x * tiles + tile] = digits[threadIdx.x];
}

// The sum over the lanes up to and with this one.
template <class T>
__device__ __forceinline__ T sum_up_to(T value) {
  for (int step = 1; step < 32; step *= 2) {
    const T below = __shfl_up_sync(kFullWarp, value, step);
    if (static_cast<int>(threadIdx.x % 32) >= step) value += below;
  }
  return value;
}

// counts (digit, tile) become those of the tiles before; totals (digit) those of all.
template <class T>
__global__ void __launch_bounds__(kThreads) sum_tiles_kernel(T* counts, T* totals, int64_t tiles) {
  const int digit = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  T* row = counts + digit * tiles;
  T before = 0;
  for (int64_t t = 0; t < tiles; t += 32) {
    const T own = t + lane < tiles ? row[t + lane] : T(0);
    const T with = sum_up_to(own);
    if (t + lane < tiles) row[t + lane] = before + with - own;
    before += __shfl_sync(kFullWarp, with, 31);
  }
  if (lane == 0) totals[digit] = before;
}

template <class T>
struct Shared {
  T first[kDigits];                  // place of the tile's first pair of a digit
  unsigned ranks[kWarps * kDigits];  // pairs of a digit so far, by warp
  T warp_totals[kWarps];
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    place_pairs_kernel(const T* keys, const T* order, T* sorted_keys, T* sorted_order, const T* counts, const T* totals,
                       int64_t count, int64_t tiles, int shift) {
  Shared<T>& shared = *arch::dynamic_smem<Shared<T>>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // the digits below, in all tiles
  const T total = totals[threadIdx.x], with = sum_up_to(total);
  if (lane == 31) shared.warp_totals[warp] = with;
  for (int w = 0; w < kWarps; ++w) shared.ranks[w * kDigits + threadIdx.x] = 0;
  __syncthreads();
  T place = with - total;
  for (int w = 0; w < warp; ++w) place += shared.warp_totals[w];
  shared.first[threadIdx.x] = place + (tiles > 1 ? counts[threadIdx.x * tiles + blockIdx.x] : T(0));
  // each warp its 256 neighbours, 32 a round
  const int64_t start = static_cast<int64_t>(blockIdx.x) * kTile + warp * 32 * kItems + lane;
  unsigned* ranks = shared.ranks + warp * kDigits;
  unsigned rank[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const bool present = start + i * 32 < count;
    const unsigned digit = present ? static_cast<unsigned>(keys[start + i * 32] >> shift) % kDigits : 0u;
    const unsigned peers = __match_any_sync(kFullWarp, present ? digit : static_cast<unsigned>(kDigits));
    const unsigned before = present ? ranks[digit] : 0;
    rank[i] = before + __popc(peers & ((1u << lane) - 1));
    __syncwarp();
    if (present && peers >> lane == 1) ranks[digit] = before + __popc(peers);  // the highest of them
    __syncwarp();
  }
  __syncthreads();
  // the warps before
  unsigned sum = 0;
  for (int w = 0; w < kWarps; ++w) {
    const unsigned own = shared.ranks[w * kDigits + threadIdx.x];
    shared.ranks[w * kDigits + threadIdx.x] = sum;
    sum += own;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (start + i * 32 >= count) break;
    const T key = keys[start + i * 32];
    const unsigned digit = static_cast<unsigned>(key >> shift) % kDigits;
    const T to = shared.first[digit] + ranks[digit] + rank[i];
    sorted_keys[to] = key;
    sorted_order[to] = order[start + i * 32];
  }
}

template <class T>
void sort(GpuContext& ctx, SortArrays& a, int bits) {
  const int64_t tiles = tiles_of(a.count);
  T* counts = static_cast<T*>(a.counts);
  T* totals = tiles > 1 ? counts + kDigits * tiles : counts;
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    const T *keys = static_cast<T*>(a.keys[0]), *order = static_cast<T*>(a.order[0]);
    launch(ctx, "count_digits_kernel", count_digits_kernel<T>, tiles, kThreads, 0, keys, counts, a.count, tiles, shift);
    if (tiles > 1)
      launch(ctx, "sum_tiles_kernel", sum_tiles_kernel<T>, kDigits / kWarps, kThreads, 0, counts, totals, tiles);
    launch(ctx, "place_pairs_kernel", place_pairs_kernel<T>, tiles, kThreads, sizeof(Shared<T>), keys, order,
           static_cast<T*>(a.keys[1]), static_cast<T*>(a.order[1]), counts, totals, a.count, tiles, shift);
    std::swap(a.keys[0], a.keys[1]);
    std::swap(a.order[0], a.order[1]);
  }
}

}  // namespace

SortArrays::SortArrays(void* data, int64_t count, bool wide) : count(count), wide(wide) {
  char* next = static_cast<char*>(data);
  for (void** array : {&keys[0], &keys[1], &order[0], &order[1], &counts}) {
    *array = next;
    next += count * (wide ? 8 : 4);
  }
}

int64_t sort_bytes(int64_t count, bool wide) {
  return (4 * count + kDigits * (tiles_of(count) + 1)) * (wide ? 8 : 4);
}

void sort_positions(GpuContext& ctx, SortArrays& arrays, int bits) {
  if (arrays.count <= 1) return;
  if (arrays.wide) sort<uint64_t>(ctx, arrays, bits);
  else sort<uint32_t>(ctx, arrays, bits);
}

}  // namespace tantu
