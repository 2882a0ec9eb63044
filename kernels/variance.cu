// y[r] = Σ (x[r, k] - mean)² / max(n - correction, 0) over k, or its square root.
//
// The mapping is reduce_gpu.cuh's. A thread takes up to 16 elements at a time: their mean first, as distances from the
// first of them, then their squared distances from it; Chan's rule joins that (count, mean, squares) to what it has,
// and later lanes, warps and pieces to one another. Everything is float32 (float64 for float64): counts are integers,
// the mean is a sum of two numbers, so that it keeps the spread's digits at 1e7, and squares have a scale, so that 1e30
// does not overflow. Bytes moved: rows * n read once; about 8 FLOP an element: bound by the bandwidth.
#include <tantu/kernels/variance.h>
#include <tantu/kernels/reduce_gpu.cuh>
#include <tantu/kernels/scaled_square.cuh>

namespace tantu {

namespace {

// The mean is high + low; `squares` is Σ (x - mean)².
template <class A>
struct Moments {
  int64_t count;
  A high, low;
  ScaledSquare<A> squares;
};

template <class A>
__device__ __forceinline__ Moments<A> shuffle_xor(const Moments<A>& a, int lanes) {
  return {shuffle_xor(a.count, lanes),
          shuffle_xor(a.high, lanes),
          shuffle_xor(a.low, lanes),
          {shuffle_xor(a.squares.sum, lanes), shuffle_xor(a.squares.scale, lanes)}};
}

template <class A>
struct Variance {
  using In = A;
  using Acc = Moments<A>;
  char* y;
  DType y_dtype;
  A divisor;
  bool root;

  __device__ __forceinline__ Acc identity() const { return {0, 0, 0, {0, 1}}; }
  __device__ __forceinline__ Acc operator()(const Acc& a, const Acc& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    Acc both;
    both.count = a.count + b.count;
    const A share = static_cast<A>(b.count) / static_cast<A>(both.count);
    const A delta = (b.high - a.high) + (b.low - a.low), step = delta * share;
    both.high = a.high + step;
    const A moved = both.high - a.high;  // two-sum: what rounding took from the mean
    both.low = a.low + ((a.high - (both.high - moved)) + (step - moved));
    both.squares = joined(joined(a.squares, b.squares), square_of(delta, share * static_cast<A>(a.count)));
    return both;
  }
  __device__ __forceinline__ void add(Acc& acc, A x, int64_t) const {
    acc = (*this)(acc, {1, x, 0, {x - x, 1}});  // of one element 0, but of one that is not finite NaN
  }
  template <int V, int N>
  __device__ __forceinline__ void add_all(Acc& acc, const A (&x)[N], int64_t, int64_t) const {
    A distance[N], sum = 0, largest = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      distance[i] = x[i] - x[0];
      sum += distance[i];
      largest = fmax(largest, fabs(distance[i]));
    }
    const A mean = sum * A(1.0 / N), scale = scale_for(largest);  // N is a power of two
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const A d = (distance[i] - mean) * scale;
      squares = fused(d, d, squares);
    }
    acc = (*this)(acc, {N, x[0], mean, {squares, scale}});
  }
  __device__ __forceinline__ void store(const Acc& acc, int64_t at) const {
    const A variance = acc.squares.sum / divisor, scale = acc.squares.scale;
    store_as<A>(y, y_dtype, at, root ? sqrt(variance) / scale : variance / scale / scale);
  }
};

}  // namespace

void variance_last(GpuContext& ctx, ConstView x, View y, int reduced, double correction, bool root) {
  const ReducePlan plan(x, y, reduced);
  const double divisor = std::max(static_cast<double>(plan.shape.n) - correction, 0.0);
  char* to = static_cast<char*>(y.data);
  if (x.dtype == kFloat64) return reduce_any(ctx, "var", Variance<double>{to, y.dtype, divisor, root}, x, plan);
  const Variance<float> op{to, y.dtype, static_cast<float>(divisor), root};
  if (plan.packed && !plan.columns && x.dtype == kFloat32) reduce_packed_rows<float>(ctx, "var", op, x, plan);
  else reduce_any(ctx, "var", op, x, plan);
}

}  // namespace tantu
