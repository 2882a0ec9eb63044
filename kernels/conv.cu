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
// is cut into parts (their number depends on the sizes only), whose sums a second kernel adds in order. Indices are cut
// by multiplications, in 32 bits where all of them fit. 1x1 filters without stride or padding need no look-up: forward
// and input gradient are matrix products then. FLOP: 2 M N K a
// group; bytes of a tile: 16 (64 + 64) elements for 2 * 16 * 64 * 64 FLOP: bound by arithmetic.
#include <tantu/kernels/conv.h>
#include <tantu/kernels/copy.h>
#include <tantu/kernels/divider32.h>
#include <tantu/kernels/matmul.h>
#include <tantu/kernels/divider.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/typed.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>

namespace tantu {

namespace {

constexpr int kThreads = 256, kTile = 64, kDepth = 16, kEach = 4, kRow = kTile + 1;

// Division of an index of type I by a size.
template <class I>
struct Cut : Divider {
  explicit Cut(int64_t size) : Divider(std::max<int64_t>(size, 1)) {}
};
template <>
struct Cut<int32_t> {
  int32_t by;
  Divider32 magic;
  explicit Cut(int64_t size)
      : by(static_cast<int32_t>(std::max<int64_t>(size, 1))), magic(divider_of(static_cast<uint32_t>(by))) {}
  // n / by; n becomes what is left.
  __device__ __forceinline__ int32_t split(int32_t& n) const {
    const int32_t whole = static_cast<int32_t>(divide(static_cast<uint32_t>(n), magic));
    n -= whole * by;
    return whole;
  }
};

// ConvSizes as the kernels index with them.
template <class I>
struct Sizes {
  I C, H, W, O, P, Q, channels, filters, taps, patch, positions, pixels;
  I stride[2], padding[2], dilation[2];
  Cut<I> by_W, by_Q, by_R, by_S, by_taps, by_positions, by_pixels, by_stride[2];

  explicit Sizes(const ConvSizes& z)
      : C(static_cast<I>(z.C)),
        H(static_cast<I>(z.H)),
        W(static_cast<I>(z.W)),
        O(static_cast<I>(z.O)),
        P(static_cast<I>(z.P)),
        Q(static_cast<I>(z.Q)),
        channels(static_cast<I>(z.channels)),
        filters(static_cast<I>(z.filters)),
        taps(static_cast<I>(z.R * z.S)),
        patch(static_cast<I>(z.patch)),
        positions(static_cast<I>(z.positions)),
        pixels(static_cast<I>(z.H * z.W)),
        by_W(z.W),
        by_Q(z.Q),
        by_R(z.R),
        by_S(z.S),
        by_taps(z.R * z.S),
        by_positions(z.positions),
        by_pixels(z.H * z.W),
        by_stride{Cut<I>(z.rule.stride[0]), Cut<I>(z.rule.stride[1])} {
    for (int d = 0; d < 2; ++d) {
      stride[d] = static_cast<I>(z.rule.stride[d]);
      padding[d] = static_cast<I>(z.rule.padding[d]);
      dilation[d] = static_cast<I>(z.rule.dilation[d]);
    }
  }
};

// The element of x that tap (r, s) of output (p, q) meets, or 0 outside of the plane.
template <class T, class I>
__device__ __forceinline__ compute_t<T> pixel(const Sizes<I>& z, const T* x, I plane, I p, I q, I r, I s) {
  const I h = p * z.stride[0] - z.padding[0] + r * z.dilation[0];
  const I w = q * z.stride[1] - z.padding[1] + s * z.dilation[1];
  return h >= 0 && h < z.H && w >= 0 && w < z.W ? widened(x[(plane * z.H + h) * z.W + w]) : compute_t<T>(0);
}

// The three products: their sizes, their operands by index, and where an element of C goes.
template <class T, class I>
struct Forward {
  using Index = I;
  Sizes<I> z;
  I M, N, K;
  const T *x, *w, *bias;
  T* y;
  __device__ compute_t<T> a(I group, I m, I k) const { return widened(w[(group * M + m) * K + k]); }
  __device__ compute_t<T> b(I group, I k, I n) const {
    I s = k, r = z.by_S.split(s), q = n, p = z.by_Q.split(q);
    const I c = z.by_R.split(r);
    I position = n;
    const I image = z.by_positions.split(position);
    return pixel(z, x, image * z.C + group * z.channels + c, p - image * z.P, q, r, s);
  }
  __device__ void store(I group, I, I m, I n, compute_t<T> sum) const {
    const I image = z.by_positions.split(n);
    if (bias) sum += widened(bias[group * M + m]);
    y[(image * z.O + group * M + m) * z.positions + n] = narrowed<T>(sum);
  }
};

template <class T, class I>
struct OfInput {
  using Index = I;
  Sizes<I> z;
  I M, N, K;
  const T *g, *w, *bias;
  T* dx;
  __device__ compute_t<T> a(I group, I m, I k) const {  // k = (o, r, s)
    const I o = z.by_taps.split(k);
    return widened(w[((group * z.filters + o) * z.channels + m) * z.taps + k]);
  }
  __device__ compute_t<T> b(I group, I k, I n) const {
    I s = k, r = z.by_S.split(s), across = n, down = z.by_W.split(across), pixel = n;
    const I o = z.by_R.split(r), image = z.by_pixels.split(pixel);
    down += z.padding[0] - r * z.dilation[0] - image * z.H;  // = p * stride, if a position met it
    across += z.padding[1] - s * z.dilation[1];
    if (down < 0 || across < 0) return 0;
    const I p = z.by_stride[0].split(down), q = z.by_stride[1].split(across);
    const bool met = p < z.P && q < z.Q && down == 0 && across == 0;
    return met ? widened(g[((image * z.O + group * z.filters + o) * z.P + p) * z.Q + q]) : compute_t<T>(0);
  }
  __device__ void store(I group, I, I m, I n, compute_t<T> sum) const {
    const I image = z.by_pixels.split(n);
    if (bias) sum += widened(bias[group * M + m]);
    dx[(image * z.C + group * M + m) * z.pixels + n] = narrowed<T>(sum);
  }
};

template <class T, class I>
struct OfWeight {
  using Index = I;
  Sizes<I> z;
  I M, N, K;
  const T *g, *x;
  compute_t<T>* parts;  // (parts, O, patch)
  __device__ compute_t<T> a(I group, I m, I k) const {
    const I image = z.by_positions.split(k);
    return widened(g[(image * z.O + group * M + m) * z.positions + k]);
  }
  __device__ compute_t<T> b(I group, I k, I n) const {
    I s = n, r = z.by_S.split(s), q = k, p = z.by_Q.split(q), position = k;
    const I c = z.by_R.split(r), image = z.by_positions.split(position);
    return pixel(z, x, image * z.C + group * z.channels + c, p - image * z.P, q, r, s);
  }
  __device__ void store(I group, I part, I m, I n, compute_t<T> sum) const {
    parts[(part * z.O + group * M + m) * N + n] = sum;
  }
};

struct Tiles {
  int64_t m, n, parts;  // of one group
  int64_t length;       // of a part, along K
};

template <class T, class Product>
__global__ void __launch_bounds__(kThreads, 2) conv_kernel(Product product, Tiles tiles) {
  using A = compute_t<T>;
  using I = typename Product::Index;
  A* const as = arch::dynamic_smem<A>();  // (kDepth, kRow): a column apart, so that the writes meet no bank twice
  A* const bs = as + kDepth * kRow;       // (kDepth, kTile)
  const I M = product.M, N = product.N;
  const I m0 = static_cast<I>(blockIdx.x / tiles.n % tiles.m * kTile),
          n0 = static_cast<I>(blockIdx.x % tiles.n * kTile);
  const I part = static_cast<I>(blockIdx.x / (tiles.n * tiles.m) % tiles.parts),
          group = static_cast<I>(blockIdx.x / (tiles.n * tiles.m * tiles.parts));
  const int64_t limit = (part + 1) * tiles.length;
  const I begin = static_cast<I>(part * tiles.length), end = limit < product.K ? static_cast<I>(limit) : product.K;
  const int t = threadIdx.x, row = t / 16,
            column = t % 16;  // of the thread's sums: rows row + 16 i, columns column + 16 j
  A sums[kEach][kEach] = {};
  for (I k0 = begin; k0 < end; k0 += kDepth) {
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
      const I m = m0 + row + 16 * i, n = n0 + column + 16 * j;
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
void multiply(GpuContext& ctx, const Product& product, int64_t groups, int64_t parts) {
  const int64_t M = product.M, N = product.N, K = product.K;
  Tiles tiles{(M + kTile - 1) / kTile, (N + kTile - 1) / kTile, parts, 0};
  tiles.length = std::max<int64_t>(1, (K + parts - 1) / parts);
  launch(ctx, "conv_kernel", conv_kernel<T, Product>, groups * parts * tiles.m * tiles.n, kThreads,
         kDepth * (kRow + kTile) * sizeof(compute_t<T>), product, tiles);
}

// Calls f.template operator()<I>() with int32_t if every index, with a tile beyond each edge, fits.
template <class F>
void with_index(const ConvSizes& z, int64_t parts, F&& f) {
  const int64_t weights = z.O * z.patch, reach = std::max(z.H + 2 * z.rule.padding[0], z.W + 2 * z.rule.padding[1]);
  const int64_t steps = std::max({z.rule.stride[0], z.rule.stride[1], z.rule.dilation[0], z.rule.dilation[1]});
  const int64_t largest = std::max({z.N * z.C * z.H * z.W, z.N * z.O * z.positions, parts * weights, z.N * z.positions,
                                    reach, steps, z.N * z.H * (z.W + kTile)});
  if (largest < INT32_MAX - kTile * kTile) f.template operator()<int32_t>();
  else f.template operator()<int64_t>();
}

// y (N, rows, width) = w x, image by image, plus the bias: w (rows, K) of these steps.
void product_of_planes(GpuContext& ctx, ConstView w, int64_t rows, int64_t K, Strides steps, ConstView x,
                       ConstView bias, View y) {
  const int64_t images = y.sizes[0], width = y.sizes[2] * y.sizes[3];
  w.sizes = {images, rows, K};
  w.strides = {0, steps[0], steps[1]};
  x.sizes = {images, K, width};
  x.strides = contiguous_strides(x.sizes);
  y.sizes = {images, rows, width};
  y.strides = contiguous_strides(y.sizes);
  if (bias.data) {
    bias.sizes = y.sizes;
    bias.strides = {0, 1, 0};
    copy(ctx, bias, y);
  }
  matmul(ctx, w, x, y, 1, bias.data ? 1 : 0);
}

constexpr int64_t kPartLength = 4096, kMostParts = 64;

}  // namespace

void conv_forward(GpuContext& ctx, ConstView x, ConstView w, ConstView bias, View y, const ConvRule& rule) {
  if (y.numel() == 0) return;
  const ConvSizes z(x.sizes, w.sizes, y.sizes, rule);
  if (is_product(z) && rule.groups == 1) return product_of_planes(ctx, w, z.O, z.C, {z.C, 1}, x, bias, y);
  visit_stored(y.dtype, [&]<class T>() {
    with_index(z, 1, [&]<class I>() {
      multiply<T>(ctx,
                  Forward<T, I>{Sizes<I>(z), static_cast<I>(z.filters), static_cast<I>(z.N * z.positions),
                                static_cast<I>(z.patch), x.as<T>(), w.as<T>(), bias.as<T>(), y.as<T>()},
                  rule.groups, 1);
    });
  });
}

void conv_backward_input(GpuContext& ctx, ConstView g, ConstView w, ConstView bias, View dx, const ConvRule& rule) {
  if (dx.numel() == 0) return;
  const ConvSizes z(dx.sizes, w.sizes, g.sizes, rule);
  if (is_product(z) && rule.groups == 1) return product_of_planes(ctx, w, z.C, z.O, {1, z.C}, g, bias, dx);
  visit_stored(dx.dtype, [&]<class T>() {
    with_index(z, 1, [&]<class I>() {
      multiply<T>(ctx,
                  OfInput<T, I>{Sizes<I>(z), static_cast<I>(z.channels), static_cast<I>(z.N * z.H * z.W),
                                static_cast<I>(z.filters * z.R * z.S), g.as<T>(), w.as<T>(), bias.as<T>(), dx.as<T>()},
                  rule.groups, 1);
    });
  });
}

void conv_backward_weight(GpuContext& ctx, ConstView g, ConstView x, View dw, const ConvRule& rule) {
  const int64_t n = dw.numel();
  if (n == 0) return;
  const ConvSizes z(x.sizes, dw.sizes, g.sizes, rule);
  visit_stored(dw.dtype, [&]<class T>() {
    const int64_t count = std::clamp<int64_t>(z.N * z.positions / kPartLength, 1, kMostParts);
    const Workspace parts(ctx, "conv", count * n * static_cast<int64_t>(sizeof(compute_t<T>)));
    with_index(z, count, [&]<class I>() {
      multiply<T>(ctx,
                  OfWeight<T, I>{Sizes<I>(z), static_cast<I>(z.filters), static_cast<I>(z.patch),
                                 static_cast<I>(z.N * z.positions), g.as<T>(), x.as<T>(), parts.data<compute_t<T>>()},
                  rule.groups, count);
    });
    launch(ctx, "conv_parts_kernel", conv_parts_kernel<T>, blocks_for(n, kThreads), kThreads, 0,
           parts.data<compute_t<T>>(), dw.as<T>(), n, count);
  });
}

}  // namespace tantu
