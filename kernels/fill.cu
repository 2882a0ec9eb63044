// y[i] = value.
//
// One thread an element, in strides of the grid. Bytes moved: n * item written, nothing read; no arithmetic: bound by
// the write bandwidth.
#include <tantu/kernels/fill.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;

template <class C>
__global__ void __launch_bounds__(kThreads) fill_kernel(Picture<1> p, int64_t n, C value) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    store_as<C>(p.operands[0].data, p.operands[0].dtype, offset_of(p, 0, i), value);
}

}  // namespace

void fill(GpuContext& ctx, View y, Scalar value) {
  const int64_t n = y.numel();
  if (n == 0) return;
  const ConstView views[] = {y};
  const auto p = make_picture<1>(views, 1);
  if (is_integral(y.dtype) && !value.is_floating())
    launch(ctx, "fill_kernel", fill_kernel<int64_t>, blocks_for(n, kThreads), kThreads, 0, p, n, value.to_int64());
  else launch(ctx, "fill_kernel", fill_kernel<double>, blocks_for(n, kThreads), kThreads, 0, p, n, value.to_double());
}

}  // namespace tantu
