// y[i] = x[i], converted to y's dtype.
//
// Bytes moved: n * (item of x + item of y); no arithmetic: bound by the memory bandwidth. Four ways:
//   dense      x and y are runs of memory that are misaligned alike: 16 bytes a thread, four loads before the first
//   store tiles      y is walked along one dimension, x lies along another: 32x32 tiles turned over in shared memory,
//   so that
//              both sides are touched in whole lines; 33 words a row keep its columns in different banks
//   strided    the rest of equal dtypes: one thread a word, and words are as wide (up to 16 bytes) as sizes, strides
//   and
//              addresses allow
//   cast       unequal dtypes: copy_cast.cuh
#include <tantu/kernels/copy.h>
#include <tantu/kernels/copy_cast.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;  // in flight per thread
constexpr int kTile = 32, kTileRows = kThreads / kTile;

__global__ void __launch_bounds__(kThreads) copy_dense_kernel(const char* x, char* y, int64_t bytes, int64_t head) {
  const int64_t vectors = (bytes - head) / 16, tail = head + vectors * 16, step = thread_count();
  const uint4* from = reinterpret_cast<const uint4*>(x + head);
  uint4* to = reinterpret_cast<uint4*>(y + head);
  for (int64_t first = thread_number(); first < vectors; first += kLoads * step) {
    uint4 words[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      if (first + j * step < vectors) words[j] = from[first + j * step];
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      if (first + j * step < vectors) to[first + j * step] = words[j];
  }
  const int64_t edge = thread_number();  // the bytes before the first and after the last whole vector
  if (edge < head) y[edge] = x[edge];
  if (edge < bytes - tail) y[tail + edge] = x[tail + edge];
}

template <class Word>
__global__ void __launch_bounds__(kThreads) copy_strided_kernel(Layout<2> p, int64_t n) {
  Word* y = reinterpret_cast<Word*>(p.operands[0].data);
  const Word* x = reinterpret_cast<const Word*>(p.operands[1].data);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[2];
    offsets_at(p, i, at);
    y[at[0]] = x[at[1]];
  }
}

/// For every matrix of `outer`: y (rows, columns) with unit stride along columns = x with unit stride along rows.
struct Turn {
  int64_t rows = 0, columns = 0;
  int64_t y_row = 0, x_column = 0;                     // strides in elements
  int64_t row_tiles = 0, column_tiles = 0, tiles = 0;  // of one matrix, and of all
};

template <class Word>
__global__ void __launch_bounds__(kThreads) copy_tiles_kernel(Layout<2> outer, Turn t) {
  Word* tile = arch::dynamic_smem<Word>();  // (kTile, kTile + 1)
  const int lane = static_cast<int>(threadIdx.x) % kTile, first = static_cast<int>(threadIdx.x) / kTile;
  for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
    const int64_t matrix = i / (t.row_tiles * t.column_tiles), inside = i - matrix * (t.row_tiles * t.column_tiles);
    const int64_t row = inside / t.column_tiles * kTile, column = inside % t.column_tiles * kTile;
    int64_t at[2];
    offsets_at(outer, matrix, at);
    Word* y = reinterpret_cast<Word*>(outer.operands[0].data) + at[0];
    const Word* x = reinterpret_cast<const Word*>(outer.operands[1].data) + at[1];
#pragma unroll
    for (int j = first; j < kTile; j += kTileRows)  // lanes run along x's unit stride: the rows
      if (row + lane < t.rows && column + j < t.columns)
        tile[lane * (kTile + 1) + j] = x[row + lane + (column + j) * t.x_column];
    __syncthreads();
#pragma unroll
    for (int j = first; j < kTile; j += kTileRows)  // lanes run along y's unit stride: the columns
      if (row + j < t.rows && column + lane < t.columns)
        y[(row + j) * t.y_row + column + lane] = tile[j * (kTile + 1) + lane];
    __syncthreads();
  }
}

/// The widest word that sizes, strides and addresses allow, `item` at least; the layout is rewritten in such words.
int64_t widen(Layout<2>& p, int64_t item) {
  if (p.rank == 0 || p.inner_stride(0) != 1 || p.inner_stride(1) != 1) return item;
  const int inner = p.rank - 1;
  const auto doubles = [&] {
    bool can = item < 16 && p.sizes[inner] % 2 == 0;
    for (const auto& o : p.operands) {
      can = can && is_aligned(o.data, item * 2);
      for (int d = 0; d < inner; ++d) can = can && o.strides[d] % 2 == 0;
    }
    return can;
  };
  for (; doubles(); item *= 2) {
    p.sizes[inner] /= 2;
    for (auto& o : p.operands)
      for (int d = 0; d < inner; ++d) o.strides[d] /= 2;
  }
  settle(p);
  return item;
}

/// The dimension along which x lies, where y lies along another and both are long enough for tiles; else -1.
int turned_dim(const Layout<2>& p) {
  const int inner = p.rank - 1;
  if (p.rank < 2 || p.inner_stride(0) != 1 || p.inner_stride(1) == 1 || p.sizes[inner] < 8) return -1;
  for (int d = inner - 1; d >= 0; --d)
    if (p.operands[1].strides[d] == 1 && p.sizes[d] >= 8) return d;
  return -1;
}

/// Calls f with a null pointer to the word type of `bytes` bytes.
template <class F>
void visit_word(int64_t bytes, F f) {
  switch (bytes) {
    case 1: return f(static_cast<uint8_t*>(nullptr));
    case 2: return f(static_cast<uint16_t*>(nullptr));
    case 4: return f(static_cast<uint32_t*>(nullptr));
    case 8: return f(static_cast<uint64_t*>(nullptr));
    default: return f(static_cast<uint4*>(nullptr));
  }
}

void copy_tiles(GpuContext& ctx, Layout<2> p, int dim, int64_t item) {
  const int inner = p.rank - 1;
  Turn t;
  t.rows = p.sizes[dim];
  t.columns = p.sizes[inner];
  t.y_row = p.operands[0].strides[dim];
  t.x_column = p.operands[1].strides[inner];
  t.row_tiles = (t.rows + kTile - 1) / kTile;
  t.column_tiles = (t.columns + kTile - 1) / kTile;
  p.remove_dim(inner);
  p.remove_dim(dim);
  settle(p);
  t.tiles = t.row_tiles * t.column_tiles * p.numel();
  visit_word(item, [&]<class Word>(Word*) {
    launch(ctx, "copy_tiles_kernel", copy_tiles_kernel<Word>, std::min<int64_t>(t.tiles, 1 << 16), kThreads,
           sizeof(Word) * kTile * (kTile + 1), p, t);
  });
}

void copy_same(GpuContext& ctx, Layout<2> p) {
  const int64_t item = item_size(p.operands[0].dtype), bytes = p.numel() * item;
  char *y = p.operands[0].data, *x = p.operands[1].data;
  const uintptr_t slack = reinterpret_cast<uintptr_t>(y) % 16;
  const bool dense = p.rank == 0 || (p.rank == 1 && p.inner_stride(0) == 1 && p.inner_stride(1) == 1);
  if (dense && slack == reinterpret_cast<uintptr_t>(x) % 16) {
    const int64_t head = std::min<int64_t>(bytes, (16 - static_cast<int64_t>(slack)) % 16);
    return launch(ctx, "copy_dense_kernel", copy_dense_kernel, blocks_for(bytes / (16 * kLoads) + 1, kThreads),
                  threads_for(bytes / (16 * kLoads) + 1, kThreads), 0, static_cast<const char*>(x), y, bytes, head);
  }
  if (const int dim = turned_dim(p); dim >= 0) return copy_tiles(ctx, p, dim, item);
  visit_word(widen(p, item), [&]<class Word>(Word*) {
    const int64_t n = p.numel();
    launch(ctx, "copy_strided_kernel", copy_strided_kernel<Word>, blocks_for(n, kThreads), threads_for(n, kThreads), 0,
           p, n);
  });
}

}  // namespace

void copy(GpuContext& ctx, ConstView x, View y) {
  const int64_t n = y.numel();
  if (n == 0) return;
  const ConstView views[] = {y, x};
  const auto p = make_layout<2>(views, 2);
  if (x.dtype == y.dtype) copy_same(ctx, p);
  else cast(ctx, p, n);
}

}  // namespace tantu
