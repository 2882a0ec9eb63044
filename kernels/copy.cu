// y[i] = x[i], converted to y's dtype.
//
// One thread an element, in strides of the grid; any strides on both sides. Bytes moved: n * (item of x + item of y);
// no arithmetic: bound by the memory bandwidth where both sides are contiguous.
#include <tantu/kernels/copy.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;

template <class C>  // the type that carries every value of x on its way
__global__ void __launch_bounds__(kThreads) copy_kernel(Picture<2> p, int64_t n) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const C value = load_as<C>(p.operands[1].data, p.operands[1].dtype, offset_of(p, 1, i));
    store_as<C>(p.operands[0].data, p.operands[0].dtype, offset_of(p, 0, i), value);
  }
}

}  // namespace

void copy(GpuContext& ctx, ConstView x, View y) {
  const int64_t n = y.numel();
  if (n == 0) return;
  const ConstView views[] = {y, x};
  const auto p = make_picture<2>(views, 2);
  const int64_t blocks = blocks_for(n, kThreads);
  if (is_integral(x.dtype)) launch(ctx, "copy_kernel", copy_kernel<int64_t>, blocks, kThreads, 0, p, n);
  else if (x.dtype == kFloat64 || y.dtype == kFloat64)
    launch(ctx, "copy_kernel", copy_kernel<double>, blocks, kThreads, 0, p, n);
  else launch(ctx, "copy_kernel", copy_kernel<float>, blocks, kThreads, 0, p, n);
}

}  // namespace tantu
