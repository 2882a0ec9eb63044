#include <tantu/kernels/copy.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/strided.h>
#include <tantu/kernels/cpu/strided_copy.h>

#include <algorithm>

namespace tantu {

namespace {

// The type that carries every value of `from` on its way to `to`.
DType carrier(DType from, DType to) {
  if (to == kBool || from == kBool) return is_integral(from) ? kInt64 : from == kFloat64 ? kFloat64 : kFloat32;
  if (is_integral(from)) return kInt64;
  return from == kFloat64 || to == kFloat64 || is_integral(to) ? kFloat64 : kFloat32;
}

}  // namespace

void copy(CpuContext&, ConstView x, View y) {
  const ConstView views[] = {y, x};
  const cpu::Walk walk(views, 2);
  const cpu::WalkOperand &to = walk.operands[0], &from = walk.operands[1];
  if (walk.numel == 0) return;
  if (to.dtype == from.dtype) {
    cpu::copy_strided(to.data, to.strides, from.data, from.strides, walk.sizes, item_size(to.dtype));
    return;
  }
  const DType compute = carrier(x.dtype, y.dtype);
  parallel_for(0, walk.numel, 65536, [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[cpu::kChunk * 8];
    for (int64_t start = begin; start < end; start += cpu::kChunk) {
      const int64_t n = std::min(cpu::kChunk, end - start);
      cpu::load(walk, 1, start, n, compute, buffer);
      cpu::store(walk, 0, start, n, compute, buffer);
    }
  });
}

}  // namespace tantu
