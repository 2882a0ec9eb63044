#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// The rows of `weight` (V, D) that `input` names: input (P…) int64 or int32 → (P…, D). The row `padding_idx` (negative
/// counts from the end) gets no gradient; `scale_grad_by_freq` divides each row's gradient by how often it was named.
/// Gradients repeat bit for bit. IndexError for an index outside of [0, V), with its position.
Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx = {},
                 bool scale_grad_by_freq = false, Site at = Site::here());

}  // namespace tantu
