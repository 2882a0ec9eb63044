#pragma once

#include <tantu/core/gpu/blocking.h>
#include <tantu/core/gpu/device_scope.h>
#include <tantu/core/gpu/index_report.h>
#include <tantu/core/trace.h>
#include <tantu/kernels/arch.cuh>

#include <gpu_target.h>

#include <cstdint>
#include <utility>

namespace tantu {
namespace {

/// A kernel's name and, by itself, the place of its launch.
struct LaunchName {
  const char* text;
  const char* file;
  int line;
  LaunchName(const char* name, const char* at = __builtin_FILE(), int at_line = __builtin_LINE())
      : text(name), file(at), line(at_line) {}
};

/// The one way to launch a kernel. Only `blocks` (gridDim.x) may carry a size that depends on data; the caller has made
/// sure that there is something to do. Throws AcceleratorError with the operation, the launch and the caller's line
/// when the launch is refused; with CUDA_LAUNCH_BLOCKING=1 also when it fails.
template <class... Params, class... Args>
void launch(const GpuContext& ctx, LaunchName name, void (*kernel)(Params...), int64_t blocks, int threads, size_t smem,
            Args&&... args) {
  TANTU_CHECK(blocks > 0 && blocks <= INT32_MAX, ShapeError, "{}: a grid of {} blocks is out of range", name.text,
              blocks);
  if (trace::enabled())
    trace::record({trace::Kind::Launch, name.text, Device(kGpuDeviceType, ctx.device), blocks * threads});
  const gpu::LaunchNote note{name.text, ctx.op,    ctx.device,          blocks, threads, smem,
                             name.file, name.line, SiteScope::current()};
  gpu::note_launch(note);
  const gpu::DeviceScope device(ctx.device);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = smem;
  config.stream = static_cast<cudaStream_t>(ctx.stream);
  arch::launch_site(name.file, name.line, ctx.op, note.site);
  cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Params>(std::forward<Args>(args))...);
  const bool waits = error == cudaSuccess && gpu::launch_blocking();
  if (waits) error = gpu::wait_for_launch(ctx.device, ctx.stream);
  if (error != cudaSuccess) gpu::fail_launch(error, note);
  if (waits) gpu::throw_reported_index(ctx.device);
}

/// Blocks of `threads` that cover n elements, at most `most`: kernels go on by the grid's stride.
inline int64_t blocks_for(int64_t n, int threads, int64_t most = 4096) {
  const int64_t blocks = (n + threads - 1) / threads;
  return blocks < most ? blocks : most;
}

}  // namespace
}  // namespace tantu
