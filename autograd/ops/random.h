#pragma once

#include <tantu/core/tensor.h>

/// Random tensors. With the same seed and the same calls in the same order the CPU gives PyTorch's values, bit for bit,
/// and leaves the stream where PyTorch leaves it. `generator` absent: the device's default one; DeviceError for one of
/// another device. A call that throws, or whose result is empty, has drawn nothing. In-place forms are methods of
/// Tensor. On a GPU the values are those of kernels/philox.h; calls that take probabilities or deviations as a tensor
/// wait for the device, for they check them.
namespace tantu {

/// Uniform in [0, 1). float32 unless told; floating types only.
Tensor rand(const Shape& sizes, const TensorOptions& options = {}, std::optional<Generator> generator = {},
            Site at = Site::here());
/// `rand` of x's sizes, dtype, device and order in memory.
Tensor rand_like(const Tensor& x, std::optional<Generator> generator = {}, Site at = Site::here());
/// Standard normal. float32 unless told; floating types only.
Tensor randn(const Shape& sizes, const TensorOptions& options = {}, std::optional<Generator> generator = {},
             Site at = Site::here());
/// `randn` of x's sizes, dtype, device and order in memory.
Tensor randn_like(const Tensor& x, std::optional<Generator> generator = {}, Site at = Site::here());
/// Integers of [low, high); int64 unless told. ValueError if high <= low or the dtype cannot hold a bound.
Tensor randint(int64_t low, int64_t high, const Shape& sizes, const TensorOptions& options = {},
               std::optional<Generator> generator = {}, Site at = Site::here());
/// Integers of [0, high).
Tensor randint(int64_t high, const Shape& sizes, const TensorOptions& options = {},
               std::optional<Generator> generator = {}, Site at = Site::here());
/// 0 … n-1 in random order; int64 unless told.
Tensor randperm(int64_t n, const TensorOptions& options = {}, std::optional<Generator> generator = {},
                Site at = Site::here());

/// 1 with the probability of p's element (floating, in [0, 1]), else 0, in p's dtype. Its gradient is zero.
Tensor bernoulli(const Tensor& p, std::optional<Generator> generator = {}, Site at = Site::here());
/// 1 with probability `p`, else 0, in x's sizes and dtype; x's values do not count.
Tensor bernoulli(const Tensor& x, double p, std::optional<Generator> generator = {}, Site at = Site::here());
/// mean + std * standard normal, of the shape both broadcast to. ValueError for a negative or NaN std. Gradients are
/// zero.
Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> generator = {}, Site at = Site::here());
Tensor normal(const Tensor& mean, double std = 1, std::optional<Generator> generator = {}, Site at = Site::here());
Tensor normal(double mean, const Tensor& std, std::optional<Generator> generator = {}, Site at = Site::here());
Tensor normal(double mean, double std, const Shape& sizes, const TensorOptions& options = {},
              std::optional<Generator> generator = {}, Site at = Site::here());
/// `samples` categories per row of the weights p (n) or (rows, n), which need not sum to 1: int64, (samples) or
/// (rows, samples). ValueError for a negative or non-finite weight, a row that sums to zero, or, without replacement, a
/// row with fewer non-zero weights than samples.
Tensor multinomial(const Tensor& p, int64_t samples, bool replacement = false, std::optional<Generator> generator = {},
                   Site at = Site::here());

}  // namespace tantu
