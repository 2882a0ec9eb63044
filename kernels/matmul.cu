// y = alpha * a b + beta * y, for each matrix of a batch.
//
// Floating types go to cuBLAS, which counts columns first: a row-major y (M, N) is its column-major transpose (N, M),
// so we ask for yᵀ = bᵀ aᵀ and nothing is copied. An operand with no unit stride is packed first. Integers run a plain
// kernel, one thread an element of y. FLOP: 2 * B * M * N * K; bytes: each matrix once. Under
// set_matmul_backend("tantu") floating types go to our own kernels (matmul_own.cu) instead.
#include <tantu/core/matmul_options.h>
#include <tantu/kernels/copy.h>
#include <tantu/kernels/matmul.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/matmul_own.cuh>
#include <tantu/kernels/strided.cuh>
#include <tantu/kernels/workspace.cuh>

#include <cublas_v2.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace tantu {

namespace {

constexpr int kThreads = 256;

struct Matrix {  // one operand of the integer kernel
  const char* data;
  int64_t batch, row, column;  // strides in elements
};

__global__ void __launch_bounds__(kThreads)
    integer_matmul_kernel(Matrix a, Matrix b, char* y, DType dtype, int64_t total, int64_t M, int64_t N, int64_t K,
                          int64_t alpha, int64_t beta) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total; i += stride) {
    const int64_t n = i % N, m = i / N % M, at = i / (M * N);
    int64_t sum = 0;
    for (int64_t k = 0; k < K; ++k)
      sum += load_as<int64_t>(a.data, dtype, at * a.batch + m * a.row + k * a.column) *
             load_as<int64_t>(b.data, dtype, at * b.batch + k * b.row + n * b.column);
    sum *= alpha;
    if (beta != 0) sum += beta * load_as<int64_t>(y, dtype, i);
    store_as<int64_t>(y, dtype, i, sum);
  }
}

void check(cublasStatus_t status, const char* call) {
  TANTU_CHECK(status == CUBLAS_STATUS_SUCCESS, Error, "matmul: {} failed with cuBLAS status {}", call,
              static_cast<int>(status));
}

// One handle per stream and host thread: threads do not wait for each other, and streams do not share its scratch
// memory. Leaked at exit on purpose.
cublasHandle_t handle_of(const GpuContext& ctx) {
  static thread_local auto* handles = new std::map<std::pair<int, void*>, cublasHandle_t>;
  cublasHandle_t& handle = (*handles)[{ctx.device, ctx.stream}];
  if (!handle) check(cublasCreate(&handle), "cublasCreate");
  check(cublasSetStream(handle, static_cast<cudaStream_t>(ctx.stream)), "cublasSetStream");
  return handle;
}

cudaDataType cuda_type(DType t) {
  switch (t) {
    case DType::Float16: return CUDA_R_16F;
    case DType::BFloat16: return CUDA_R_16BF;
    case DType::Float64: return CUDA_R_64F;
    default: return CUDA_R_32F;
  }
}

// How cuBLAS is told of a row-major operand: transposed or not, and its leading dimension.
struct Layout {
  cublasOperation_t op;
  int64_t leading;
};

bool layout_of(const ConstView& x, Layout& layout) {
  const int64_t rows = x.sizes[1], columns = x.sizes[2], row = x.strides[1], column = x.strides[2];
  if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
    layout = {CUBLAS_OP_N, std::max<int64_t>(1, rows == 1 ? columns : row)};
    return true;
  }
  if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
    layout = {CUBLAS_OP_T, std::max<int64_t>(1, columns == 1 ? rows : column)};
    return true;
  }
  return false;
}

cublasComputeType_t compute_of(DType dtype) {
  if (dtype == kFloat64) return CUBLAS_COMPUTE_64F;
  const bool cut = dtype == kFloat32 && get_float32_matmul_precision() == "high";
  return cut ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

void float_matmul(GpuContext& ctx, const ConstView& a, const ConstView& b, const View& y, double alpha, double beta) {
  Layout la, lb;
  const bool ok_a = layout_of(a, la), ok_b = layout_of(b, lb);
  if (!ok_a || !ok_b) {  // pack the one that no leading dimension describes, then come back
    const ConstView& x = ok_a ? b : a;
    const Workspace packed(ctx, "matmul", x.numel() * item_size(x.dtype));
    View v;
    v.data = packed.data();
    v.dtype = x.dtype;
    v.device = x.device;
    v.sizes = x.sizes;
    v.strides = contiguous_strides(x.sizes);
    copy(ctx, x, v);
    return ok_a ? float_matmul(ctx, a, v, y, alpha, beta) : float_matmul(ctx, v, b, y, alpha, beta);
  }
  const int64_t batch = y.sizes[0], M = y.sizes[1], N = y.sizes[2], K = a.sizes[2];
  TANTU_CHECK(M <= INT32_MAX && N <= INT32_MAX && K <= INT32_MAX && batch <= INT32_MAX && la.leading <= INT32_MAX &&
                  lb.leading <= INT32_MAX,
              ShapeError, "matmul: {} times {} is too large for cuBLAS", a.sizes, b.sizes);
  const gpu::DeviceScope device(ctx.device);
  const bool wide = y.dtype == kFloat64;
  const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
  const cudaDataType type = cuda_type(y.dtype);
  check(cublasGemmStridedBatchedEx(handle_of(ctx), lb.op, la.op, static_cast<int>(N), static_cast<int>(M),
                                   static_cast<int>(K), wide ? static_cast<const void*>(&alpha) : &alpha32, b.data,
                                   type, static_cast<int>(lb.leading), b.strides[0], a.data, type,
                                   static_cast<int>(la.leading), a.strides[0],
                                   wide ? static_cast<const void*>(&beta) : &beta32, y.data, type, static_cast<int>(N),
                                   M * N, static_cast<int>(batch), compute_of(y.dtype), CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

}  // namespace

void matmul(GpuContext& ctx, ConstView a, ConstView b, View y, double alpha, double beta) {
  const int64_t total = y.numel();
  if (total == 0) return;
  if (is_floating(y.dtype))
    return matmul_backend() == "tantu" ? own_matmul(ctx, a, b, y, alpha, beta)
                                       : float_matmul(ctx, a, b, y, alpha, beta);
  const Matrix ma{static_cast<const char*>(a.data), a.strides[0], a.strides[1], a.strides[2]};
  const Matrix mb{static_cast<const char*>(b.data), b.strides[0], b.strides[1], b.strides[2]};
  launch(ctx, "integer_matmul_kernel", integer_matmul_kernel, blocks_for(total, kThreads), kThreads, 0, ma, mb,
         static_cast<char*>(y.data), y.dtype, total, y.sizes[1], y.sizes[2], a.sizes[2], static_cast<int64_t>(alpha),
         static_cast<int64_t>(beta));
}

}  // namespace tantu
