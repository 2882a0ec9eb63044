#include <tantu/kernels/cpu/strided_copy.h>

#include <tantu/core/thread_pool.h>

#include <cstring>

namespace tantu::cpu {

namespace {

constexpr int64_t kTile = 32;
constexpr int64_t kGrain = 65536;

template <class T>
void copy_run(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else if (to_step == 1 && from_step == 0) {
    std::fill(to, to + n, *from);
  } else if (to_step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_step];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

// to[r * to_row + c] = from[c * from_column + r] for one tile, by way of a buffer: each side is read or written by
// rows.
template <class T>
void transpose_tile(T* to, int64_t to_row, const T* from, int64_t from_column, int64_t rows, int64_t columns) {
  T buffer[kTile * (kTile + 1)];
  for (int64_t c = 0; c < columns; ++c)
    std::memcpy(buffer + c * (kTile + 1), from + c * from_column, static_cast<size_t>(rows) * sizeof(T));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[r * to_row + c] = buffer[c * (kTile + 1) + r];
}

// The innermost dimension is packed in `to`, dimension `row` in `from`.
template <class T>
void transpose(T* to, Strides to_strides, const T* from, Strides from_strides, Shape sizes, int row) {
  const int inner = sizes.size() - 1;
  const int64_t rows = sizes[row], columns = sizes[inner], to_row = to_strides[row], from_column = from_strides[inner];
  for (int d : {inner, row}) {
    sizes.erase(d);
    to_strides.erase(d);
    from_strides.erase(d);
  }
  const int64_t strips = (rows + kTile - 1) / kTile, planes = tantu::numel(sizes);
  const int64_t grain = std::max<int64_t>(1, kGrain / (kTile * columns));
  parallel_for(0, planes * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % strips * kTile, count = std::min(kTile, rows - first);
      for_runs(sizes, to_strides, from_strides, unit / strips, 1, [&](int64_t a, int64_t b, int64_t) {
        for (int64_t c = 0; c < columns; c += kTile)
          transpose_tile(to + a + first * to_row + c, to_row, from + b + c * from_column + first, from_column, count,
                         std::min(kTile, columns - c));
      });
    }
  });
}

// The dimension that `from` has packed, if tiles pay.
int transposed_dim(const Shape& sizes, const Strides& to, const Strides& from) {
  const int inner = sizes.size() - 1;
  if (inner < 1 || to[inner] != 1 || from[inner] < 2 || sizes[inner] < 4) return -1;
  for (int d = inner - 1; d >= 0; --d)
    if (from[d] == 1 && sizes[d] >= 4) return d;
  return -1;
}

}  // namespace

void collapse(Shape& sizes, Strides* const* strides, int count) {
  for (int d = sizes.size() - 1; d >= 0; --d) {
    bool merges = sizes[d] == 1;
    if (!merges && d + 1 < sizes.size()) {
      merges = true;
      for (int i = 0; i < count; ++i) merges &= (*strides[i])[d] == (*strides[i])[d + 1] * sizes[d + 1];
      if (merges) {
        sizes[d + 1] *= sizes[d];
      }
    }
    if (!merges) continue;
    sizes.erase(d);
    for (int i = 0; i < count; ++i) strides[i]->erase(d);
  }
}

void copy_strided(char* to_data, const Strides& to_strides, const char* from_data, const Strides& from_strides,
                  const Shape& sizes, int64_t item_size) {
  visit_size(item_size, [&]<class T>(Tag<T>) {
    T* to = reinterpret_cast<T*>(to_data);
    const T* from = reinterpret_cast<const T*>(from_data);
    if (const int row = transposed_dim(sizes, to_strides, from_strides); row >= 0)
      return transpose(to, to_strides, from, from_strides, sizes, row);
    const int inner = sizes.size() - 1;
    const int64_t to_step = inner < 0 ? 1 : to_strides[inner], from_step = inner < 0 ? 1 : from_strides[inner];
    parallel_for(0, tantu::numel(sizes), kGrain, [&](int64_t begin, int64_t end) {
      for_runs(sizes, to_strides, from_strides, begin, end - begin,
               [&](int64_t a, int64_t b, int64_t n) { copy_run(to + a, to_step, from + b, from_step, n); });
    });
  });
}

}  // namespace tantu::cpu
