// The choice among our own matrix products: dots for one row or column, else tiles by dtype and size.
#include <tantu/kernels/matmul_dots.cuh>
#include <tantu/kernels/matmul_own.cuh>
#include <tantu/kernels/matmul_tile.cuh>
#include <tantu/kernels/matmul_wmma.cuh>

namespace tantu {

namespace {

/// Tiles of 128 by 128 keep a large GPU busy from about this many on; below it smaller ones do more.
constexpr int64_t kBigTiles = 128;

bool is_big(int64_t M, int64_t N, int64_t batch) {
  return (M + 127) / 128 * ((N + 127) / 128) * batch >= kBigTiles;
}

template <class T>
void multiply(GpuContext& ctx, const ConstView& a, const ConstView& b, const View& y, double alpha, double beta) {
  TANTU_CHECK(y.sizes[1] <= INT32_MAX / 2 && y.sizes[2] <= INT32_MAX / 2 && a.sizes[2] <= INT32_MAX / 2, ShapeError,
              "matmul: {} times {} is too large for our own kernels", a.sizes, b.sizes);
  const Product<T> p = product_of<T>(a, b, y, alpha, beta);
  constexpr bool half = sizeof(T) == 2;
  if (p.M == 1 || p.N == 1) return launch_dots<T, std::conditional_t<half, float, T>>(ctx, p);
  if constexpr (half) launch_wmma(ctx, p);
  else if constexpr (std::is_same_v<T, double>) launch_tiles<double, 4, 8>(ctx, p);
  else if (is_big(p.M, p.N, p.batch)) launch_tiles<float, 8, 8>(ctx, p);
  else launch_tiles<float, 4, 16>(ctx, p);
}

}  // namespace

void own_matmul(GpuContext& ctx, const ConstView& a, const ConstView& b, const View& y, double alpha, double beta) {
  switch (y.dtype) {
    case DType::Float16: return multiply<__half>(ctx, a, b, y, alpha, beta);
    case DType::BFloat16: return multiply<__nv_bfloat16>(ctx, a, b, y, alpha, beta);
    case DType::Float64: return multiply<double>(ctx, a, b, y, alpha, beta);
    default: return multiply<float>(ctx, a, b, y, alpha, beta);
  }
}

}  // namespace tantu
