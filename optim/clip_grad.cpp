#include <tantu/optim/clip_grad.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

#include <cmath>

namespace tantu::optim {

Tensor clip_grad_norm_(const TensorList& parameters, double max_norm, double norm_type, bool error_if_nonfinite,
                       Site at) {
  tape::Op op("clip_grad_norm_", at);
  NoGradGuard no_grad;
  TensorList norms;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) norms.push_back(g.detach().norm(norm_type).reshape({1}));
  if (norms.empty()) return tensor(0.0);
  const Tensor total = cat(norms, 0).norm(norm_type);
  TANTU_CHECK(!error_if_nonfinite || std::isfinite(total.item<double>()), Error,
              "clip_grad_norm_: The total norm of order {} for gradients from `parameters` is non-finite ({}), so it "
              "cannot be clipped",
              norm_type, total.item<double>());
  const Tensor factor = (max_norm / (total + 1e-6)).clamp(std::nullopt, 1.0);
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) g.detach().mul_(factor);
  return total;
}

void clip_grad_value_(const TensorList& parameters, double clip_value, Site at) {
  tape::Op op("clip_grad_value_", at);
  NoGradGuard no_grad;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) g.detach().clamp_(-clip_value, clip_value);
}

}  // namespace tantu::optim
