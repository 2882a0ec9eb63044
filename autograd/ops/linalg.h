#pragma once

#include <tantu/core/tensor.h>

namespace tantu {

/// The matrix product in every rank combination of PyTorch: (n)·(n) → (), (m,k)·(k) → (m), (k)·(k,n) → (n),
/// (…,m,k)·(…,k,n) → (…,m,n) with the leading dimensions broadcast.
Tensor matmul(const Tensor& a, const Tensor& b, Site at = Site::here());

}  // namespace tantu
