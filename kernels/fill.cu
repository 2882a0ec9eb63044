// y[i] = value.
//
// Bytes moved: n * item written, nothing read; no arithmetic: bound by the write bandwidth. The host turns the value
// into the bits of one element. Dense: one thread writes 16 bytes at a time, in strides of the grid; the bytes before
// the first and after the last aligned 16 go out one by one. Strided: one thread an element.
#include <tantu/core/half.h>
#include <tantu/kernels/fill.h>
#include <tantu/kernels/elementwise.cuh>
#include <tantu/kernels/launch.cuh>

#include <cstring>
#include <type_traits>

namespace tantu {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) fill_dense_kernel(char* y, int64_t bytes, int64_t head, uint4 pattern) {
  const int64_t vectors = (bytes - head) / 16, tail = head + vectors * 16;
  uint4* middle = reinterpret_cast<uint4*>(y + head);
  for (int64_t i = thread_number(); i < vectors; i += thread_count()) middle[i] = pattern;
  if (blockIdx.x != 0) return;
  // `pattern` repeats every element from y's first byte on, as the middle does from a multiple of the element on.
  const int lane = static_cast<int>(threadIdx.x) % 32, edge = lane % 16;
  const unsigned word = edge < 4 ? pattern.x : edge < 8 ? pattern.y : edge < 12 ? pattern.z : pattern.w;
  const char byte = static_cast<char>(word >> (edge % 4 * 8));
  if (threadIdx.x < 16 && lane < head) y[lane] = byte;
  if (threadIdx.x >= 16 && threadIdx.x < 32 && tail + edge < bytes) y[tail + edge] = byte;
}

template <class Word>
__global__ void __launch_bounds__(kThreads) fill_strided_kernel(Layout<1> p, int64_t n, uint64_t bits) {
  Word* y = reinterpret_cast<Word*>(p.operands[0].data);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[1];
    offsets_at(p, i, at);
    y[at[0]] = static_cast<Word>(bits);
  }
}

uint64_t bits_of(DType dtype, Scalar value) {
  uint64_t bits = 0;
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    T typed;
    if constexpr (std::is_same_v<T, bool>) typed = value.to_double() != 0;
    else if constexpr (std::is_integral_v<T>) typed = static_cast<T>(value.to_int64());
    else if constexpr (std::is_same_v<T, double>) typed = value.to_double();
    else typed = T(static_cast<float>(value.to_double()));
    std::memcpy(&bits, &typed, sizeof(T));
  });
  return bits;
}

uint4 repeated(uint64_t bits, int64_t item) {
  for (int64_t have = item; have < 8; have *= 2) bits |= bits << (have * 8);
  const unsigned low = static_cast<unsigned>(bits), high = static_cast<unsigned>(bits >> 32);
  return make_uint4(low, high, low, high);
}

}  // namespace

void fill(GpuContext& ctx, View y, Scalar value) {
  const int64_t n = y.numel();
  if (n == 0) return;
  const ConstView views[] = {y};
  const auto p = make_layout<1>(views, 1);
  const uint64_t bits = bits_of(y.dtype, value);
  const int64_t item = item_size(y.dtype), bytes = n * item;
  if (p.rank <= 1 && (n == 1 || p.inner_stride(0) == 1)) {
    char* data = p.operands[0].data;
    const int64_t head = std::min<int64_t>(bytes, (16 - reinterpret_cast<uintptr_t>(data) % 16) % 16);
    return launch(ctx, "fill_dense_kernel", fill_dense_kernel, blocks_for(bytes / 16 + 1, kThreads),
                  threads_for(bytes / 16 + 1, kThreads), 0, data, bytes, head, repeated(bits, item));
  }
  const auto strided = [&](auto kernel) {
    launch(ctx, "fill_strided_kernel", kernel, blocks_for(n, kThreads), threads_for(n, kThreads), 0, p, n, bits);
  };
  switch (item) {
    case 1: return strided(fill_strided_kernel<uint8_t>);
    case 2: return strided(fill_strided_kernel<uint16_t>);
    case 4: return strided(fill_strided_kernel<uint32_t>);
    default: return strided(fill_strided_kernel<uint64_t>);
  }
}

}  // namespace tantu
