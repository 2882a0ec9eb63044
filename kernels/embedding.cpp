#include <tantu/kernels/embedding.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/packed_rows.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tantu {

namespace {

std::vector<int64_t> positions(const ConstView& index) {
  std::vector<int64_t> values(static_cast<size_t>(index.numel()));
  View out;
  out.data = values.data();
  out.dtype = kInt64;
  out.sizes = index.sizes;
  out.strides = contiguous_strides(index.sizes);
  const ConstView views[] = {out, index};
  const cpu::Walk walk(views, 2);
  if (walk.numel > 0) cpu::load(walk, 1, 0, walk.numel, kInt64, values.data());
  return values;
}

// The positions sorted by the row they name, each row's in their order: those of row v are order[start[v] … start[v +
// 1]).
struct Groups {
  std::vector<int64_t> start, order;
  Groups(const std::vector<int64_t>& rows, int64_t count) : start(static_cast<size_t>(count + 1)), order(rows.size()) {
    for (int64_t v : rows) ++start[static_cast<size_t>(v) + 1];
    for (size_t v = 1; v < start.size(); ++v) start[v] += start[v - 1];
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (size_t p = 0; p < rows.size(); ++p)
      order[static_cast<size_t>(next[static_cast<size_t>(rows[p])]++)] = static_cast<int64_t>(p);
  }
};

template <class A>
void backward(const ConstView& g, const ConstView& index, int64_t padding, bool by_frequency, const View& dweight) {
  const int64_t rows = dweight.sizes[0], width = dweight.sizes[1];
  const Groups groups(positions(index), rows);
  parallel_for(0, rows, std::max<int64_t>(1, 8192 / (width + 1)), [&](int64_t begin, int64_t end) {
    cpu::LineReader<A> in(g, width);
    cpu::LineWriter<A> out(dweight, width);
    std::vector<double> sums(static_cast<size_t>(width));
    double* s = sums.data();
    for (int64_t v = begin; v < end; ++v) {
      const int64_t first = groups.start[static_cast<size_t>(v)], last = groups.start[static_cast<size_t>(v) + 1];
      A* y = out.write(v * width, width);
      std::fill(s, s + width, 0.0);
      if (v != padding)
        for (int64_t k = first; k < last; ++k) {
          const A* x = in.read(groups.order[static_cast<size_t>(k)] * width, width);
          for (int64_t i = 0; i < width; ++i) s[i] += static_cast<double>(x[i]);
        }
      const double count = by_frequency && last > first ? static_cast<double>(last - first) : 1;
      for (int64_t i = 0; i < width; ++i) y[i] = static_cast<A>(s[i] / count);
      out.done();
    }
  });
}

}  // namespace

void embedding_forward(CpuContext&, ConstView index, ConstView weight, View y) {
  const int64_t rows = weight.sizes[0], bytes = weight.sizes[1] * item_size(weight.dtype);
  const std::vector<int64_t> wanted = positions(index);
  for (size_t p = 0; p < wanted.size(); ++p)
    TANTU_CHECK(wanted[p] >= 0 && wanted[p] < rows, IndexError, kEmbeddingOutOfRange, "embedding", wanted[p],
                multi_index(index.sizes, static_cast<int64_t>(p)), rows);
  const char* from = static_cast<const char*>(weight.data);
  char* to = static_cast<char*>(y.data);
  if (bytes == 0) return;
  parallel_for(
      0, static_cast<int64_t>(wanted.size()), std::max<int64_t>(1, 65536 / bytes), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          std::memcpy(to + p * bytes, from + wanted[static_cast<size_t>(p)] * bytes, static_cast<size_t>(bytes));
      });
}

void embedding_backward(CpuContext&, ConstView g, ConstView index, int64_t padding, bool by_frequency, View dweight) {
  if (g.dtype == kFloat64) backward<double>(g, index, padding, by_frequency, dweight);
  else backward<float>(g, index, padding, by_frequency, dweight);
}

}  // namespace tantu
