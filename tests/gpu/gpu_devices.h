#pragma once

#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/gpu.h>

#include <vector>

namespace tantu {

/// The GPUs of this process, virtual ones included; says that the test was skipped if there is none.
inline std::vector<Device> gpu_devices() {
  std::vector<Device> gpus;
  for (Device d : devices())
    if (!d.is_cpu() && d.index() == 0) gpus.push_back(d);
  if (gpus.empty()) skip_test("no GPU (a virtual one: TANTU_VGPU_DEVICES=1)");
  return gpus;
}

/// The same numbers on `device`, `offset` elements into an allocation: not aligned to vectors unless that divides.
inline Tensor placed(const Tensor& x, Device device, int64_t offset) {
  Tensor whole = zeros({x.numel() + offset}, {.dtype = x.dtype(), .device = device});
  Tensor part = whole.narrow(0, offset, x.numel()).view(x.sizes());
  part.copy_(x.to(device));
  return part;
}

}  // namespace tantu
