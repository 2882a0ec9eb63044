#include <tantu/kernels/nonzero.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided_copy.h>

namespace tantu {

void nonzero_flat(CpuContext&, ConstView x, std::vector<int64_t>& positions) {
  constexpr int64_t kGrain = 65536;
  const int64_t n = x.numel();
  const Shape sizes = x.sizes;  // not merged by strides: the walk must be row-major
  const int64_t step = sizes.empty() ? 0 : x.strides[sizes.size() - 1];
  std::vector<std::vector<int64_t>> parts(static_cast<size_t>((n + kGrain - 1) / kGrain));
  visit_dtype(x.dtype, [&]<class T>(Tag<T>) {
    parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
      std::vector<int64_t>& part = parts[static_cast<size_t>(begin / kGrain)];
      int64_t position = begin;
      cpu::for_runs(sizes, x.strides, x.strides, begin, end - begin, [&](int64_t first, int64_t, int64_t run) {
        const T* data = x.as<T>() + first;
        for (int64_t i = 0; i < run; ++i, ++position)
          if (!(data[i * step] == T(0))) part.push_back(position);
      });
    });
  });
  size_t total = 0;
  for (const auto& part : parts) total += part.size();
  positions.clear();
  positions.reserve(total);
  for (const auto& part : parts) positions.insert(positions.end(), part.begin(), part.end());
}

void unravel(CpuContext&, const std::vector<int64_t>& positions, const Shape& sizes, View y) {
  int64_t* data = y.as<int64_t>();
  parallel_for(0, static_cast<int64_t>(positions.size()), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = positions[static_cast<size_t>(i)];
      for (int d = sizes.size() - 1; d >= 0; --d) {
        data[i * y.strides[0] + d * y.strides[1]] = rest % sizes[d];
        rest /= sizes[d];
      }
    }
  });
}

}  // namespace tantu
