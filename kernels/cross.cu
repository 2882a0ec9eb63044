// cross: y = a × b in lines of 3 elements. A thread a line: six loads that do not wait for each other, three stores.
// Bytes moved: a and b once, y once (neighbouring threads share the lines of the cache); 9 operations a line: bound by
// the bandwidth.
#include <tantu/kernels/cross.h>
#include <tantu/kernels/elementwise.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/load_each.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;

// Where the lines of y, a and b begin, and the way from one element to the next.
struct Lines {
  Layout<3> starts;
  int64_t count, step[3];
};

template <class C>
__device__ __forceinline__ C difference(C a, C b, C c, C d) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) -
                          static_cast<uint64_t>(c) * static_cast<uint64_t>(d));
  else return a * b - c * d;
}

template <class C>
__device__ __forceinline__ void load_line(C (&v)[3], const Lines& lines, int operand, int64_t start) {
  const int64_t step = lines.step[operand], at[3] = {start, start + step, start + 2 * step};
  load_each(v, lines.starts.operands[operand].data, lines.starts.operands[operand].dtype, at);
}

template <class C>
__global__ void __launch_bounds__(kThreads) cross_kernel(Lines lines) {
  const auto& y = lines.starts.operands[0];
  for (int64_t line = thread_number(); line < lines.count; line += thread_count()) {
    int64_t at[3];
    offsets_at(lines.starts, line, at);
    C a[3], b[3];
    load_line(a, lines, 1, at[1]);
    load_line(b, lines, 2, at[2]);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      store_as(y.data, y.dtype, at[0] + k * lines.step[0], difference(a[i], b[j], a[j], b[i]));
    }
  }
}

template <class C>
void cross_lines(GpuContext& ctx, const Lines& lines) {
  launch(ctx, "cross", cross_kernel<C>, blocks_for(lines.count, kThreads), kThreads, 0, lines);
}

}  // namespace

void cross(GpuContext& ctx, ConstView a, ConstView b, View y, int axis) {
  if (y.numel() == 0) return;
  ConstView views[] = {y, a, b};
  Lines lines;
  for (int o = 0; o < 3; ++o) {
    lines.step[o] = views[o].strides[axis];
    views[o].sizes.erase(axis);
    views[o].strides.erase(axis);
  }
  lines.starts = make_layout<3>(views, 3);
  lines.count = y.numel() / 3;
  if (is_integral(y.dtype)) cross_lines<int64_t>(ctx, lines);
  else if (y.dtype == kFloat64) cross_lines<double>(ctx, lines);
  else cross_lines<float>(ctx, lines);
}

}  // namespace tantu
