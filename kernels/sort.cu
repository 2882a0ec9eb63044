// Lines in order: sort, topk, kth.
//
// 1. sort_tiles: a block sorts 16 KiB of items (key and place, made of the elements on the way in) in shared memory by
//    Batcher's bitonic network: one segment of a long line, or many short lines, each a power of two of places.
// 2. merge: passes over the whole, each joining runs of 2^j tiles by pairs. A block writes one tile of the result: two
//    binary searches along the merge path tell which parts of the two runs it needs (S. Odeh, O. Green, Z. Mwassi, O.
//    Shmueli, Y. Birk, "Merge Path", 2012), its threads do the same in shared memory.
//    For the few first, step 1 is repeated instead, keeping k of each tile, until one tile is left.
// 3. emit: items become values (of x, so that -0 and NaN keep their bits) and indices.
// Bytes moved: 8 or 16 an item, read and written once in 1., once in each of log2(n / tile) passes of 2., read once in
// 3.: bound by the bandwidth, 1. by shared memory.
#include <tantu/kernels/sort.h>
#include <tantu/kernels/sort_gpu.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>

namespace tantu {

namespace {

// What is sorted: elements of x, or items of an earlier step, `line` of them after each other.
template <class Item>
struct SortInput {
  AxisLines<1> x;
  const Item* items;
  int64_t n, segment, tiles, keep, kept;  // kept: items of one line that come out
  bool descending;
};

template <class Item>
__device__ __forceinline__ Item last_item() {
  return Item::make(static_cast<typename Item::Key>(~typename Item::Key(0)),
                    sizeof(Item) == 8 ? 0xffffffffll : 0x7fffffffffffffffll);
}

// Sorts each `segment` (a power of two) of the tile.
template <class Item>
__device__ __forceinline__ void sort_shared(Item* tile, int segment) {
  for (int size = 2; size <= segment; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int pair = threadIdx.x; pair < kSortTile<Item> / 2; pair += kSortThreads) {
        const int i = 2 * pair - (pair & (stride - 1));
        const Item a = tile[i], b = tile[i + stride];
        const bool ascending = (i & (segment - 1) & size) == 0;
        if ((b < a) == ascending) {
          tile[i] = b;
          tile[i + stride] = a;
        }
      }
    }
  __syncthreads();
}

template <class Item>
__global__ void __launch_bounds__(kSortThreads) sort_tiles_kernel(SortInput<Item> in, Item* out) {
  constexpr int kTile = kSortTile<Item>;
  Item* tile = arch::dynamic_smem<Item>();
  const int segment = static_cast<int>(in.segment), each = kTile / segment;
  const int64_t segments = in.x.count * in.tiles;
  for (int64_t base = int64_t{blockIdx.x} * each; base < segments; base += int64_t{gridDim.x} * each) {
    for (int t = threadIdx.x; t < kTile; t += kSortThreads) {
      const int64_t at = base + t / segment, line = at / in.tiles, k = at % in.tiles * segment + t % segment;
      if (at >= segments || k >= in.n) tile[t] = last_item<Item>();
      else if (in.items) tile[t] = in.items[line * in.n + k];
      else
        tile[t] =
            Item::make(load_key<typename Item::Key>(in.x.places.operands[0],
                                                    offset_of(in.x.places, 0, line) + k * in.x.step[0], in.descending),
                       k);
    }
    sort_shared(tile, segment);
    for (int t = threadIdx.x; t < kTile; t += kSortThreads) {
      const int64_t at = base + t / segment, line = at / in.tiles, part = at % in.tiles;
      const int i = t % segment;
      if (at < segments && i < in.keep && part * segment + i < in.n) out[line * in.kept + part * in.keep + i] = tile[t];
    }
    __syncthreads();
  }
}

// How many of the first `d` items of two merged runs come from a.
template <class Item>
__device__ __forceinline__ int64_t merge_path(const Item* a, int64_t a_count, const Item* b, int64_t b_count,
                                              int64_t d) {
  int64_t low = d > b_count ? d - b_count : 0, high = d < a_count ? d : a_count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (a[middle] < b[d - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <class Item>
__global__ void __launch_bounds__(kSortThreads)
    merge_kernel(const Item* in, Item* out, int64_t lines, int64_t n, int64_t run) {
  constexpr int kTile = kSortTile<Item>, kEach = kTile / kSortThreads;
  Item* tile = arch::dynamic_smem<Item>();
  int64_t* from_a = reinterpret_cast<int64_t*>(tile + kTile);  // where the block begins and ends in the first run
  const int64_t tiles = (n + kTile - 1) / kTile;
  for (int64_t task = blockIdx.x; task < lines * tiles; task += gridDim.x) {
    const int64_t line = task / tiles * n, first = task % tiles * kTile, start = first / (2 * run) * (2 * run);
    const int64_t a_count = n - start < run ? n - start : run;
    const int64_t b_count = n - start - a_count < run ? n - start - a_count : run;
    const Item *a = in + line + start, *b = a + a_count;
    const int64_t d = first - start, most = a_count + b_count - d;
    const int count = static_cast<int>(most < kTile ? most : kTile);
    if (threadIdx.x < 2) from_a[threadIdx.x] = merge_path(a, a_count, b, b_count, d + (threadIdx.x ? count : 0));
    __syncthreads();
    const int64_t a_first = from_a[0];
    const int a_here = static_cast<int>(from_a[1] - a_first);
    a += a_first;
    b += d - a_first;
    for (int t = threadIdx.x; t < count; t += kSortThreads) tile[t] = t < a_here ? a[t] : b[t - a_here];
    __syncthreads();
    // each thread kEach of them
    Item merged[kEach];
    const int begin = static_cast<int>(threadIdx.x) * kEach < count ? static_cast<int>(threadIdx.x) * kEach : count;
    int i = static_cast<int>(merge_path(tile, a_here, tile + a_here, count - a_here, begin)), j = a_here + begin - i;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const bool left = i < a_here && (j >= count || tile[i] < tile[j]);
      const int at = left ? i++ : j++;
      merged[e] = tile[at < count ? at : 0];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < kEach; ++e)
      if (begin + e < count) tile[begin + e] = merged[e];
    __syncthreads();
    for (int t = threadIdx.x; t < count; t += kSortThreads) out[line + first + t] = tile[t];
    __syncthreads();
  }
}

// Items [first, first + m) of each line of n; with nan_first the first NaN of a line that has one.
template <class Item>
__global__ void __launch_bounds__(kSortThreads) emit_kernel(const Item* items, AxisLines<1> x, AxisLines<2> to,
                                                            int64_t n, int64_t first, int item_size, bool nan_first) {
  const int64_t m = to.n, stride = int64_t{gridDim.x} * kSortThreads;
  for (int64_t t = int64_t{blockIdx.x} * kSortThreads + threadIdx.x; t < to.count * m; t += stride) {
    const int64_t line = t / m, i = t % m;
    const Item* sorted = items + line * n;
    int64_t at = first + i;
    const auto highest = static_cast<typename Item::Key>(~typename Item::Key(0));
    if (nan_first && sorted[n - 1].key() == highest) {
      int64_t low = 0, high = n - 1;
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sorted[middle].key() == highest) high = middle;
        else low = middle + 1;
      }
      at = low;
    }
    const int64_t place = sorted[at].place(), from = offset_of(x.places, 0, line) + place * x.step[0];
    const int64_t value = offset_of(to.places, 0, line) + i * to.step[0];
    const char* data = x.places.operands[0].data;
    char* values = to.places.operands[0].data;
    switch (item_size) {
      case 1: values[value] = data[from]; break;
      case 2: reinterpret_cast<uint16_t*>(values)[value] = reinterpret_cast<const uint16_t*>(data)[from]; break;
      case 4: reinterpret_cast<uint32_t*>(values)[value] = reinterpret_cast<const uint32_t*>(data)[from]; break;
      default: reinterpret_cast<uint64_t*>(values)[value] = reinterpret_cast<const uint64_t*>(data)[from]; break;
    }
    reinterpret_cast<int64_t*>(to.places.operands[1].data)[offset_of(to.places, 1, line) + i * to.step[1]] = place;
  }
}

// What is wanted of each line: items [first, first + the length of the results' lines), or the first NaN.
struct Wanted {
  const char* op;
  bool descending;
  int64_t first;
  bool nan_first;
};

template <class Item>
class Sorter {
 public:
  Sorter(GpuContext& ctx, const ConstView& x, const View& values, const View& indices, const Wanted& wanted)
      : ctx_(ctx),
        x_({x}, std::max(x.rank() - 1, 0)),
        to_({values, indices}, std::max(values.rank() - 1, 0)),
        item_size_(static_cast<int>(item_size(x.dtype))),
        wanted_(wanted) {}

  void run() {
    if (x_.count == 0 || to_.n == 0) return;
    const int64_t few = wanted_.first + to_.n;
    if (x_.n > kTile && few <= kTile / 2 && !wanted_.nan_first) select(nullptr, x_.n, few);
    else sort();
  }

 private:
  static constexpr int64_t kTile = kSortTile<Item>;

  int64_t bytes(int64_t per_line) const { return x_.count * per_line * static_cast<int64_t>(sizeof(Item)); }

  // Sorts tiles of lines of n items, or elements of x, and keeps the first `keep` of each.
  void tiles(const Item* items, int64_t n, int64_t keep, Item* out) const {
    SortInput<Item> in{x_, items, n, n < kTile ? power_above(n) : kTile, 1, keep, 0, wanted_.descending};
    in.tiles = (n + in.segment - 1) / in.segment;
    in.kept = kept(n, keep);
    launch(ctx_, wanted_.op, sort_tiles_kernel<Item>, blocks_for(x_.count * in.tiles, int(kTile / in.segment), 65535),
           kSortThreads, kTile * sizeof(Item), in, out);
  }
  static int64_t kept(int64_t n, int64_t keep) {
    const int64_t last = n % kTile == 0 ? kTile : n % kTile;
    return (n - last) / kTile * keep + std::min(last, keep);
  }

  void select(const Item* items, int64_t n, int64_t keep) const {
    const int64_t left = kept(n, keep);
    const Workspace room(ctx_, wanted_.op, bytes(left));
    tiles(items, n, keep, room.data<Item>());
    if (n > kTile) select(room.data<Item>(), left, keep);
    else emit(room.data<Item>(), left);
  }

  void sort() const {
    const int64_t n = x_.n;
    const Workspace room(ctx_, wanted_.op, bytes(n)), other(ctx_, wanted_.op, n > kTile ? bytes(n) : 0);
    Item *from = room.data<Item>(), *to = other.data<Item>();
    tiles(nullptr, n, kTile, from);
    for (int64_t run = kTile; run < n; run *= 2, std::swap(from, to))
      launch(ctx_, wanted_.op, merge_kernel<Item>, blocks_for(x_.count * ((n + kTile - 1) / kTile), 1, 65535),
             kSortThreads, kTile * sizeof(Item) + 2 * sizeof(int64_t), static_cast<const Item*>(from), to, x_.count, n,
             run);
    emit(from, n);
  }

  void emit(const Item* items, int64_t n) const {
    launch(ctx_, wanted_.op, emit_kernel<Item>, blocks_for(to_.count * to_.n, kSortThreads, 65535), kSortThreads, 0,
           items, x_, to_, n, wanted_.first, item_size_, wanted_.nan_first);
  }

  GpuContext& ctx_;
  AxisLines<1> x_;
  AxisLines<2> to_;
  int item_size_;
  Wanted wanted_;
};

void order(GpuContext& ctx, const ConstView& x, const View& values, const View& indices, const Wanted& wanted) {
  const bool wide = x.dtype == kFloat64 || x.dtype == kInt64 || (x.rank() > 0 && x.sizes.back() > int64_t{0xffffffff});
  if (wide) Sorter<WideItem>(ctx, x, values, indices, wanted).run();
  else Sorter<NarrowItem>(ctx, x, values, indices, wanted).run();
}

}  // namespace

void sort_last(GpuContext& ctx, ConstView x, View values, View indices, bool descending) {
  order(ctx, x, values, indices, {"sort", descending, 0, false});
}

void topk_last(GpuContext& ctx, ConstView x, View values, View indices, bool largest) {
  order(ctx, x, values, indices, {"topk", largest, 0, false});
}

void kth_last(GpuContext& ctx, ConstView x, View value, View index, int64_t k, bool nan_first) {
  order(ctx, x, value, index, {"kthvalue", false, k, nan_first && is_floating(x.dtype)});
}

}  // namespace tantu
