#pragma once

#include <tantu/tests/ops/array.h>

#include <string>

namespace tantu::optest {

/// What differs between a tensor and its float64 reference, or "". NaN matches only NaN, an infinity only its own sign,
/// by position; else `!(|got - want| <= tolerance * max(1, |want|))` fails. `want` is first rounded to got's dtype
/// where that turns it into an infinity or, for integers, wraps it. Shapes must be equal.
std::string difference(const Array& want, const Tensor& got, double tolerance);
/// The same for two tensors, bit for bit where `tolerance` is 0 (but 0 equals -0, and NaN any NaN).
std::string difference(const Tensor& want, const Tensor& got, double tolerance);

}  // namespace tantu::optest
