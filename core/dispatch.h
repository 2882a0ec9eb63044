#pragma once

#include <tantu/config.h>
#include <tantu/core/backend.h>
#include <tantu/core/context.h>
#include <tantu/core/current.h>
#include <tantu/core/trace.h>

#include <utility>

namespace tantu {

/// Runs `f(ctx)` with the context of `device`, on its current stream: the one place that knows which targets this build
/// holds. Host memory that a kernel does not find is an OutOfMemoryError naming `op`.
template <class F>
void on_device(Device device, const char* op, F&& f) {
  if (trace::enabled()) trace::record({trace::Kind::Op, op, device});
  switch (device.type()) {
    case DeviceType::CPU: {
      CpuContext ctx;
      return in_host_memory(op, [&] { std::forward<F>(f)(ctx); });
    }
#if TANTU_HAS_VGPU
    case DeviceType::VGPU: {
      VgpuContext ctx{{device.index(), gpu::current_stream_handle(device), op}};
      return in_host_memory(op, [&] { std::forward<F>(f)(ctx); });
    }
#endif
#if TANTU_HAS_CUDA
    case DeviceType::CUDA: {
      CudaContext ctx{{device.index(), gpu::current_stream_handle(device), op}};
      return in_host_memory(op, [&] { std::forward<F>(f)(ctx); });
    }
#endif
    default: backend_of(op, device);
  }
}

}  // namespace tantu
