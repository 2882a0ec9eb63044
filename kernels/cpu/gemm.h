#pragma once

#include <cstdint>

namespace tantu::cpu {

/// C = alpha * A B + beta * C, for float and double.
///
/// Element (i, k) of A lies at A[i * a_rs + k * a_cs], (k, j) of B at B[k * b_rs + j * b_cs], (i, j) of C at
/// C[i * c_rs + j]. A is M x K, B is K x N, C is M x N. The strides of A and B are any numbers of elements (a transpose
/// is two strides swapped; 0 and negative ones are legal); C must not overlap A or B, nor its rows each other.
///
/// - M or N == 0: nothing is touched. K == 0: C = beta * C.
/// - beta == 0: C is written and never read, so a NaN there vanishes.
/// - NaN and infinities go through as IEEE arithmetic says, also by alpha == 0 (0 * inf is NaN), and no zero is
/// skipped.
/// - The sums are formed in T, each product fused with its addition where the target has such an instruction. Their
///   order is a function of M, N, K and the strides alone: the bits do not depend on the number of threads.
/// - Runs on the thread pool (core/thread_pool.h) if the product is worth it, and serially inside a parallel section.
///
/// The method is Goto's: panels of A and B are packed so that the innermost loop reads both with unit stride, and the
/// loops around it are cut so that a panel of A stays in the L1 cache and a slice of B in the L2 cache.
/// Source: K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34 (3), 2008.
template <class T>
void gemm(int64_t M, int64_t N, int64_t K, T alpha, const T* A, int64_t a_rs, int64_t a_cs, const T* B, int64_t b_rs,
          int64_t b_cs, T beta, T* C, int64_t c_rs);

extern template void gemm(int64_t, int64_t, int64_t, float, const float*, int64_t, int64_t, const float*, int64_t,
                          int64_t, float, float*, int64_t);
extern template void gemm(int64_t, int64_t, int64_t, double, const double*, int64_t, int64_t, const double*, int64_t,
                          int64_t, double, double*, int64_t);

}  // namespace tantu::cpu
