#pragma once

#include <tantu/core/dtype.h>

/// A line of elements `stride` apart, packed into an array of a compute type and back. The functions are picked once a
/// call, so that the loops around them know neither the dtype nor its template.
namespace tantu::cpu {

using LoadLine = void (*)(const void* from, int64_t stride, int64_t n, void* to);
using StoreLine = void (*)(const void* from, int64_t n, void* to, int64_t stride);

/// Reads a line of `from` into C: float, double or int64_t by value, uint8_t as its truth (0 or 1).
template <class C>
LoadLine load_line(DType from);
/// Writes an array of C (float, double, int64_t, or uint8_t holding 0 and 1) as `to`, rounding once.
template <class C>
StoreLine store_line(DType to);

extern template LoadLine load_line<float>(DType);
extern template LoadLine load_line<double>(DType);
extern template LoadLine load_line<int64_t>(DType);
extern template LoadLine load_line<uint8_t>(DType);
extern template StoreLine store_line<float>(DType);
extern template StoreLine store_line<double>(DType);
extern template StoreLine store_line<int64_t>(DType);
extern template StoreLine store_line<uint8_t>(DType);

/// Whether elements of `t` are C's as they lie in memory.
template <class C>
bool is_stored_as(DType t) {
  if constexpr (std::is_same_v<C, uint8_t>) return t == kBool;
  else return t == dtype_of<C>;
}

}  // namespace tantu::cpu
