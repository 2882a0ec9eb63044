#pragma once

#include <tantu/core/context.h>
#include <tantu/core/generator.h>
#include <tantu/core/view.h>

#include <optional>

/// Random fills: what PyTorch's CPU generator gives, to the bit and to the number of draws. The floating part is one
/// definition everywhere: a fused step is a written std::fma, all else rounds once an operation; compiled without
/// contraction. Outputs of any strides are visited in memory order; the op has checked that no two elements share a
/// cell. An empty output draws nothing. The caller holds the generator (`GeneratorLock`) and has checked the arguments.
///
/// On a GPU: kernels/philox.h. Each fill adds `kPhiloxStep` to the generator's offset; element i, in row-major order,
/// has subsequence i (dropout: i / 4), whatever the strides, so a value depends on (seed, offset, i) alone. Compute is
/// in float32, for float64 in float64 from two words a uniform number, u = (53 bits + 1/2) · 2^-53. None synchronizes
/// but `first_outside`.
namespace tantu {

/// y = fma(u, to - from, from), u in [0, 1): float32 has 24 random bits, float64 53 (two words), float16 11,
/// bfloat16 8.
TANTU_KERNEL(random_uniform, View y, double from, double to, Generator& generator);

/// y = mean + std * standard normal (Box-Muller). Fewer than 16 elements, or not contiguous: in double, pairwise, and a
/// spare value stays in the generator. Else in blocks of 16, float32 with the polynomials of kernels/cpu/box_muller.h.
TANTU_KERNEL(random_normal, View y, double mean, double std, Generator& generator);

/// y = low + word % range, converted to y's dtype; one word if range < 2^32, else two. range >= 1.
TANTU_KERNEL(random_integers, View y, int64_t low, uint64_t range, Generator& generator);

/// All integers that y's dtype holds from 0 on; for floating types 0 … 2^(mantissa bits).
TANTU_KERNEL(random_full_range, View y, Generator& generator);

/// y = 1 with probability p, else 0; any dtype. Two words an element, compared in double.
TANTU_KERNEL(random_bernoulli, View y, double p, Generator& generator);

/// y = 1 with probability p's element; p and y of one shape. One word an element, compared in float; float64 p: two, in
/// double.
TANTU_KERNEL(random_bernoulli_each, ConstView p, View y, Generator& generator);

/// y = 1 / keep with probability keep, else 0: what dropout multiplies by; floating. On the CPU two words an element,
/// as `random_bernoulli`.
TANTU_KERNEL(random_dropout, View y, double keep, Generator& generator);

/// y = -log(1 - u) / lambda, in double, then rounded. Two words an element.
TANTU_KERNEL(random_exponential, View y, double lambda, Generator& generator);

/// y (n) contiguous int64 = 0 … n-1 shuffled (Fisher-Yates from the front): n - 1 words. n < 2^32. On a GPU: sorted by
/// 64 random bits each.
TANTU_KERNEL(random_permutation, View y, Generator& generator);

/// y (rows, samples) contiguous int64 = categories drawn with the weights of p (rows, categories), floating, any
/// strides. With replacement, or a single sample aside: search in the running sum, two words a sample. Otherwise: the
/// largest weight / exponential first, two words a category. Every row has a positive sum and, without replacement, at
/// least `samples` weights above zero.
TANTU_KERNEL(random_multinomial, ConstView p, View y, bool replacement, Generator& generator);

/// The first element of x, floating, in row-major order, that is not within [low, high]: NaN never is. Synchronizes.
TANTU_KERNEL(first_outside, ConstView x, double low, double high, std::optional<double>& found);

}  // namespace tantu
