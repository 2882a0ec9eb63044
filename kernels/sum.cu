// y[r] = sum over k of x[r, k].
//
// One block a row: each thread adds every 256th element, then the lanes of a warp, then the warps, always in the same
// order, so that the bits repeat. Bytes moved: rows * n read once; one addition an element: bound by the read
// bandwidth.
#include <tantu/kernels/sum.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>
#include <tantu/kernels/warp.cuh>

namespace tantu {

namespace {

constexpr int kThreads = 256;
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "whole warps, and their sums must fit one warp");

template <class A>  // the type of the sum
__global__ void __launch_bounds__(kThreads)
    sum_rows_kernel(Picture<1> kept, Picture<1> row, DType out_type, char* out, int64_t rows, int64_t n) {
  __shared__ A partial[kThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    // each thread its own elements
    const int64_t start = offset_of(kept, 0, r);
    A sum = 0;
    for (int64_t k = threadIdx.x; k < n; k += kThreads)
      sum += load_as<A>(row.operands[0].data, row.operands[0].dtype, start + offset_of(row, 0, k));
    // the warp, then the block
    sum = warp_sum(sum);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      A total = 0;
      for (int w = 0; w < kThreads / 32; ++w) total += partial[w];
      store_as<A>(out, out_type, r, total);
    }
    __syncthreads();  // partial is written again by the next row
  }
}

// The first `count` dimensions of x from `first` on, as a picture of their own.
Picture<1> part_of(const ConstView& x, int first, int count) {
  ConstView part = x;
  part.sizes = Shape();
  part.strides = Strides();
  for (int d = first; d < first + count; ++d) {
    part.sizes.push_back(x.sizes[d]);
    part.strides.push_back(x.strides[d]);
  }
  return make_picture<1>(&part, 1);
}

}  // namespace

void sum_last(GpuContext& ctx, ConstView x, View y, int reduced) {
  const int64_t rows = y.numel();
  if (rows == 0) return;
  const int kept = x.rank() - reduced;
  int64_t n = 1;
  for (int d = kept; d < x.rank(); ++d) n *= x.sizes[d];
  const Picture<1> outer = part_of(x, 0, kept), inner = part_of(x, kept, reduced);
  char* out = static_cast<char*>(y.data);
  const int64_t blocks = rows < 65535 ? rows : 65535;
  if (is_integral(y.dtype))
    launch(ctx, "sum_rows_kernel", sum_rows_kernel<int64_t>, blocks, kThreads, 0, outer, inner, y.dtype, out, rows, n);
  else if (y.dtype == kFloat64)
    launch(ctx, "sum_rows_kernel", sum_rows_kernel<double>, blocks, kThreads, 0, outer, inner, y.dtype, out, rows, n);
  else launch(ctx, "sum_rows_kernel", sum_rows_kernel<float>, blocks, kThreads, 0, outer, inner, y.dtype, out, rows, n);
}

}  // namespace tantu
