#pragma once

#include <tantu/kernels/packed.cuh>
#include <tantu/kernels/strided.cuh>

#include <type_traits>

// Loads of elements whose dtype is known at compile time, in the type they are computed in.
namespace tantu {
namespace {

template <DType D>
using Compute = compute_t<Stored<D>>;

/// One contiguous operand; may be absent.
template <DType D>
struct Reader {
  const char* data;
  __device__ __forceinline__ Compute<D> operator()(int64_t i) const { return load_as<Compute<D>>(data, D, i); }
  __device__ __forceinline__ Compute<D> or_else(Compute<D> value, int64_t i) const { return data ? (*this)(i) : value; }
};
template <DType D, class V>
Reader<D> reader(const V& v) {
  return {static_cast<const char*>(v.data)};
}

/// Whether rows of n elements from `data` on can be read in packs; nothing can where there is no data.
template <DType D>
bool fits_packs(const void* data, int64_t n) {
  return n % kPerVector<Stored<D>> == 0 && reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

/// Elements i … i + V - 1: one, or a pack. `otherwise` where the operand is absent.
template <int V, DType D>
__device__ __forceinline__ void load_some(const Reader<D>& x, int64_t i, Compute<D> (&values)[V],
                                          Compute<D> otherwise = 0) {
  Packed<Stored<D>> pack;
  if (V > 1 && x.data)
    pack = *reinterpret_cast<const Packed<Stored<D>>*>(x.data + i * static_cast<int64_t>(sizeof(Stored<D>)));
#pragma unroll
  for (int e = 0; e < V; ++e) values[e] = V == 1 ? x.or_else(otherwise, i) : x.data ? widened(pack.v[e]) : otherwise;
}

template <int V, DType D>
__device__ __forceinline__ void store_some(char* y, int64_t i, const Compute<D> (&values)[V]) {
  if constexpr (V == 1) {
    store_as<Compute<D>>(y, D, i, values[0]);
  } else {
    Packed<Stored<D>> pack;
#pragma unroll
    for (int e = 0; e < V; ++e) pack.v[e] = narrowed<Stored<D>>(values[e]);
    *reinterpret_cast<Packed<Stored<D>>*>(y + i * static_cast<int64_t>(sizeof(Stored<D>))) = pack;
  }
}

/// Calls f(i, V) for this thread's share of [0, n) in a group: V, a constant, is how many elements from i on.
template <class Group, DType D, class F>
__device__ __forceinline__ void each(int64_t n, bool packs, F f) {
  constexpr int kPack = kPerVector<Stored<D>>;
  if (packs)
    for (int64_t i = Group::lane() * kPack; i < n; i += Group::kThreads * kPack)
      f(i, std::integral_constant<int, kPack>());
  else
    for (int64_t i = Group::lane(); i < n; i += Group::kThreads) f(i, std::integral_constant<int, 1>());
}

}  // namespace
}  // namespace tantu
