#pragma once

#include <tantu/kernels/strided.cuh>

#include <type_traits>

// Loads of elements whose dtype is known at compile time, in the type they are computed in.
namespace tantu {
namespace {

template <DType D>
using Compute = std::conditional_t<D == kFloat64, double, float>;

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

/// Calls f.operator()<D>() with the floating dtype t.
template <class F>
void visit_typed(DType t, F&& f) {
  if (t == kFloat64) f.template operator()<DType::Float64>();
  else if (t == kFloat16) f.template operator()<DType::Float16>();
  else if (t == kBFloat16) f.template operator()<DType::BFloat16>();
  else f.template operator()<DType::Float32>();
}

}  // namespace
}  // namespace tantu
