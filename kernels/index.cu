// index_take: y[o, n, i] = x[o, place of n, i]; index_put: y[place of n, b] = or += values[n, b].
//
// Take: a thread an element where blocks are short; else a warp a row of inner elements, read and written in words of
// up to 16 bytes, so that its index is read once. Bytes moved: the index and every element twice; bound by memory
// bandwidth, for short blocks by the sectors that scattered reads touch.
//
// Put: destinations of the positions are keys; a stable sort brings equal ones together in the order of n. Writing: the
// last position of a run writes its block. Adding: a thread takes the pieces of 32 positions that begin in its chunk,
// and one element of the block; a run of one piece goes to y, of more to scratch, where a warp adds its pieces. Neither
// uses atomics: one order, whatever the schedule.
#include <tantu/kernels/index.h>
#include <tantu/kernels/index_plan.cuh>
#include <tantu/kernels/index_sort.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>
#include <tantu/kernels/warp.cuh>
#include <tantu/kernels/workspace.cuh>

#include <bit>

namespace tantu {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kRowFrom = 16;  // words of a row that a warp takes
constexpr int64_t kChunk = 32;    // sorted positions that a thread adds one after the other

__device__ __forceinline__ int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t thread_count() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// Blocks without elements: only the indices are looked at.
__global__ void __launch_bounds__(kThreads) check_index_kernel(DevicePlan plan) {
  for (int64_t n = thread_index(); n < plan.positions; n += thread_count()) place_of(plan, n);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    take_elements_kernel(DevicePlan plan, BlockDims outer, BlockDims inner, const T* x, T* y) {
  const int64_t total = outer.count * plan.positions * inner.count;
  for (int64_t k = thread_index(); k < total; k += thread_count()) {
    const int64_t rest = k / inner.count, i = k - rest * inner.count;
    const int64_t o = rest / plan.positions, n = rest - o * plan.positions;
    const int64_t place = place_of(plan, n);
    const int64_t from =
        place + walk(outer.rank, outer.sizes, outer.tensor, o) + walk(inner.rank, inner.sizes, inner.tensor, i);
    const int64_t to = walk(plan.rank, plan.sizes, plan.other, n) + walk(outer.rank, outer.sizes, outer.other, o) +
                       walk(inner.rank, inner.sizes, inner.other, i);
    y[to] = place < 0 ? T{} : x[from];
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    take_rows_kernel(DevicePlan plan, BlockDims outer, BlockDims inner, const T* x, T* y) {
  const int64_t rows = outer.count * plan.positions;
  for (int64_t r = thread_index() / 32; r < rows; r += thread_count() / 32) {
    const int64_t o = r / plan.positions, n = r - o * plan.positions;
    const int64_t place = place_of(plan, n);
    const T* from = x + (place + walk(outer.rank, outer.sizes, outer.tensor, o));
    T* to = y + (walk(plan.rank, plan.sizes, plan.other, n) + walk(outer.rank, outer.sizes, outer.other, o));
    for (int64_t i = threadIdx.x % 32; i < inner.count; i += 32)
      to[walk(inner.rank, inner.sizes, inner.other, i)] =
          place < 0 ? T{} : from[walk(inner.rank, inner.sizes, inner.tensor, i)];
  }
}

// keys[n] = destination of n in steps, `none` for a bad index and for `skip`; order[n] = n.
template <class T>
__global__ void __launch_bounds__(kThreads)
    keys_kernel(DevicePlan plan, int64_t skip, int64_t step, int64_t none, T* keys, T* order) {
  for (int64_t n = thread_index(); n < plan.positions; n += thread_count()) {
    const int64_t place = place_of(plan, n);
    keys[n] = static_cast<T>(place < 0 || place == skip ? none : place / step);
    order[n] = static_cast<T>(n);
  }
}

// Where sorted positions lead, and what the kernels below share.
template <class T>
struct Sorted {
  const T *keys, *order;
  int64_t count, step, none;
};

template <class T, class E>
__global__ void __launch_bounds__(kThreads)
    put_last_kernel(Sorted<T> at, DevicePlan plan, BlockDims block, const E* values, E* y) {
  const int64_t total = at.count * block.count;
  for (int64_t i = thread_index(); i < total; i += thread_count()) {
    const int64_t k = i / block.count, b = i - k * block.count;
    const T key = at.keys[k];
    if (key == static_cast<T>(at.none) || (k + 1 < at.count && at.keys[k + 1] == key)) continue;
    y[static_cast<int64_t>(key) * at.step + walk(block.rank, block.sizes, block.tensor, b)] =
        values[walk(plan.rank, plan.sizes, plan.other, at.order[k]) + walk(block.rank, block.sizes, block.other, b)];
  }
}

struct Cells {  // y and values
  char* y;
  const char* values;
  DType dtype;
  bool by_frequency;  // sums are divided by the number of their terms
};

// The first k >= low whose key is not below `key`, or, with `after`, is above it.
template <class T>
__device__ __forceinline__ int64_t search(const Sorted<T>& at, int64_t low, int64_t high, T key, bool after) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (at.keys[middle] < key || (after && at.keys[middle] == key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The sum of the piece of a run from k on, at most kChunk positions; k moves to its end.
template <class T, class A>
__device__ __forceinline__ A add_piece(const Sorted<T>& at, const DevicePlan& plan, const Cells& cells, int64_t from,
                                       A sum, int64_t& k) {
  const T key = at.keys[k];
  const int64_t end = k + kChunk < at.count ? k + kChunk : at.count;
  for (; k < end && at.keys[k] == key; ++k)
    sum += load_as<A>(cells.values, cells.dtype, walk(plan.rank, plan.sizes, plan.other, at.order[k]) + from);
  return sum;
}

// Runs of equal keys are added in pieces of 32 positions, counted from the run's first: a sum depends on nothing but
// its run. A thread takes the pieces that begin in its chunk. Runs of one piece go to y, others' pieces to parts
// (chunk, which, element of the block): 0 of a run that came from the chunk before, 1 of one that starts here.
template <class T, class A>
__global__ void __launch_bounds__(kThreads, 2)
    add_pieces_kernel(Sorted<T> at, DevicePlan plan, BlockDims block, Cells cells, A* parts) {
  const int64_t chunks = (at.count + kChunk - 1) / kChunk;
  for (int64_t i = thread_index(); i < chunks * block.count; i += thread_count()) {
    const int64_t chunk = i / block.count, b = i - chunk * block.count;
    const int64_t low = chunk * kChunk, end = low + kChunk < at.count ? low + kChunk : at.count;
    const int64_t to = walk(block.rank, block.sizes, block.tensor, b);
    const int64_t from = walk(block.rank, block.sizes, block.other, b);
    int64_t k = low;
    if (low > 0 && at.keys[low - 1] == at.keys[low]) {
      const T key = at.keys[low];
      const int64_t start = search(at, 0, low, key, false);
      while (k < end && at.keys[k] == key) ++k;
      int64_t piece = start + (low - start + kChunk - 1) / kChunk * kChunk;
      if (piece < k && key != static_cast<T>(at.none))
        parts[2 * chunk * block.count + b] = add_piece(at, plan, cells, from, A(0), piece);
    }
    while (k < end && at.keys[k] != static_cast<T>(at.none)) {
      const T key = at.keys[k];
      const int64_t cell = static_cast<int64_t>(key) * at.step + to, start = k;
      const A sum = add_piece(at, plan, cells, from, load_as<A>(cells.y, cells.dtype, cell), k);
      if (k < at.count && at.keys[k] == key) parts[(2 * chunk + 1) * block.count + b] = sum;
      else store_as<A>(cells.y, cells.dtype, cell, cells.by_frequency ? sum / static_cast<A>(k - start) : sum);
    }
  }
}

// A warp for each run of several pieces, at the chunk where it starts, and each element of its block.
template <class T, class A>
__global__ void __launch_bounds__(kThreads, 2)
    add_parts_kernel(Sorted<T> at, BlockDims block, Cells cells, const A* parts) {
  const int64_t chunks = (at.count + kChunk - 1) / kChunk, lane = threadIdx.x % 32;
  for (int64_t i = thread_index() / 32; i < (chunks - 1) * block.count; i += thread_count() / 32) {
    const int64_t chunk = i / block.count, b = i - chunk * block.count, low = chunk * kChunk;
    const T key = at.keys[low + kChunk];
    const bool goes_on = at.keys[low + kChunk - 1] == key && key != static_cast<T>(at.none);
    if (!goes_on || (low > 0 && at.keys[low - 1] == key)) continue;
    const int64_t start = low + __ffs(static_cast<int>(__ballot_sync(kFullWarp, at.keys[low + lane] == key))) - 1;
    const int64_t end = search(at, low + kChunk, at.count, key, true), pieces = (end - start + kChunk - 1) / kChunk;
    if (pieces == 1) continue;
    A sum = 0;
    for (int64_t p = 1 + lane; p < pieces; p += 32) sum += parts[2 * (chunk + p) * block.count + b];
    sum = parts[(2 * chunk + 1) * block.count + b] + warp_sum(sum);
    if (cells.by_frequency) sum /= static_cast<A>(end - start);
    const int64_t cell = static_cast<int64_t>(key) * at.step + walk(block.rank, block.sizes, block.tensor, b);
    if (lane == 0) store_as<A>(cells.y, cells.dtype, cell, sum);
  }
}

// The widest word, at most 16 bytes, in which packed rows of `inner` can be moved; all strides then count in it.
int64_t widen(DevicePlan& plan, BlockDims& outer, BlockDims& inner, const void* x, const void* y, int64_t item) {
  if (!inner.packed()) return item;
  int64_t word = 16;
  const auto fits = [&](int64_t elements) { return elements * item % word == 0; };
  const auto all_fit = [&] {
    bool ok = fits(inner.count) && reinterpret_cast<uintptr_t>(x) % static_cast<uintptr_t>(word) == 0 &&
              reinterpret_cast<uintptr_t>(y) % static_cast<uintptr_t>(word) == 0;
    for (int d = 0; d < outer.rank; ++d) ok &= fits(outer.tensor[d]) && fits(outer.other[d]);
    for (int d = 0; d < plan.rank; ++d) ok &= fits(plan.base[d]) && fits(plan.other[d]);
    for (int i = 0; i < plan.count; ++i) ok &= fits(plan.picks[i].stride);
    return ok;
  };
  while (word > item && !all_fit()) word /= 2;
  const int64_t by = word / item;
  const int64_t words = inner.count / by;
  inner = BlockDims();
  inner.push(words, 1, 1);
  const auto scale = [by](int64_t& stride) { stride /= by; };
  for (int d = 0; d < outer.rank; ++d) scale(outer.tensor[d]), scale(outer.other[d]);
  for (int d = 0; d < plan.rank; ++d) scale(plan.base[d]), scale(plan.other[d]);
  for (int i = 0; i < plan.count; ++i) scale(plan.picks[i].stride);
  return word;
}

template <class F>
void visit_word(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return f(uint4());
  }
}

template <class T, class A>
void add_sorted(GpuContext& ctx, const char* op, const Sorted<T>& at, const DevicePlan& plan, const BlockDims& block,
                const Cells& cells) {
  const int64_t chunks = (at.count + kChunk - 1) / kChunk;
  const Workspace parts(ctx, op, 2 * chunks * block.count * static_cast<int64_t>(sizeof(A)));
  launch(ctx, "add_pieces_kernel", add_pieces_kernel<T, A>, blocks_for(chunks * block.count, kThreads), kThreads, 0, at,
         plan, block, cells, parts.data<A>());
  if (chunks > 1)
    launch(ctx, "add_parts_kernel", add_parts_kernel<T, A>, blocks_for((chunks - 1) * block.count * 32, kThreads),
           kThreads, 0, at, block, cells, parts.data<A>());
}

// Sorts the positions by where they lead, in `scratch`.
template <class T>
Sorted<T> sorted(GpuContext& ctx, const DevicePlan& plan, int64_t skip, void* scratch) {
  const int64_t count = plan.positions, step = common_stride(plan), none = last_offset(plan) / step + 1;
  SortArrays arrays(scratch, count, sizeof(T) == 8);
  launch(ctx, "keys_kernel", keys_kernel<T>, blocks_for(count, kThreads), kThreads, 0, plan, skip, step, none,
         static_cast<T*>(arrays.keys[0]), static_cast<T*>(arrays.order[0]));
  sort_positions(ctx, arrays, std::bit_width(static_cast<uint64_t>(none)));
  return {static_cast<T*>(arrays.keys[0]), static_cast<T*>(arrays.order[0]), count, step, none};
}

// Calls f(plan, block, sorted positions) where there is something to put.
template <class F>
void with_sorted(GpuContext& ctx, const IndexPlan& plan, const ConstView& values, const View& y, int64_t skip, F&& f) {
  const DevicePlan p = device_plan(ctx, plan, values);
  BlockDims block;
  push_dims(block, y, values, 0, plan.before, 0);
  push_dims(block, y, values, plan.before, y.rank(), plan.sizes.size());
  if (p.positions == 0) return;
  if (block.count == 0)
    return launch(ctx, "check_index_kernel", check_index_kernel, blocks_for(p.positions, kThreads), kThreads, 0, p);
  const bool wide = sort_is_wide(last_offset(p) / common_stride(p) + 1, p.positions);
  const Workspace scratch(ctx, plan.op, sort_bytes(p.positions, wide));
  if (wide) f(p, block, sorted<uint64_t>(ctx, p, skip, scratch.data()));
  else f(p, block, sorted<uint32_t>(ctx, p, skip, scratch.data()));
}

}  // namespace

void index_take(GpuContext& ctx, const IndexPlan& plan, ConstView x, View y) {
  DevicePlan p = device_plan(ctx, plan, y);
  BlockDims outer, inner;
  const int shift = plan.sizes.size();
  push_dims(outer, x, y, 0, plan.before, 0);
  push_dims(inner, x, y, plan.before, x.rank(), shift);
  if (p.positions == 0) return;
  if (outer.count * inner.count == 0)
    return launch(ctx, "check_index_kernel", check_index_kernel, blocks_for(p.positions, kThreads), kThreads, 0, p);
  const int64_t word = widen(p, outer, inner, x.data, y.data, item_size(x.dtype));
  visit_word(word, [&](auto sample) {
    using T = decltype(sample);
    const int64_t rows = outer.count * p.positions;
    if (inner.count >= kRowFrom)
      launch(ctx, "take_rows_kernel", take_rows_kernel<T>, blocks_for(rows * 32, kThreads, 65536), kThreads, 0, p,
             outer, inner, x.as<T>(), y.as<T>());
    else
      launch(ctx, "take_elements_kernel", take_elements_kernel<T>, blocks_for(rows * inner.count, kThreads, 65536),
             kThreads, 0, p, outer, inner, x.as<T>(), y.as<T>());
  });
}

void index_accumulate(GpuContext& ctx, const IndexPlan& plan, const ConstView& values, const View& y, AddRule rule) {
  const Cells cells{static_cast<char*>(y.data), static_cast<const char*>(values.data), y.dtype, rule.by_frequency};
  with_sorted(ctx, plan, values, y, rule.skip,
              [&]<class T>(const DevicePlan& p, const BlockDims& block, const Sorted<T>& at) {
                if (is_integral(y.dtype)) add_sorted<T, int64_t>(ctx, plan.op, at, p, block, cells);
                else if (y.dtype == kFloat64) add_sorted<T, double>(ctx, plan.op, at, p, block, cells);
                else add_sorted<T, float>(ctx, plan.op, at, p, block, cells);
              });
}

void index_put(GpuContext& ctx, const IndexPlan& plan, ConstView values, View y, bool accumulate) {
  TANTU_CHECK(!accumulate || !is_half(y.dtype), DTypeError, "{}: {} does not accumulate in place", plan.op, y.dtype);
  if (accumulate) return index_accumulate(ctx, plan, values, y, {});
  with_sorted(ctx, plan, values, y, -1, [&]<class T>(const DevicePlan& p, const BlockDims& block, const Sorted<T>& at) {
    visit_word(item_size(y.dtype), [&](auto word) {
      using E = decltype(word);
      launch(ctx, "put_last_kernel", put_last_kernel<T, E>, blocks_for(at.count * block.count, kThreads), kThreads, 0,
             at, p, block, values.as<E>(), y.as<E>());
    });
  });
}

}  // namespace tantu
