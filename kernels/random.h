#pragma once

#include <tantu/core/context.h>
#include <tantu/core/generator.h>
#include <tantu/core/view.h>

/// Random fills: what PyTorch's CPU generator gives, to the bit and to the number of draws. The floating part is one
/// definition everywhere: a fused step is a written std::fma, all else rounds once an operation; compiled without
/// contraction. Outputs of any strides are visited in memory order; the op has checked that no two elements share a
/// cell. An empty output draws nothing. The caller holds the generator (`GeneratorLock`) and has checked the arguments.
namespace tantu {

/// y = fma(u, to - from, from), u in [0, 1): float32 has 24 random bits, float64 53 (two words), float16 11,
/// bfloat16 8.
TANTU_CPU_KERNEL(random_uniform, View y, double from, double to, Generator& generator);

/// y = mean + std * standard normal (Box-Muller). Fewer than 16 elements, or not contiguous: in double, pairwise, and a
/// spare value stays in the generator. Else in blocks of 16, float32 with the polynomials of kernels/cpu/box_muller.h.
TANTU_CPU_KERNEL(random_normal, View y, double mean, double std, Generator& generator);

/// y = low + word % range, converted to y's dtype; one word if range < 2^32, else two. range >= 1.
TANTU_CPU_KERNEL(random_integers, View y, int64_t low, uint64_t range, Generator& generator);

/// All integers that y's dtype holds from 0 on; for floating types 0 … 2^(mantissa bits).
TANTU_CPU_KERNEL(random_full_range, View y, Generator& generator);

/// y = 1 with probability p, else 0; any dtype. Two words an element, compared in double.
TANTU_CPU_KERNEL(random_bernoulli, View y, double p, Generator& generator);

/// y = 1 with probability p's element; p and y of one shape. One word an element, compared in float; float64 p: two, in
/// double.
TANTU_CPU_KERNEL(random_bernoulli_each, ConstView p, View y, Generator& generator);

/// y = -log(1 - u) / lambda, in double, then rounded. Two words an element.
TANTU_CPU_KERNEL(random_exponential, View y, double lambda, Generator& generator);

/// y (n) contiguous int64 = 0 … n-1 shuffled (Fisher-Yates from the front): n - 1 words. n < 2^32.
TANTU_CPU_KERNEL(random_permutation, View y, Generator& generator);

/// y (rows, samples) contiguous int64 = categories drawn with the weights of p (rows, categories), floating, any
/// strides. With replacement, or a single sample aside: search in the running sum, two words a sample. Otherwise: the
/// largest weight / exponential first, two words a category. Every row has a positive sum and, without replacement, at
/// least `samples` weights above zero.
TANTU_CPU_KERNEL(random_multinomial, ConstView p, View y, bool replacement, Generator& generator);

}  // namespace tantu
