/// Faults and reports: what went wrong, where, in words that tests compare.
#pragma once
#include "worker.h"

#include <cuda_runtime_api.h>

#include <string>

inline namespace vgpu_abi {
namespace vgpu::rt {

/// Keeps the text for vgpu::last_report(); a fault is printed as well (unless TANTU_QUIET=1).
void report(const std::string& text, bool fault = false);
/// report(), then the error: for rejected calls.
cudaError_t reject(cudaError_t error, const std::string& text);
/// "softmax_rows, block (3,0,0), launched at softmax.cu:88, seed 7".
std::string where(const Worker& worker);
std::string hex(unsigned long long value);
bool same_file(const char* a, const char* b);
/// Drops the lane's pending cp.async and reports them.
void abandon_copies(Worker& worker);
/// Catches SIGSEGV and SIGBUS of kernels and of host code in device memory. Called again and again, since test
/// frameworks and others put their own handlers in front.
void install_handlers();
/// An alternate signal stack for the calling thread, kept for its life.
void use_signal_stack();
/// Stops a block that spins: its thread is interrupted and leaves with error 702.
void interrupt(unsigned long thread);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
