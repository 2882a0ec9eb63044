/// The virtual GPU's stand-in for CUDA's header of this name: the matrix products that are used, column-major, queued
/// on the handle's stream. beta = 0 never reads C. Sizes of 0 are legal.
#pragma once
#include <cuda_runtime_api.h>

inline namespace vgpu_abi {

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};
enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14
};
using cudaDataType = cudaDataType_t;
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

struct cublasContext;
using cublasHandle_t = cublasContext*;

VGPU_API cublasStatus_t cublasCreate(cublasHandle_t* handle);
VGPU_API cublasStatus_t cublasDestroy(cublasHandle_t handle);
VGPU_API cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
VGPU_API cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
VGPU_API cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
VGPU_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
VGPU_API cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
VGPU_API cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
VGPU_API cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
VGPU_API const char* cublasGetStatusName(cublasStatus_t status);
VGPU_API const char* cublasGetStatusString(cublasStatus_t status);

VGPU_API cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                    int n, int k, const float* alpha, const float* A, int lda, const float* B, int ldb,
                                    const float* beta, float* C, int ldc);
VGPU_API cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                    int n, int k, const double* alpha, const double* A, int lda, const double* B,
                                    int ldb, const double* beta, double* C, int ldc);
VGPU_API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                     int n, int k, const void* alpha, const void* A, cudaDataType atype, int lda,
                                     const void* B, cudaDataType btype, int ldb, const void* beta, void* C,
                                     cudaDataType ctype, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo);
VGPU_API cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                                   const void* A, cudaDataType atype, int lda, long long stride_a,
                                                   const void* B, cudaDataType btype, int ldb, long long stride_b,
                                                   const void* beta, void* C, cudaDataType ctype, int ldc,
                                                   long long stride_c, int batch, cublasComputeType_t compute,
                                                   cublasGemmAlgo_t algo);

}  // namespace vgpu_abi
