// The matrix products against float64, and what they refuse.
#include "vgpu_test.h"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <limits>

using namespace vgpu_test;

namespace {

struct Handle {
  cublasHandle_t h = nullptr;
  Handle() { REQUIRE(cublasCreate(&h) == CUBLAS_STATUS_SUCCESS); }
  ~Handle() { cublasDestroy(h); }
};

template <class T>
void check(cublasHandle_t h, cudaDataType type, bool ta, bool tb, int m, int n, int k, float beta, double tolerance) {
  const int lda = (ta ? k : m) + 3, ldb = (tb ? n : k) + 1, ldc = m + 2;
  auto va = random_values(static_cast<size_t>(lda * (ta ? m : k) + 1)),
       vb = random_values(static_cast<size_t>(ldb * (tb ? k : n) + 1));
  std::vector<T> a(va.begin(), va.end()), b(vb.begin(), vb.end());
  std::vector<float> c(static_cast<size_t>(ldc * n + 1), beta == 0 ? std::numeric_limits<float>::quiet_NaN() : 0.5f);
  Buffer<T> da(a), db(b);
  Buffer<float> dc(c);
  const float alpha = 1.5f;
  REQUIRE(cublasGemmEx(h, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, da, type,
                       std::max(lda, 1), db, type, std::max(ldb, 1), &beta, dc, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  auto out = dc.get();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < ldc; ++i) {
      if (i >= m) {  // between the columns: untouched
        REQUIRE((std::isnan(out[j * ldc + i]) || out[j * ldc + i] == 0.5f));
        continue;
      }
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum += static_cast<double>(float(ta ? a[p + i * lda] : a[i + p * lda])) *
               float(tb ? b[j + p * ldb] : b[p + j * ldb]);
      double want = alpha * sum + (beta == 0 ? 0 : beta * 0.5);
      REQUIRE(std::abs(out[j * ldc + i] - want) <= tolerance * (1 + std::sqrt(k)));
    }
}

}  // namespace

TEST_CASE("products against float64: transposes, leading dimensions, edges, NaN in an unread C") {
  Handle h;
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int m : {0, 1, 7, 33})
        for (int n : {1, 5, 16})
          for (int k : {0, 1, 9, 65})
            for (float beta : {0.0f, 1.0f}) {
              check<float>(h.h, CUDA_R_32F, ta, tb, m, n, k, beta, 1e-5);
              check<__half>(h.h, CUDA_R_16F, ta, tb, m, n, k, beta, 1e-5);
            }
  check<__nv_bfloat16>(h.h, CUDA_R_16BF, true, false, 17, 13, 64, 0.5f, 1e-5);
}

TEST_CASE("TF32 is off until asked for; batches; streams order the product") {
  Handle h;
  const float one = 1.0f, zero = 0.0f, fine = 1.0f + 0x1p-20f;
  Buffer<float> a(std::vector<float>{fine}), b(std::vector<float>{1.0f}), c(1);
  REQUIRE(cublasSgemm(h.h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1) == 0);
  REQUIRE(c.get()[0] == fine);
  cublasSetMathMode(h.h, CUBLAS_TF32_TENSOR_OP_MATH);
  REQUIRE(cublasSgemm(h.h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1) == 0);
  REQUIRE(c.get()[0] == 1.0f);
  cublasSetMathMode(h.h, CUBLAS_DEFAULT_MATH);

  Buffer<float> batch_a(std::vector<float>{1, 2, 3}), batch_c(3);
  REQUIRE(cublasGemmStridedBatchedEx(h.h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, batch_a, CUDA_R_32F, 1, 1, b,
                                     CUDA_R_32F, 1, 0, &zero, batch_c, CUDA_R_32F, 1, 1, 3, CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT) == 0);
  REQUIRE(batch_c.get() == std::vector<float>{1, 2, 3});

  cudaStream_t s = nullptr;
  CUDA_OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  REQUIRE(cublasSetStream(h.h, s) == 0);
  uint64_t before = vgpu::operations();
  REQUIRE(cublasSgemm(h.h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1) == 0);
  REQUIRE(vgpu::operations() == before);
  CUDA_OK(cudaStreamSynchronize(s));
  REQUIRE(c.get()[0] == fine);
  CUDA_OK(cudaStreamDestroy(s));
}

TEST_CASE("B18: misuse of the products is refused") {
  Handle h;
  const float one = 1.0f, zero = 0.0f;
  Buffer<float> a(64), b(64), c(64);
  auto gemm = [&](int m, int lda, float* to, const float* from) {
    return cublasSgemm(h.h, CUBLAS_OP_N, CUBLAS_OP_N, m, 8, 8, &one, from, lda, b, 8, &zero, to, 8);
  };
  REQUIRE(gemm(8, 7, c, a) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(has(vgpu::last_report(), "lda = 7 is less than the 8 rows"));
  REQUIRE(gemm(-1, 8, c, a) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(gemm(8, 8, a, a) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(has(vgpu::last_report(), "C overlaps A"));
  REQUIRE(gemm(8, 9, c, a) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(has(vgpu::last_report(), "A leaves its allocation"));
  std::vector<float> host(64);
  REQUIRE(gemm(8, 8, host.data(), a) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(has(vgpu::last_report(), "C is not device memory"));
  REQUIRE(gemm(0, 8, c, a) == CUBLAS_STATUS_SUCCESS);
  CUDA_OK(cudaDeviceSynchronize());
}
