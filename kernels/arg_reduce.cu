// values[r] = the largest (or smallest) of x[r, k] over k, indices[r] = the k where it is.
//
// The mapping is reduce_gpu.cuh's; what is kept of a part is its best element and where that is. Of equal ones, and of
// two NaNs, the lower index wins, so it does not matter in which order parts meet. Bytes moved: rows * n read once:
// bound by the read bandwidth.
#include <tantu/kernels/arg_reduce.h>
#include <tantu/kernels/reduce_gpu.cuh>

namespace tantu {

namespace {

template <class A>
struct Best {
  A value;
  int64_t index;  // -1: of no elements
};

template <class A>
__device__ __forceinline__ Best<A> shuffle_xor(const Best<A>& a, int lanes) {
  return {shuffle_xor(a.value, lanes), shuffle_xor(a.index, lanes)};
}

template <class A>
struct ArgReduce {
  using In = A;
  using Acc = Best<A>;
  char* values;  // or null
  DType dtype;
  int64_t* indices;
  bool largest;

  __device__ __forceinline__ bool beats(A a, A b) const { return (largest ? a > b : a < b) | ((a != a) & (b == b)); }
  __device__ __forceinline__ Acc identity() const { return {A(0), -1}; }
  __device__ __forceinline__ Acc operator()(const Acc& a, const Acc& b) const {
    if (b.index < 0 || (a.index >= 0 && beats(a.value, b.value))) return a;
    if (a.index < 0 || beats(b.value, a.value)) return b;
    return a.index < b.index ? a : b;
  }
  /// A thread meets its elements in ascending order: an equal one does not displace the one before it.
  __device__ __forceinline__ void add(Acc& acc, A x, int64_t k) const {
    if (acc.index < 0 || beats(x, acc.value)) acc = {x, k};
  }
  template <int V, int N>
  __device__ __forceinline__ void add_all(Acc& acc, const A (&x)[N], int64_t k, int64_t step) const {
#pragma unroll
    for (int i = 0; i < N; ++i) add(acc, x[i], k + i / V * step + i % V);
  }
  __device__ __forceinline__ void store(const Acc& acc, int64_t at) const {
    indices[at] = acc.index;
    if (values) store_as<A>(values, dtype, at, acc.value);
  }
};

template <class A>
ArgReduce<A> arg_reduce_to(const View& values, const View& indices, bool largest) {
  return {static_cast<char*>(values.data), values.dtype, indices.as<int64_t>(), largest};
}

}  // namespace

void arg_reduce_last(GpuContext& ctx, ConstView x, View values, View indices, int reduced, bool largest) {
  const ReducePlan plan(x, indices, reduced, true);
  const char* name = largest ? "argmax" : "argmin";
  if (is_integral(x.dtype)) return reduce_any(ctx, name, arg_reduce_to<int64_t>(values, indices, largest), x, plan);
  if (x.dtype == kFloat64) return reduce_any(ctx, name, arg_reduce_to<double>(values, indices, largest), x, plan);
  const ArgReduce<float> op = arg_reduce_to<float>(values, indices, largest);
  if (plan.packed && x.dtype == kFloat32) reduce_packed<float>(ctx, name, op, x, plan);
  else reduce_any(ctx, name, op, x, plan);
}

}  // namespace tantu
