#pragma once

#include <tantu/autograd/ops/copy.h>
#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/tape.h>

/// What the view operations share.
namespace tantu {

/// A view of x with this geometry; `backward(g, sizes of x)` takes the gradient back.
template <class F>
Tensor view_of(const Tensor& x, const char* grad_name, const Shape& sizes, const Strides& strides, int64_t offset,
               F backward) {
  Tensor y = make_view(x.impl().storage, x.dtype(), sizes, strides, offset);
  tape::note_view(y, x);
  if (tape::wants(x))
    tape::record(grad_name, {&y}, {x}, {},
                 [from = x.sizes(), backward](tape::Backward& b) { return TensorList{backward(b.grad(), from)}; });
  return y;
}

/// Zeros of shape `whole` with `part` written where `view` shows: the gradient of `view`. Differentiable.
template <class F>
Tensor embed(const char* grad_name, const Tensor& part, const Shape& whole, F view) {
  Tensor y = zeros(whole, {.dtype = part.dtype(), .device = part.device()});
  {
    NoGradGuard no_grad;
    view(y).copy_(part);
  }
  if (tape::wants(part))
    tape::record(grad_name, {&y}, {part}, {}, [view](tape::Backward& b) { return TensorList{view(b.grad())}; });
  return y;
}

/// The gradient of a base tensor with this geometry from `g`, the gradient of one strided picture of its storage.
/// Elements shown more than once get the sum. Differentiable.
Tensor as_strided_backward(const Tensor& g, const Shape& base_sizes, const Strides& base_strides, int64_t base_offset,
                           const Shape& sizes, const Strides& strides, int64_t offset);

}  // namespace tantu
