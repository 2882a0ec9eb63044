#include <tantu/kernels/fill.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>

namespace tantu {

void fill(CpuContext&, View y, Scalar value) {
  const ConstView views[] = {y};
  const cpu::Walk walk(views, 1);
  visit_dtype(y.dtype, [&]<class T>(Tag<T>) {
    T typed;
    if constexpr (std::is_same_v<T, bool>) typed = value.to_double() != 0;
    else if constexpr (std::is_integral_v<T>) typed = static_cast<T>(value.to_int64());
    else if constexpr (std::is_same_v<T, double>) typed = value.to_double();
    else typed = T(static_cast<float>(value.to_double()));
    if (walk.operands[0].contiguous) {
      T* data = reinterpret_cast<T*>(walk.operands[0].data);
      parallel_for(0, walk.numel, 65536, [&](int64_t b, int64_t e) { std::fill(data + b, data + e, typed); });
      return;
    }
    // A walk of this one value: an operand of stride 0 read into every element.
    ConstView source = y;
    source.data = &typed;
    source.strides = Dims::filled(y.rank(), 0);
    const ConstView both[] = {y, source};
    const cpu::Walk pair(both, 2);
    alignas(64) char buffer[cpu::kChunk * 8];
    const DType compute = is_integral(y.dtype) ? kInt64 : y.dtype == kFloat64 ? kFloat64 : kFloat32;
    for (int64_t start = 0; start < pair.numel; start += cpu::kChunk) {
      const int64_t n = std::min(cpu::kChunk, pair.numel - start);
      cpu::load(pair, 1, start, n, compute, buffer);
      cpu::store(pair, 0, start, n, compute, buffer);
    }
  });
}

}  // namespace tantu
