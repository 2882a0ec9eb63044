/// The virtual GPU's own controls, for tests and for core. Nothing here exists in CUDA.
#pragma once
#include <vgpu/runtime_types.h>

#include <stdexcept>
#include <string>
#include <vector>

inline namespace vgpu_abi {
namespace vgpu {

/// A bad environment variable or control string: names the variable, its value and what is allowed.
struct VGPU_API ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
  ~ConfigError() override;
};

/// Schedule seed of later launches: 0 in order, else random and replayable.
VGPU_API void set_seed(uint64_t seed);
VGPU_API uint64_t seed();
/// Number of OS threads that run blocks (1..64).
VGPU_API void set_workers(int count);
VGPU_API int workers();
/// Later launches execute only these blocks of their grids (negative: counted from the last, -1; those that a grid has
/// not are left out), so that the last block of a grid over more memory than there is can be looked at. Empty: all.
VGPU_API void run_only_blocks(std::vector<int64_t> blocks);
VGPU_API void set_guard(bool on);
VGPU_API void set_watchdog(double seconds);
/// Text of the last fault, misuse or rejected call, "" if none; the whole process.
VGPU_API std::string last_report();
VGPU_API void clear_report();
/// Forgets a device's sticky error and keeps its memory, streams and events: what a process on silicon can't do without
/// losing all of them. False for a device that does not exist.
VGPU_API bool clear_error(int device);
/// Fault injection: the text of TANTU_VGPU_FAIL, e.g. "cudaMalloc@3,cudaLaunchKernelEx@5:719"; "" clears and
/// restarts the counters. Throws ConfigError on malformed text.
VGPU_API void fail(const std::string& spec);
/// How many injections have fired since the last fail().
VGPU_API long injected();
/// Tells the memory checker which bytes inside an allocation a caching allocator has handed out.
VGPU_API void mark_block(const void* ptr, size_t bytes, bool live);
/// Like cudaStreamQuery, but never runs anything.
VGPU_API cudaError_t peek_stream(cudaStream_t stream);
VGPU_API cudaError_t peek_event(cudaEvent_t event);
/// Whether the runtime found a sanitizer in this process.
VGPU_API bool under_asan();
VGPU_API bool under_tsan();
/// The kernels launched so far, by their demangled names.
VGPU_API std::vector<std::string> launched_kernels();
/// Operations executed so far, all devices.
VGPU_API uint64_t operations();

}  // namespace vgpu
}  // namespace vgpu_abi
