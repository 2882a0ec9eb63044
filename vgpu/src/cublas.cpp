#include <cublas_v2.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "model.h"
#include "runtime.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

inline namespace vgpu_abi {

struct cublasContext {
  vgpu::rt::Device* device;
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

using namespace vgpu::rt;

namespace {

struct Gemm {
  const char* call;
  bool trans_a, trans_b;
  long long m, n, k;
  double alpha, beta;
  const void *a, *b;
  void* c;
  cudaDataType ta, tb, tc;
  long long lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
  bool tf32, wide;                 ///< inputs lose 13 bits; accumulate in double
  const void *alpha_at, *beta_at;  ///< device pointer mode
};

size_t width(cudaDataType t) {
  return t == CUDA_R_64F ? 8 : t == CUDA_R_32F || t == CUDA_R_32I ? 4 : t == CUDA_R_8I ? 1 : 2;
}

double load(const void* p, cudaDataType t, long long i) {
  switch (t) {
    case CUDA_R_64F: return static_cast<const double*>(p)[i];
    case CUDA_R_16F: return float(static_cast<const __half*>(p)[i]);
    case CUDA_R_16BF: return float(static_cast<const __nv_bfloat16*>(p)[i]);
    default: return static_cast<const float*>(p)[i];
  }
}
void store(void* p, cudaDataType t, long long i, double v) {
  switch (t) {
    case CUDA_R_64F: static_cast<double*>(p)[i] = v; break;
    case CUDA_R_16F: static_cast<__half*>(p)[i] = __half(static_cast<float>(v)); break;
    case CUDA_R_16BF: static_cast<__nv_bfloat16*>(p)[i] = __nv_bfloat16(static_cast<float>(v)); break;
    default: static_cast<float*>(p)[i] = static_cast<float>(v); break;
  }
}

/// cvt.rna.tf32: round to nearest, ties away, 10 bits of fraction.
float round_tf32(float v) {
  uint32_t b = std::bit_cast<uint32_t>(v);
  return (b & 0x7f800000u) == 0x7f800000u ? v : std::bit_cast<float>((b + 0x1000u) & 0xffffe000u);
}

template <class S>
using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <class S>
Matrix<S> gather(const void* p, cudaDataType t, long long rows, long long cols, long long ld, bool tf32) {
  Matrix<S> out(rows, cols);
  for (long long j = 0; j < cols; ++j)
    for (long long i = 0; i < rows; ++i) {
      S v = static_cast<S>(load(p, t, i + j * ld));
      if constexpr (sizeof(S) == 4)
        if (tf32) v = round_tf32(v);
      out(i, j) = v;
    }
  return out;
}

template <class S>
void multiply(const Gemm& g, const void* a, const void* b, void* c) {
  if (g.m == 0 || g.n == 0) return;
  Matrix<S> product = Matrix<S>::Zero(g.m, g.n);
  using Map = Eigen::Map<const Matrix<S>, 0, Eigen::OuterStride<>>;
  constexpr cudaDataType own = sizeof(S) == 8 ? CUDA_R_64F : CUDA_R_32F;
  long long ra = g.trans_a ? g.k : g.m, ca = g.trans_a ? g.m : g.k, rb = g.trans_b ? g.n : g.k,
            cb = g.trans_b ? g.k : g.n;
  if (g.k > 0 && g.alpha != 0) {
    Matrix<S> copy_a, copy_b;
    bool direct_a = g.ta == own && !g.tf32, direct_b = g.tb == own && !g.tf32;
    if (!direct_a) copy_a = gather<S>(a, g.ta, ra, ca, g.lda, g.tf32);
    if (!direct_b) copy_b = gather<S>(b, g.tb, rb, cb, g.ldb, g.tf32);
    Map ma(direct_a ? static_cast<const S*>(a) : copy_a.data(), ra, ca, Eigen::OuterStride<>(direct_a ? g.lda : ra));
    Map mb(direct_b ? static_cast<const S*>(b) : copy_b.data(), rb, cb, Eigen::OuterStride<>(direct_b ? g.ldb : rb));
    if (!g.trans_a && !g.trans_b) product.noalias() = ma * mb;
    if (g.trans_a && !g.trans_b) product.noalias() = ma.transpose() * mb;
    if (!g.trans_a && g.trans_b) product.noalias() = ma * mb.transpose();
    if (g.trans_a && g.trans_b) product.noalias() = ma.transpose() * mb.transpose();
  }
  const S alpha = static_cast<S>(g.alpha), beta = static_cast<S>(g.beta);
  for (long long j = 0; j < g.n; ++j)
    for (long long i = 0; i < g.m; ++i) {
      S v = alpha * product(i, j);
      if (beta != 0) v += beta * static_cast<S>(load(c, g.tc, i + j * g.ldc));
      store(c, g.tc, i + j * g.ldc, static_cast<double>(v));
    }
}

cudaError_t run(Gemm g) {
  if (g.alpha_at) g.alpha = load(g.alpha_at, g.wide ? CUDA_R_64F : CUDA_R_32F, 0);
  if (g.beta_at) g.beta = load(g.beta_at, g.wide ? CUDA_R_64F : CUDA_R_32F, 0);
  for (long long i = 0; i < g.batch; ++i) {
    auto* a = static_cast<const char*>(g.a) + static_cast<size_t>(i * g.stride_a) * width(g.ta);
    auto* b = static_cast<const char*>(g.b) + static_cast<size_t>(i * g.stride_b) * width(g.tb);
    auto* c = static_cast<char*>(g.c) + static_cast<size_t>(i * g.stride_c) * width(g.tc);
    if (g.wide) multiply<double>(g, a, b, c);
    else multiply<float>(g, a, b, c);
  }
  return cudaSuccess;
}

cublasStatus_t invalid(const Gemm& g, const std::string& what) {
  report(std::string(g.call) + ": " + what);
  return CUBLAS_STATUS_INVALID_VALUE;
}

struct Span {
  uint64_t first, last;
};
Span span(const void* p, cudaDataType t, long long rows, long long cols, long long ld, long long stride,
          long long batch) {
  uint64_t at = reinterpret_cast<uint64_t>(p);
  if (!rows || !cols || !batch) return {at, at};
  return {at, at + static_cast<uint64_t>((batch - 1) * stride + (cols - 1) * ld + rows) * width(t)};
}

/// "" if the operand's bytes lie in one live allocation that the device may touch.
std::string check_operand(const Device& d, const char* name, const void* p, Span s) {
  if (s.first == s.last) return "";
  Device* owner = device_of(p);
  if (!owner) return std::string(name) + " is not device memory";
  if (owner != &d && !(d.peers >> owner->id & 1u))
    return std::string(name) + " is memory of vgpu:" + std::to_string(owner->id) +
           ", the handle is of vgpu:" + std::to_string(d.id);
  auto* a = owner->arena.find(p);
  if (!a) return std::string(name) + " points into no live allocation";
  if (s.last > a->first + a->second.bytes)
    return std::string(name) + " leaves its allocation of " + std::to_string(a->second.bytes) + " bytes";
  return "";
}

cublasStatus_t check(const Gemm& g, const Device& d) {
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0)
    return invalid(
        g, "negative size: m " + std::to_string(g.m) + ", n " + std::to_string(g.n) + ", k " + std::to_string(g.k));
  long long ra = g.trans_a ? g.k : g.m, rb = g.trans_b ? g.n : g.k;
  auto bad_ld = [&](const char* name, long long ld, long long rows) {
    return invalid(
        g, std::string(name) + " = " + std::to_string(ld) + " is less than the " + std::to_string(rows) + " rows");
  };
  if (g.lda < std::max(1ll, ra)) return bad_ld("lda", g.lda, ra);
  if (g.ldb < std::max(1ll, rb)) return bad_ld("ldb", g.ldb, rb);
  if (g.ldc < std::max(1ll, g.m)) return bad_ld("ldc", g.ldc, g.m);
  Span a = span(g.a, g.ta, ra, g.trans_a ? g.m : g.k, g.lda, g.stride_a, g.batch);
  Span b = span(g.b, g.tb, rb, g.trans_b ? g.k : g.n, g.ldb, g.stride_b, g.batch);
  Span c = span(g.c, g.tc, g.m, g.n, g.ldc, g.stride_c, g.batch);
  std::string problem = check_operand(d, "C", g.c, c);
  if (problem.empty() && g.k) problem = check_operand(d, "A", g.a, a);
  if (problem.empty() && g.k) problem = check_operand(d, "B", g.b, b);
  auto meet = [&](Span x) { return g.k && x.first < c.last && c.first < x.last; };
  if (problem.empty() && (meet(a) || meet(b))) problem = std::string("C overlaps ") + (meet(a) ? "A" : "B");
  return problem.empty() ? CUBLAS_STATUS_SUCCESS : invalid(g, problem);
}

bool supported(cudaDataType t) {
  return t == CUDA_R_32F || t == CUDA_R_64F || t == CUDA_R_16F || t == CUDA_R_16BF;
}

cublasStatus_t submit(cublasHandle_t h, Gemm g, const void* alpha, const void* beta) {
  if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta) return invalid(g, "alpha or beta is null");
  if (!supported(g.ta) || g.ta != g.tb || !supported(g.tc)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (injected_error(g.call, cudaErrorLaunchFailure)) return CUBLAS_STATUS_EXECUTION_FAILED;
  Lock lock(runtime().mutex);
  Stream* s = resolve(h->stream, h->device);
  if (!s || s->device != h->device) return invalid(g, "the handle's stream is gone or of another device");
  if (cublasStatus_t status = check(g, *h->device)) return status;
  if (h->pointers == CUBLAS_POINTER_MODE_HOST) {
    g.alpha = load(alpha, g.wide ? CUDA_R_64F : CUDA_R_32F, 0);
    g.beta = load(beta, g.wide ? CUDA_R_64F : CUDA_R_32F, 0);
    g.alpha_at = g.beta_at = nullptr;
  } else {
    g.alpha_at = alpha;
    g.beta_at = beta;
  }
  double flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) *
                 static_cast<double>(g.batch);
  cudaError_t e = enqueue_function(
      lock, s, g.call, [g] { return run(g); }, model_kernel(0, flops, 0));
  return e ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

bool uses_tf32(cublasHandle_t h, cudaDataType t, cublasComputeType_t compute) {
  return t == CUDA_R_32F && (compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                             (compute == CUBLAS_COMPUTE_32F && h && h->math == CUBLAS_TF32_TENSOR_OP_MATH));
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  Entry entry("cublasCreate", cudaErrorMemoryAllocation);
  if (entry) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext{entry.device};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (!version) return CUBLAS_STATUS_INVALID_VALUE;
  *version = 120400;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  if (!handle || !stream) return handle ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  if (!handle || !mode) return handle ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (bytes && device_of(workspace) != handle->device) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown cuBLAS status";
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return cublasGetStatusName(status);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const float* alpha, const float* A, int lda, const float* B, int ldb,
                           const float* beta, float* C, int ldc) {
  Gemm g{"cublasSgemm",
         transa != CUBLAS_OP_N,
         transb != CUBLAS_OP_N,
         m,
         n,
         k,
         0,
         0,
         A,
         B,
         C,
         CUDA_R_32F,
         CUDA_R_32F,
         CUDA_R_32F,
         lda,
         ldb,
         ldc,
         0,
         0,
         0,
         1,
         uses_tf32(handle, CUDA_R_32F, CUBLAS_COMPUTE_32F),
         false,
         nullptr,
         nullptr};
  return submit(handle, g, alpha, beta);
}
cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const double* alpha, const double* A, int lda, const double* B, int ldb,
                           const double* beta, double* C, int ldc) {
  Gemm g{"cublasDgemm",
         transa != CUBLAS_OP_N,
         transb != CUBLAS_OP_N,
         m,
         n,
         k,
         0,
         0,
         A,
         B,
         C,
         CUDA_R_64F,
         CUDA_R_64F,
         CUDA_R_64F,
         lda,
         ldb,
         ldc,
         0,
         0,
         0,
         1,
         false,
         true,
         nullptr,
         nullptr};
  return submit(handle, g, alpha, beta);
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* A, cudaDataType atype, int lda, const void* B,
                            cudaDataType btype, int ldb, const void* beta, void* C, cudaDataType ctype, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  Gemm g{"cublasGemmEx",
         transa != CUBLAS_OP_N,
         transb != CUBLAS_OP_N,
         m,
         n,
         k,
         0,
         0,
         A,
         B,
         C,
         atype,
         btype,
         ctype,
         lda,
         ldb,
         ldc,
         0,
         0,
         0,
         1,
         uses_tf32(handle, atype, compute),
         compute == CUBLAS_COMPUTE_64F,
         nullptr,
         nullptr};
  return submit(handle, g, alpha, beta);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void* alpha, const void* A, cudaDataType atype,
                                          int lda, long long stride_a, const void* B, cudaDataType btype, int ldb,
                                          long long stride_b, const void* beta, void* C, cudaDataType ctype, int ldc,
                                          long long stride_c, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  Gemm g{"cublasGemmStridedBatchedEx",
         transa != CUBLAS_OP_N,
         transb != CUBLAS_OP_N,
         m,
         n,
         k,
         0,
         0,
         A,
         B,
         C,
         atype,
         btype,
         ctype,
         lda,
         ldb,
         ldc,
         stride_a,
         stride_b,
         stride_c,
         batch,
         uses_tf32(handle, atype, compute),
         compute == CUBLAS_COMPUTE_64F,
         nullptr,
         nullptr};
  return submit(handle, g, alpha, beta);
}

}  // namespace vgpu_abi
