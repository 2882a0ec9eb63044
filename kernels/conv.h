#pragma once

#include <tantu/core/context.h>
#include <tantu/core/view.h>

namespace tantu {

/// How a filter walks over its input; each pair is (height, width).
struct ConvRule {
  int64_t stride[2], padding[2], dilation[2];
  int64_t groups;
};

/// The three sides of one trilinear form: with x (N,C,H,W), w (O,C/groups,R,S), y (N,O,P,Q),
///
///     y[n,o,p,q] = bias[o] + Σ_{c,r,s} w[o,c,r,s] · x[n, c of o's group, p·stride - padding + r·dilation, the same for
///     q and s]
///
/// where x is 0 outside of its plane; the gradients of x and w are the same sum over the other indices. As a transposed
/// convolution the gradient of x has a bias too, (C). A bias may be without data. One floating dtype, all contiguous.
/// Half types compute in float32 and round once. Sums have an order of their own (deterministic, whatever the threads).
/// The caller has checked the shapes. A sum without a term is 0. None synchronizes. On a GPU 1x1 filters of one group
/// are a matrix product, under `set_matmul_backend` and `set_float32_matmul_precision` as such.
TANTU_KERNEL(conv_forward, ConstView x, ConstView w, ConstView bias, View y, const ConvRule& rule);
TANTU_KERNEL(conv_backward_input, ConstView g, ConstView w, ConstView bias, View dx, const ConvRule& rule);
TANTU_KERNEL(conv_backward_weight, ConstView g, ConstView x, View dw, const ConvRule& rule);

/// The sizes of a convolution under short names.
struct ConvSizes {
  int64_t N, C, H, W;  // x
  int64_t O, R, S;     // w
  int64_t P, Q;        // y
  ConvRule rule;
  int64_t channels, filters;  // of one group: in x, in w
  int64_t patch;              // elements of x that meet one filter: channels · R · S
  int64_t positions;          // P · Q

  ConvSizes(const Shape& x, const Shape& w, const Shape& y, const ConvRule& r)
      : N(x[0]),
        C(x[1]),
        H(x[2]),
        W(x[3]),
        O(w[0]),
        R(w[2]),
        S(w[3]),
        P(y[2]),
        Q(y[3]),
        rule(r),
        channels(C / r.groups),
        filters(O / r.groups),
        patch(channels * R * S),
        positions(P * Q) {}
};

/// 1x1 filters without stride or padding: a plane is its own matrix of patches.
inline bool is_product(const ConvSizes& c) {
  return c.R == 1 && c.S == 1 && c.rule.stride[0] == 1 && c.rule.stride[1] == 1 && c.rule.padding[0] == 0 &&
         c.rule.padding[1] == 0;
}

}  // namespace tantu
