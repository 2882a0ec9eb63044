#pragma once

#include <tantu/core/tensor.h>

#include <string_view>
#include <vector>

/// Products of matrices. Operands share one dtype (not bool); float16 and bfloat16 sum in float32 and round once,
/// integers wrap. No operand is copied for being transposed. DTypeError, DeviceError for unequal operands; ShapeError
/// with both shapes.
namespace tantu {

/// The matrix product in every rank combination of PyTorch: (n)·(n) → (), (m,k)·(k) → (m), (k)·(k,n) → (n),
/// (…,m,k)·(…,k,n) → (…,m,n) with the leading dimensions broadcast.
Tensor matmul(const Tensor& a, const Tensor& b, Site at = Site::here());
/// (m,k)·(k,n) → (m,n), without broadcasting.
Tensor mm(const Tensor& a, const Tensor& b, Site at = Site::here());
/// (b,m,k)·(b,k,n) → (b,m,n), without broadcasting.
Tensor bmm(const Tensor& a, const Tensor& b, Site at = Site::here());
/// (m,k)·(k) → (m).
Tensor mv(const Tensor& a, const Tensor& v, Site at = Site::here());
/// The sum of products of two vectors of one length.
Tensor dot(const Tensor& a, const Tensor& b, Site at = Site::here());
/// (m), (n) → (m,n): every product.
Tensor outer(const Tensor& a, const Tensor& b, Site at = Site::here());
/// The cross product a × b of lines of 3 elements along `dim`, as torch.linalg.cross; the other dimensions broadcast.
Tensor cross(const Tensor& a, const Tensor& b, int64_t dim = -1, Site at = Site::here());
/// beta * input + alpha * (a · b), (m,k)·(k,n); input broadcasts to (m,n). With beta == 0 input's values do not count,
/// NaN included; with alpha == 0 those of a and b do not. Integers take the whole part of alpha and beta.
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1,
             Site at = Site::here());
/// The same for each of a batch, (b,m,k)·(b,k,n), but a and b always count.
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1,
               Site at = Site::here());
/// x · weightᵀ + bias: x (…, in), weight (out, in) or (in), bias undefined or broadcast to (…, out). One matrix product
/// forward and one for each gradient asked for; contiguous operands are not copied.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Site at = Site::here());

/// A sum of products in index notation: `einsum("bik,bkj->bij", {x, y})`. Letters name dimensions; a letter absent from
/// the result is summed over; twice in one operand: its diagonal; "..." stands for leading dimensions, which broadcast.
/// Without "->" the result has the letters that occur once, in alphabetical order. Operands are contracted from the
/// left, each pair as one `bmm`. ValueError for a malformed equation, ShapeError for sizes that differ.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Site at = Site::here());

}  // namespace tantu
