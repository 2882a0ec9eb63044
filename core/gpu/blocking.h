#pragma once

#include <tantu/core/context.h>
#include <tantu/core/sync.h>

#include <cuda_runtime.h>

// The one place that calls what makes the host wait for a device (a test reads the sources for such calls elsewhere).
// Each call passes SyncScope, throws AcceleratorError for what failed on the device, and IndexError for what its
// kernels reported. The device is made current by the caller.
namespace tantu::gpu {

/// Whether the host waits after every launch: CUDA_LAUNCH_BLOCKING=1.
bool launch_blocking();

void wait_for_device(int device);
/// For the allocator: what failed on the device, and what its kernels reported, is left for the next call that waits.
void wait_for_memory(SyncReason reason, int device) noexcept;
void wait_for_stream(SyncReason reason, int device, void* stream, int64_t bytes = 0);
void wait_for_event(int device, void* event);
/// Without throwing: the error of the work, which is the caller's to tell.
cudaError_t wait_for_launch(int device, void* stream);

/// Puts the copy into the stream and waits until it is done.
void copy_to_host(SyncReason reason, const GpuContextBase& ctx, void* to, const void* from, int64_t bytes);
void copy_to_device(const GpuContextBase& ctx, void* to, const void* from, int64_t bytes);

/// Gives memory back to the driver, which waits for the device first. An error there belongs to an earlier launch: the
/// next call that waits tells it.
void free_memory(int device, void* block) noexcept;

}  // namespace tantu::gpu
