#include <tantu/kernels/matmul.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/copy.h>
#include <tantu/kernels/cpu/float_copy.h>
#include <tantu/kernels/cpu/gemm.h>

namespace tantu {

namespace {

template <class T>
void multiply(const ConstView& a, const ConstView& b, const View& y, double alpha, double beta) {
  const int64_t batch = y.sizes[0], M = y.sizes[1], N = y.sizes[2], K = a.sizes[2];
  const auto one = [&](int64_t i) {
    cpu::gemm<T>(M, N, K, static_cast<T>(alpha), a.as<T>() + i * a.strides[0], a.strides[1], a.strides[2],
                 b.as<T>() + i * b.strides[0], b.strides[1], b.strides[2], static_cast<T>(beta), y.as<T>() + i * M * N,
                 N);
  };
  // Many small products: a thread takes whole ones. Few or large ones: each product uses all threads.
  if (batch > 1 && M * N * K < 64 * 64 * 64)
    parallel_for(0, batch, std::max<int64_t>(1, 32768 / (M * N * K + 1)), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) one(i);
    });
  else
    for (int64_t i = 0; i < batch; ++i) one(i);
}

template <class T>
void multiply_integers(const ConstView& a, const ConstView& b, const View& y, double alpha, double beta) {
  const int64_t batch = y.sizes[0], M = y.sizes[1], N = y.sizes[2], K = a.sizes[2];
  const uint64_t al = static_cast<uint64_t>(static_cast<int64_t>(alpha)),
                 be = static_cast<uint64_t>(static_cast<int64_t>(beta));
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n) {
        uint64_t sum = 0;  // unsigned: wrapping is defined
        for (int64_t k = 0; k < K; ++k)
          sum += static_cast<uint64_t>(a.as<T>()[i * a.strides[0] + m * a.strides[1] + k * a.strides[2]]) *
                 static_cast<uint64_t>(b.as<T>()[i * b.strides[0] + k * b.strides[1] + n * b.strides[2]]);
        T& out = y.as<T>()[(i * M + m) * N + n];
        out = static_cast<T>(al * sum + (be ? be * static_cast<uint64_t>(out) : 0));
      }
}

}  // namespace

void matmul(CpuContext& ctx, ConstView a, ConstView b, View y, double alpha, double beta) {
  switch (y.dtype) {
    case DType::Float32: return multiply<float>(a, b, y, alpha, beta);
    case DType::Float64: return multiply<double>(a, b, y, alpha, beta);
    case DType::Float16:
    case DType::BFloat16: {
      const cpu::FloatCopy fa(ctx, a), fb(ctx, b), fy(ctx, y);
      multiply<float>(fa.view(), fb.view(), fy.view(), alpha, beta);
      return copy(ctx, fy.view(), y);
    }
    case DType::Int64: return multiply_integers<int64_t>(a, b, y, alpha, beta);
    case DType::Int32: return multiply_integers<int32_t>(a, b, y, alpha, beta);
    default: return multiply_integers<uint8_t>(a, b, y, alpha, beta);
  }
}

}  // namespace tantu
