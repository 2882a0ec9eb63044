#include <tantu/kernels/multi_tensor.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>
#include <tantu/kernels/vector_norm.h>

#include <algorithm>

namespace tantu {

void norm_each(CpuContext& ctx, const std::vector<ConstView>& tensors, double p, View y) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    ConstView flat = tensors[i];
    flat.sizes = {flat.numel()};
    flat.strides = {1};
    View one = y;
    one.data = static_cast<char*>(y.data) + static_cast<int64_t>(i) * item_size(y.dtype);
    one.sizes = {};
    one.strides = {};
    vector_norm_last(ctx, flat, one, 1, p);
  }
}

void scale_each(CpuContext&, const std::vector<View>& tensors, ConstView factor) {
  const double f = visit_floating(factor.dtype, [&]<class T>(Tag<T>) { return static_cast<double>(*factor.as<T>()); });
  for (const View& t : tensors) {
    const ConstView views[] = {t};
    const cpu::Walk walk(views, 1);
    const auto run = [&]<class C>(Tag<C>) {
      parallel_for(0, walk.numel, 16384, [&](int64_t begin, int64_t end) {
        alignas(64) C value[cpu::kChunk];
        for (int64_t start = begin; start < end; start += cpu::kChunk) {
          const int64_t n = std::min(cpu::kChunk, end - start);
          cpu::load(walk, 0, start, n, dtype_of<C>, value);
          for (int64_t i = 0; i < n; ++i) value[i] *= static_cast<C>(f);
          cpu::store(walk, 0, start, n, dtype_of<C>, value);
        }
      });
    };
    if (t.dtype == kFloat64) run(Tag<double>{});
    else run(Tag<float>{});
  }
}

}  // namespace tantu
