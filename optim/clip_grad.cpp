#include <tantu/optim/clip_grad.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/core/dispatch.h>
#include <tantu/kernels/multi_tensor.h>

#include <algorithm>
#include <cmath>

namespace tantu::optim {

namespace {

// The gradients of one device, each in one run of memory.
struct Gradients {
  Device device;
  TensorList packed;
  std::vector<std::pair<Tensor, Tensor>> copies;  // of those that had to be laid out anew: original, packed

  void add(const Tensor& g) {
    tape::check_inplace("clip_grad_norm_", g);
    packed.push_back(g.contiguous());
    if (!g.is_contiguous()) copies.emplace_back(g, packed.back());
  }

  // The norm of each, in the widest of their floating types but at least float32.
  Tensor norms(double norm_type) const {
    std::vector<ConstView> views;
    DType dtype = kFloat32;
    for (const Tensor& t : packed) {
      views.push_back(t.in());
      if (t.dtype() == kFloat64) dtype = kFloat64;
    }
    Tensor y = empty({static_cast<int64_t>(packed.size())}, {.dtype = dtype, .device = device});
    on_device(device, "clip_grad_norm_", [&](auto& ctx) { norm_each(ctx, views, norm_type, y.out()); });
    return y;
  }

  void scale(const Tensor& factor) {
    std::vector<View> views;
    for (Tensor& t : packed) views.push_back(t.out());
    on_device(device, "clip_grad_norm_", [&](auto& ctx) { scale_each(ctx, views, factor.in()); });
    for (Tensor& t : packed) tape::written(t);
    for (auto& [original, copy] : copies) original.copy_(copy);
  }
};

std::vector<Gradients> gradients_by_device(const TensorList& parameters) {
  std::vector<Gradients> all;
  for (const Tensor& p : parameters) {
    const Tensor g = p.grad();
    if (!g.defined()) continue;
    auto place = std::find_if(all.begin(), all.end(), [&](const Gradients& some) { return some.device == g.device(); });
    if (place == all.end()) place = all.insert(all.end(), Gradients{g.device(), {}, {}});
    place->add(g.detach());
  }
  return all;
}

}  // namespace

Tensor clip_grad_norm_(const TensorList& parameters, double max_norm, double norm_type, bool error_if_nonfinite,
                       Site at) {
  tape::Op op("clip_grad_norm_", at);
  NoGradGuard no_grad;
  std::vector<Gradients> all = gradients_by_device(parameters);
  if (all.empty()) return tensor(0.0);
  Tensor norms = all[0].norms(norm_type);
  for (size_t i = 1; i < all.size(); ++i) norms = cat({norms, all[i].norms(norm_type).to(norms.device())}, 0);
  const Tensor total = norms.norm(norm_type);
  TANTU_CHECK(!error_if_nonfinite || std::isfinite(total.item<double>()), Error,
              "clip_grad_norm_: The total norm of order {} for gradients from `parameters` is non-finite ({}), so it "
              "cannot be clipped",
              norm_type, total.item<double>());
  const Tensor factor = (max_norm / (total + 1e-6)).clamp(std::nullopt, 1.0);
  for (Gradients& some : all) some.scale(factor.to(some.device));
  return total;
}

void clip_grad_value_(const TensorList& parameters, double clip_value, Site at) {
  tape::Op op("clip_grad_value_", at);
  NoGradGuard no_grad;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) g.detach().clamp_(-clip_value, clip_value);
}

}  // namespace tantu::optim
