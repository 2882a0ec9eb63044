#include <tantu/kernels/nonzero.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided_copy.h>

namespace tantu {

namespace {

// Calls f(chunk, pointer to element, step, first flat position, n) for each run of x, in row-major order.
template <class F>
void for_elements(const ConstView& x, F f) {
  const int64_t step = x.sizes.empty() ? 0 : x.strides[x.sizes.size() - 1];
  visit_dtype(x.dtype, [&]<class T>(Tag<T>) {
    parallel_for(0, x.numel(), kNonzeroChunk, [&](int64_t begin, int64_t end) {
      int64_t position = begin;
      cpu::for_runs(x.sizes, x.strides, x.strides, begin, end - begin, [&](int64_t first, int64_t, int64_t n) {
        f(static_cast<size_t>(begin / kNonzeroChunk), x.as<T>() + first, step, position, n);
        position += n;
      });
    });
  });
}

}  // namespace

void nonzero_counts(CpuContext&, ConstView x, std::vector<int64_t>& counts) {
  counts.assign(static_cast<size_t>((x.numel() + kNonzeroChunk - 1) / kNonzeroChunk), 0);
  for_elements(x, [&](size_t chunk, const auto* data, int64_t step, int64_t, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += data[i * step] == 0 ? 0 : 1;
    counts[chunk] += count;
  });
}

void nonzero_positions(CpuContext&, ConstView x, const std::vector<int64_t>& counts, View positions) {
  std::vector<int64_t*> next;  // where each chunk writes
  int64_t* start = positions.as<int64_t>();
  for (int64_t count : counts) {
    next.push_back(start);
    start += count;
  }
  for_elements(x, [&](size_t chunk, const auto* data, int64_t step, int64_t position, int64_t n) {
    int64_t*& to = next[chunk];
    for (int64_t i = 0; i < n; ++i)
      if (!(data[i * step] == 0)) *to++ = position + i;
  });
}

void unravel(CpuContext&, ConstView positions, const Shape& sizes, View y) {
  const int64_t* from = positions.as<int64_t>();
  int64_t* to = y.as<int64_t>();
  const int rank = sizes.size();
  parallel_for(0, positions.numel(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = from[i];
      for (int d = rank - 1; d >= 0; --d) {
        const int64_t outer = rest / sizes[d];
        to[i * rank + d] = rest - outer * sizes[d];
        rest = outer;
      }
    }
  });
}

}  // namespace tantu
