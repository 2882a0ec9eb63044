#pragma once

#include <tantu/core/tensor.h>

/// Convolutions: floating types, gradients of every order. `bias` (O) may be undefined. Inputs without the batch
/// dimension are taken as a batch of one. ShapeError with the sizes where they do not fit; ValueError for a stride or
/// dilation below 1 or a negative padding.
namespace tantu {

/// (height, width), or one number for both.
struct Pair {
  int64_t h, w;
  Pair(int64_t both) : h(both), w(both) {}
  Pair(int64_t height, int64_t width) : h(height), w(width) {}
};

/// x (N,C,L), weight (O,C/groups,K) → (N,O,(L + 2·padding - dilation·(K - 1) - 1) / stride + 1).
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1, int64_t padding = 0,
              int64_t dilation = 1, int64_t groups = 1, Site at = Site::here());
/// x (N,C,H,W), weight (O,C/groups,R,S) → (N,O,P,Q), each of P, Q as in conv1d.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Pair stride = 1, Pair padding = 0,
              Pair dilation = 1, int64_t groups = 1, Site at = Site::here());
/// What conv1d does to gradients: x (N,C,L), weight (C,O/groups,K) →
/// (N,O,(L - 1)·stride - 2·padding + dilation·(K - 1) + output_padding + 1).
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1,
                        int64_t padding = 0, int64_t output_padding = 0, int64_t groups = 1, int64_t dilation = 1,
                        Site at = Site::here());
/// x (N,C,H,W), weight (C,O/groups,R,S) → (N,O,P,Q), each of P, Q as in conv_transpose1d.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Pair stride = 1,
                        Pair padding = 0, Pair output_padding = 0, int64_t groups = 1, Pair dilation = 1,
                        Site at = Site::here());

}  // namespace tantu
