// y[r] = the product, maximum or minimum of x[r, k] over k, or whether any or all of them are not zero.
//
// The mapping is reduce_gpu.cuh's. Bytes moved: rows * n read once; one operation an element: bound by the read
// bandwidth. Which operation it is, is known at run time: one choice, the same for all threads, is cheaper than as many
// kernels.
#include <tantu/kernels/reduce.h>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

template <class A>
struct Number : ReduceEach<Number<A>, A> {
  Reduce what;
  A empty;

  __device__ __forceinline__ A identity() const { return empty; }
  __device__ __forceinline__ A operator()(A a, A b) const {
    if (what == Reduce::Prod) {
      // Integers wrap around.
      if constexpr (std::is_integral_v<A>) return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else return a * b;
    }
    const A one = (what == Reduce::Max ? a < b : a > b) ? b : a;
    return b != b ? b : one;
  }
};

/// Any and All: 0 or 1; NaN is not zero.
template <class T>
struct Truth {
  using In = T;
  using Acc = int;
  char* y;
  DType y_dtype;
  bool all;

  __device__ __forceinline__ int identity() const { return all ? 1 : 0; }
  __device__ __forceinline__ int operator()(int a, int b) const { return all ? a & b : a | b; }
  __device__ __forceinline__ void add(int& acc, T x, int64_t) const { acc = (*this)(acc, x != T(0) ? 1 : 0); }
  template <int V, int N>
  __device__ __forceinline__ void add_all(int& acc, const T (&x)[N], int64_t, int64_t) const {
#pragma unroll
    for (int i = 0; i < N; ++i) add(acc, x[i], 0);
  }
  __device__ __forceinline__ void store(int acc, int64_t at) const {
    store_as<int64_t>(y, y_dtype, at, acc);
  }
};

template <class A>
Number<A> number_to(const View& y, Reduce what) {
  using Limits = std::numeric_limits<A>;
  Number<A> op;
  op.y = static_cast<char*>(y.data);
  op.y_dtype = y.dtype;
  op.what = what;
  op.empty = what == Reduce::Prod  ? A(1)
             : what == Reduce::Max ? (Limits::has_infinity ? -Limits::infinity() : Limits::lowest())
                                   : (Limits::has_infinity ? Limits::infinity() : Limits::max());
  return op;
}

template <class T>
Truth<T> truth_to(const View& y, Reduce what) {
  return {static_cast<char*>(y.data), y.dtype, what == Reduce::All};
}

}  // namespace

void reduce_last(GpuContext& ctx, ConstView x, View y, int reduced, Reduce what) {
  const ReducePlan plan(x, y, reduced);
  if (what == Reduce::Any || what == Reduce::All) {
    const char* name = what == Reduce::Any ? "any" : "all";
    if (plan.packed && item_size(x.dtype) == 1) reduce_packed<uint8_t>(ctx, name, truth_to<float>(y, what), x, plan);
    else if (x.dtype == kFloat64) reduce_any(ctx, name, truth_to<double>(y, what), x, plan);
    else reduce_any(ctx, name, truth_to<float>(y, what), x, plan);
    return;
  }
  const char* name = what == Reduce::Prod ? "prod" : what == Reduce::Max ? "max" : "min";
  if (is_integral(x.dtype) && is_integral(y.dtype)) return reduce_any(ctx, name, number_to<int64_t>(y, what), x, plan);
  if (x.dtype == kFloat64 || y.dtype == kFloat64) return reduce_any(ctx, name, number_to<double>(y, what), x, plan);
  const Number<float> op = number_to<float>(y, what);
  if (plan.packed && x.dtype == kFloat32) reduce_packed<float>(ctx, name, op, x, plan);
  else if (plan.packed && x.dtype == kFloat16) reduce_packed<__half>(ctx, name, op, x, plan);
  else if (plan.packed && x.dtype == kBFloat16) reduce_packed<__nv_bfloat16>(ctx, name, op, x, plan);
  else reduce_any(ctx, name, op, x, plan);
}

}  // namespace tantu
