#include <tantu/kernels/sum.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>

namespace tantu {

namespace {

// Pairwise over blocks of 8 lanes: the error grows with log n, and the compiler makes vectors of the lanes.
template <class A>
A sum_block(const A* data, int64_t n) {
  if (n > 512) {
    const int64_t half = (n / 2 + 7) / 8 * 8;
    return sum_block(data, half) + sum_block(data + half, n - half);
  }
  A lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += data[i + l];
  for (; i < n; ++i) lanes[i % 16] += data[i];
  for (int width = 8; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

}  // namespace

void sum_last(CpuContext&, ConstView x, View y, int reduced) {
  const int kept = x.rank() - reduced;
  const int64_t rows = y.numel();
  if (rows == 0) return;
  const DType compute = is_integral(y.dtype) ? kInt64 : y.dtype == kFloat64 ? kFloat64 : kFloat32;
  ConstView row = x;
  row.sizes = Shape();
  row.strides = Strides();
  for (int d = kept; d < x.rank(); ++d) {
    row.sizes.push_back(x.sizes[d]);
    row.strides.push_back(x.strides[d]);
  }
  const ConstView views[] = {row};
  const cpu::Walk shape(views, 1);
  const int64_t n = shape.numel;
  parallel_for(0, rows, std::max<int64_t>(1, 32768 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[cpu::kChunk * 8];
    cpu::Walk walk = shape;
    for (int64_t r = begin; r < end; ++r) {
      int64_t offset = 0, rest = r;
      for (int d = kept - 1; d >= 0; --d) {
        offset += rest % x.sizes[d] * x.strides[d];
        rest /= x.sizes[d];
      }
      walk.operands[0].data = static_cast<char*>(const_cast<void*>(x.data)) + offset * item_size(x.dtype);
      const auto total = [&]<class A>(Tag<A>) {
        A sum = 0;
        for (int64_t start = 0; start < n; start += cpu::kChunk) {
          const int64_t count = std::min(cpu::kChunk, n - start);
          cpu::load(walk, 0, start, count, compute, buffer);
          sum += sum_block(reinterpret_cast<const A*>(buffer), count);
        }
        return sum;
      };
      visit_dtype(y.dtype, [&]<class T>(Tag<T>) {
        T* out = y.as<T>() + r;
        if constexpr (std::is_integral_v<T>) *out = static_cast<T>(total(Tag<int64_t>{}));
        else if constexpr (std::is_same_v<T, double>) *out = total(Tag<double>{});
        else *out = T(total(Tag<float>{}));
      });
    }
  });
}

}  // namespace tantu
