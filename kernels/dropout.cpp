#include <tantu/kernels/dropout.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>
#include <tantu/kernels/philox.h>

#include <algorithm>

namespace tantu {

void dropout_from(CpuContext&, ConstView x, View y, double keep, uint64_t seed, uint64_t offset) {
  const ConstView views[] = {y, x};
  const cpu::Walk walk(views, 2);
  const auto run = [&]<class C>(Tag<C>, DType compute) {
    const C kept = C(1) / static_cast<C>(keep);
    parallel_for(0, walk.numel, 16384, [&](int64_t begin, int64_t end) {
      alignas(64) C value[cpu::kChunk];
      for (int64_t start = begin; start < end; start += cpu::kChunk) {
        const int64_t n = std::min(cpu::kChunk, end - start);
        cpu::load(walk, 1, start, n, compute, value);
        for (int64_t i = 0; i < n; ++i)
          value[i] *=
              philox_keep(seed, offset, static_cast<uint64_t>(start + i), static_cast<float>(keep)) ? kept : C(0);
        cpu::store(walk, 0, start, n, compute, value);
      }
    });
  };
  if (y.dtype == kFloat64) run(Tag<double>{}, kFloat64);
  else run(Tag<float>{}, kFloat32);
}

}  // namespace tantu
