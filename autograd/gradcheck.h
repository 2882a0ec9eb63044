#pragma once

#include <tantu/autograd/node.h>

namespace tantu {

/// A function of tensors whose gradients are to be checked.
using TensorFunction = std::function<TensorList(const TensorList&)>;

/// Compares the gradients that backward gives with central differences (f(x + eps) - f(x - eps)) / 2 eps, for every
/// floating output of `fn` and every input that requires grad: |analytical - numerical| <= atol + rtol * |numerical|,
/// NaN fails. Inputs should be float64 leaves; `fn` must not depend on anything that changes between calls.
/// AutogradError naming output, input, position and both values where they differ; where a second backward over the
/// same graph gives other values; where no input requires grad.
bool gradcheck(const TensorFunction& fn, const TensorList& inputs, double eps = 1e-6, double atol = 1e-5,
               double rtol = 1e-3, Site at = Site::here());

/// The same for the gradients of the gradients: checks grad(fn(inputs), inputs, v) as a function of the inputs and of
/// v, which is drawn at random when `grad_outputs` is empty.
bool gradgradcheck(const TensorFunction& fn, const TensorList& inputs, const TensorList& grad_outputs = {},
                   double eps = 1e-6, double atol = 1e-5, double rtol = 1e-3, Site at = Site::here());

}  // namespace tantu
