#pragma once

#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/copy.h>

/// What the operations that write through indices share.
namespace tantu {

/// Runs `add(y)`, which adds many values into y, in float32 if y is of a half type: its sums round once.
template <class F>
void accumulate_in(const char* op, Tensor& y, F add) {
  if (!is_half(y.dtype())) return add(y);
  Tensor wide = y.detach().to(kFloat32);
  add(wide);
  on_device(y.device(), op, [&](auto& ctx) { copy(ctx, std::as_const(wide).in(), y.out()); });
}

/// `source`, or a copy of it if it shares y's storage: what is written must not change what is read.
inline Tensor apart_from(const Tensor& y, const Tensor& source) {
  return source.impl().storage.get() == y.impl().storage.get() ? source.clone() : source;
}

}  // namespace tantu
