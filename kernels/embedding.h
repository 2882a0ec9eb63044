#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// What an IndexError says of {0} op, {1} value, {2} position, {3} rows.
inline constexpr const char* kEmbeddingOutOfRange =
    "{0}: index out of range in self: index {1} at position {2}, {3} embeddings";

/// y (P…, D) = rows of weight (V, D) named by index (P…): int64 or int32, any strides. weight: any dtype, contiguous; y
/// the same, contiguous. IndexError for an index outside of [0, V), naming the first and its position; on a
/// GPU thrown by the next call that waits for the device, naming one of them, and their rows are zero. Does not
/// synchronize.
TANTU_KERNEL(embedding_forward, ConstView index, ConstView weight, View y);

/// dweight (V, D) = for each row the sum of the g (P…, D) that were read from it, rounded once: on the CPU in float64,
/// in order of position, on a GPU in float32 (float64 for float64), in the order of `index_put`; 0 for `padding` (-1:
/// none). `by_frequency` divides each sum by the number of its terms. g, dweight contiguous, of one floating type. The
/// indices have been checked by the forward pass. Deterministic; does not synchronize.
TANTU_KERNEL(embedding_backward, ConstView g, ConstView index, int64_t padding, bool by_frequency, View dweight);

}  // namespace tantu
