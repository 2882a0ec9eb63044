/// The worker threads. Worker 0 executes whole sessions of operations; the others help with the blocks of a kernel.
#pragma once
#include "launch.h"
#include "worker.h"

#include <functional>

inline namespace vgpu_abi {
namespace vgpu::rt {

/// Runs the function on worker 0's thread and waits for it; watches for kernels that spin.
void on_worker0(const std::function<void()>& session);
/// From worker 0: runs all blocks of the launch, helped by the other workers.
void run_blocks(Launch& launch);
void resize_pool(int workers);
/// False in a child process made by fork: its worker threads are gone.
bool pool_alive();

}  // namespace vgpu::rt
}  // namespace vgpu_abi
