#include <tantu/kernels/cross.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>

namespace tantu {

namespace {

template <class C>
C difference(C a, C b, C c, C d) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) -
                          static_cast<uint64_t>(c) * static_cast<uint64_t>(d));
  else return a * b - c * d;
}

// Element k of every line.
ConstView slice(ConstView v, int axis, int64_t k) {
  v.data = static_cast<const char*>(v.data) + k * v.strides[axis] * item_size(v.dtype);
  v.sizes.erase(axis);
  v.strides.erase(axis);
  return v;
}

template <class C>
void cross_slice(const ConstView (&views)[5]) {
  const cpu::Walk walk(views, 5);
  const int64_t chunks = (walk.numel + cpu::kChunk - 1) / cpu::kChunk;
  parallel_for(0, chunks, 16, [&](int64_t b, int64_t e) {
    alignas(64) C v[4][cpu::kChunk];
    for (int64_t start = b * cpu::kChunk; b < e; ++b, start += cpu::kChunk) {
      const int64_t n = std::min(cpu::kChunk, walk.numel - start);
      for (int o = 0; o < 4; ++o) cpu::load(walk, o + 1, start, n, dtype_of<C>, v[o]);
      for (int64_t i = 0; i < n; ++i) v[0][i] = difference(v[0][i], v[1][i], v[2][i], v[3][i]);
      cpu::store(walk, 0, start, n, dtype_of<C>, v[0]);
    }
  });
}

}  // namespace

void cross(CpuContext&, ConstView a, ConstView b, View y, int axis) {
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const ConstView views[] = {slice(y, axis, k), slice(a, axis, i), slice(b, axis, j), slice(a, axis, j),
                               slice(b, axis, i)};
    if (is_integral(y.dtype)) cross_slice<int64_t>(views);
    else if (y.dtype == kFloat64) cross_slice<double>(views);
    else cross_slice<float>(views);
  }
}

}  // namespace tantu
