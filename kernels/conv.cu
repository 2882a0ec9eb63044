// y[n,o,p,q] = sum over c, r, s of w[o,c,r,s] x[n,c,p*stride - padding + r*dilation, ...], and its two gradients.
//
// Implicit GEMM: each of the three is a product C (M, N) = A (M, K) B (K, N) whose operands are looked up in the
// tensors and never written out:
//
//                    M              N                K
//   forward          filters        images * P * Q   channels * R * S   A = w            B = patches of x
//   input gradient   channels       images * H * W   filters * R * S    A = w            B = the g that met the pixel
//   weight gradient  filters        channels * R * S images * P * Q     A = g            B = patches of x
//
// A block of 256 threads makes one 64 x 64 tile of C of one group, in steps of 16 along K through shared memory; each
// thread keeps 4 x 4 sums in registers. K runs upwards in one block, so the bits repeat; the weight gradient's long K
// is cut into parts (their number depends on the sizes only), whose sums a second kernel adds in order. FLOP: 2 M N K a
// group; bytes of a tile: 16 (64 + 64) elements for 2 * 16 * 64 * 64 FLOP: bound by arithmetic.
#include <tantu/kernels/conv.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/typed.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>

namespace tantu {

namespace {

constexpr int kThreads = 256, kTile = 64, kDepth = 16, kEach = 4, kRow = kTile + 1;

// The element of x that tap (r, s) of output (p, q) meets, or 0 outside of the plane.
template <class T>
__device__ __forceinline__ compute_t<T> pixel(const ConvSizes& z, const T* x, int64_t plane, int64_t p, int64_t q,
                                              int64_t r, int64_t s) {
  const int64_t h = p * z.rule.stride[0] - z.rule.padding[0] + r * z.rule.dilation[0];
  const int64_t w = q * z.rule.stride[1] - z.rule.padding[1] + s * z.rule.dilation[1];
  return h >= 0 && h < z.H && w >= 0 && w < z.W ? widened(x[(plane * z.H + h) * z.W + w]) : compute_t<T>(0);
}

// The three products: their sizes, their operands by index, and where an element of C goes.
template <class T>
struct Forward {
  ConvSizes z;
  const T *x, *w, *bias;
  T* y;
  __host__ __device__ int64_t M() const { return z.filters; }
  __host__ __device__ int64_t N() const { return z.N * z.positions; }
  __host__ __device__ int64_t K() const { return z.patch; }
  __device__ compute_t<T> a(int64_t group, int64_t m, int64_t k) const {
    return widened(w[(group * M() + m) * K() + k]);
  }
  __device__ compute_t<T> b(int64_t group, int64_t k, int64_t n) const {
    const int64_t s = k % z.S, r = k / z.S % z.R, c = k / (z.R * z.S);
    const int64_t q = n % z.Q, p = n / z.Q % z.P, image = n / z.positions;
    return pixel(z, x, image * z.C + group * z.channels + c, p, q, r, s);
  }
  __device__ void store(int64_t group, int64_t, int64_t m, int64_t n, compute_t<T> sum) const {
    const int64_t position = n % z.positions, image = n / z.positions;
    if (bias) sum += widened(bias[group * M() + m]);
    y[(image * z.O + group * M() + m) * z.positions + position] = narrowed<T>(sum);
  }
};

template <class T>
struct OfInput {
  ConvSizes z;
  const T *g, *w, *bias;
  T* dx;
  __host__ __device__ int64_t M() const { return z.channels; }
  __host__ __device__ int64_t N() const { return z.N * z.H * z.W; }
  __host__ __device__ int64_t K() const { return z.filters * z.R * z.S; }
  __device__ compute_t<T> a(int64_t group, int64_t m, int64_t k) const {  // k = (o, r, s)
    const int64_t tap = k % (z.R * z.S), o = k / (z.R * z.S);
    return widened(w[((group * z.filters + o) * z.channels + m) * z.R * z.S + tap]);
  }
  __device__ compute_t<T> b(int64_t group, int64_t k, int64_t n) const {
    const int64_t s = k % z.S, r = k / z.S % z.R, o = k / (z.R * z.S);
    const int64_t w_at = n % z.W, h = n / z.W % z.H, image = n / (z.H * z.W);
    const int64_t down = h + z.rule.padding[0] - r * z.rule.dilation[0];  // = p * stride, if a position met it
    const int64_t across = w_at + z.rule.padding[1] - s * z.rule.dilation[1];
    const int64_t p = down / z.rule.stride[0], q = across / z.rule.stride[1];
    const bool met = down >= 0 && across >= 0 && p < z.P && q < z.Q && p * z.rule.stride[0] == down &&
                     q * z.rule.stride[1] == across;
    return met ? widened(g[((image * z.O + group * z.filters + o) * z.P + p) * z.Q + q]) : compute_t<T>(0);
  }
  __device__ void store(int64_t group, int64_t, int64_t m, int64_t n, compute_t<T> sum) const {
    const int64_t pixel = n % (z.H * z.W), image = n / (z.H * z.W);
    if (bias) sum += widened(bias[group * M() + m]);
    dx[(image * z.C + group * M() + m) * z.H * z.W + pixel] = narrowed<T>(sum);
  }
};

template <class T>
struct OfWeight {
  ConvSizes z;
  const T *g, *x;
  compute_t<T>* parts;  // (parts, O, patch)
  __host__ __device__ int64_t M() const { return z.filters; }
  __host__ __device__ int64_t N() const { return z.patch; }
  __host__ __device__ int64_t K() const { return z.N * z.positions; }
  __device__ compute_t<T> a(int64_t group, int64_t m, int64_t k) const {
    const int64_t position = k % z.positions, image = k / z.positions;
    return widened(g[(image * z.O + group * M() + m) * z.positions + position]);
  }
  __device__ compute_t<T> b(int64_t group, int64_t k, int64_t n) const {
    const int64_t s = n % z.S, r = n / z.S % z.R, c = n / (z.R * z.S);
    const int64_t q = k % z.Q, p = k / z.Q % z.P, image = k / z.positions;
    return pixel(z, x, image * z.C + group * z.channels + c, p, q, r, s);
  }
  __device__ void store(int64_t group, int64_t part, int64_t m, int64_t n, compute_t<T> sum) const {
    parts[(part * z.O + group * M() + m) * N() + n] = sum;
  }
};

struct Tiles {
  int64_t m, n, parts;  // of one group
  int64_t length;       // of a part, along K
};

template <class T, class Product>
__global__ void __launch_bounds__(kThreads, 2) conv_kernel(Product product, Tiles tiles) {
  using A = compute_t<T>;
  A* const as = arch::dynamic_smem<A>();  // (kDepth, kRow): a column apart, so that the writes meet no bank twice
  A* const bs = as + kDepth * kRow;       // (kDepth, kTile)
  const int64_t M = product.M(), N = product.N();
  const int64_t tile_n = blockIdx.x % tiles.n, tile_m = blockIdx.x / tiles.n % tiles.m;
  const int64_t part = blockIdx.x / (tiles.n * tiles.m) % tiles.parts,
                group = blockIdx.x / (tiles.n * tiles.m * tiles.parts);
  const int64_t m0 = tile_m * kTile, n0 = tile_n * kTile;
  const int64_t begin = part * tiles.length, limit = begin + tiles.length;
  const int64_t end = limit < product.K() ? limit : product.K();
  const int t = threadIdx.x, row = t / 16,
            column = t % 16;  // of the thread's sums: rows row + 16 i, columns column + 16 j
  A sums[kEach][kEach] = {};
  for (int64_t k0 = begin; k0 < end; k0 += kDepth) {
    // both tiles, zeros beyond the edges: neighbours of a warp along k of A (memory order), along n of B
    for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
      const int ak = t % kDepth, am = t / kDepth + i * (kThreads / kDepth);
      as[ak * kRow + am] = m0 + am < M && k0 + ak < end ? product.a(group, m0 + am, k0 + ak) : A(0);
      const int bn = t % kTile, bk = t / kTile + i * (kThreads / kTile);
      bs[bk * kTile + bn] = n0 + bn < N && k0 + bk < end ? product.b(group, k0 + bk, n0 + bn) : A(0);
    }
    __syncthreads();
    const int depth = end - k0 < kDepth ? static_cast<int>(end - k0) : kDepth;
    for (int k = 0; k < depth; ++k) {
      A a[kEach], b[kEach];
      for (int i = 0; i < kEach; ++i) a[i] = as[k * kRow + row + 16 * i];
      for (int j = 0; j < kEach; ++j) b[j] = bs[k * kTile + column + 16 * j];
      for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j) sums[i][j] = fused(a[i], b[j], sums[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j) {
      const int64_t m = m0 + row + 16 * i, n = n0 + column + 16 * j;
      if (m < M && n < N) product.store(group, part, m, n, sums[i][j]);
    }
}

// dw = the sum of its parts, in their order
template <class T>
__global__ void __launch_bounds__(kThreads)
    conv_parts_kernel(const compute_t<T>* parts, T* dw, int64_t n, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    compute_t<T> sum = parts[i];
    for (int64_t part = 1; part < count; ++part) sum += parts[part * n + i];
    dw[i] = narrowed<T>(sum);
  }
}

template <class T, class Product>
void multiply(GpuContext& ctx, const Product& product, int64_t parts) {
  Tiles tiles{(product.M() + kTile - 1) / kTile, (product.N() + kTile - 1) / kTile, parts, 0};
  tiles.length = std::max<int64_t>(1, (product.K() + parts - 1) / parts);
  launch(ctx, "conv_kernel", conv_kernel<T, Product>, product.z.rule.groups * parts * tiles.m * tiles.n, kThreads,
         kDepth * (kRow + kTile) * sizeof(compute_t<T>), product, tiles);
}

constexpr int64_t kPartLength = 4096, kMostParts = 64;

}  // namespace

void conv_forward(GpuContext& ctx, ConstView x, ConstView w, ConstView bias, View y, const ConvRule& rule) {
  if (y.numel() == 0) return;
  const ConvSizes z(x.sizes, w.sizes, y.sizes, rule);
  visit_stored(y.dtype, [&]<class T>() {
    multiply<T>(ctx, Forward<T>{z, x.as<T>(), w.as<T>(), bias.as<T>(), y.as<T>()}, 1);
  });
}

void conv_backward_input(GpuContext& ctx, ConstView g, ConstView w, ConstView bias, View dx, const ConvRule& rule) {
  if (dx.numel() == 0) return;
  const ConvSizes z(dx.sizes, w.sizes, g.sizes, rule);
  visit_stored(dx.dtype, [&]<class T>() {
    multiply<T>(ctx, OfInput<T>{z, g.as<T>(), w.as<T>(), bias.as<T>(), dx.as<T>()}, 1);
  });
}

void conv_backward_weight(GpuContext& ctx, ConstView g, ConstView x, View dw, const ConvRule& rule) {
  const int64_t n = dw.numel();
  if (n == 0) return;
  const ConvSizes z(x.sizes, dw.sizes, g.sizes, rule);
  visit_stored(dw.dtype, [&]<class T>() {
    const int64_t count = std::clamp<int64_t>(z.N * z.positions / kPartLength, 1, kMostParts);
    const Workspace parts(ctx, "conv", count * n * static_cast<int64_t>(sizeof(compute_t<T>)));
    multiply<T>(ctx, OfWeight<T>{z, g.as<T>(), x.as<T>(), parts.data<compute_t<T>>()}, count);
    launch(ctx, "conv_parts_kernel", conv_parts_kernel<T>, blocks_for(n, kThreads), kThreads, 0,
           parts.data<compute_t<T>>(), dw.as<T>(), n, count);
  });
}

}  // namespace tantu
