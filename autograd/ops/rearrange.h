#pragma once

#include <tantu/core/tensor.h>

#include <string_view>
#include <vector>

/// Copies with the elements elsewhere. Fresh, row-major results; differentiable to any order.
namespace tantu {

/// x counts[d] times along each dimension; surplus leading counts add dimensions. ShapeError for too few or negative
/// counts.
Tensor repeat(const Tensor& x, const Dims& counts, Site at = Site::here());
/// The given dimensions in reverse order.
Tensor flip(const Tensor& x, const Dims& dims, Site at = Site::here());
/// Elements moved `shifts[i]` on along dims[i]; what leaves at one end enters at the other. Without dims x is rolled as
/// one vector.
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims = {}, Site at = Site::here());
/// The last two dimensions' lower triangle, zeros elsewhere: column - row <= diagonal.
Tensor tril(const Tensor& x, int64_t diagonal = 0, Site at = Site::here());
/// The last two dimensions' upper triangle, zeros elsewhere: column - row >= diagonal.
Tensor triu(const Tensor& x, int64_t diagonal = 0, Site at = Site::here());
/// x with pads[0] elements before and pads[1] after the last dimension, pads[2], pads[3] for the one before, …;
/// negative pads cut. Mode "constant" fills with `value`; "reflect" mirrors without the edge, "replicate" repeats the
/// edge, "circular" wraps round.
Tensor pad(const Tensor& x, const std::vector<int64_t>& pads, std::string_view mode = "constant", double value = 0,
           Site at = Site::here());

}  // namespace tantu
