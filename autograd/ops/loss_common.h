#pragma once

#include <tantu/core/tensor.h>
#include <tantu/kernels/cross_entropy.h>

#include <string>

namespace tantu {

/// The reduction a word means. ValueError naming the choices.
Reduction parse_reduction(const char* op, const std::string& word);
/// Losses per element brought together.
Tensor reduced(const Tensor& losses, Reduction reduction);

}  // namespace tantu
