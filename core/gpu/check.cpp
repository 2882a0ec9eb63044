#include <tantu/core/gpu/check.h>

#include <gpu_runtime.h>

#include <algorithm>
#include <array>
#include <string>

namespace tantu::gpu {

namespace {

// The last launches of this thread, a ring.
constexpr size_t kRemembered = 4;
thread_local constinit std::array<LaunchNote, kRemembered> t_launches{};
thread_local constinit size_t t_launched = 0;

// Errors that a kernel leaves behind: every later call of the process on that device gives them again.
bool is_fault(cudaError_t error) {
  constexpr int faults[] = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
  return std::find(std::begin(faults), std::end(faults), static_cast<int>(error)) != std::end(faults);
}

std::string device_name(int device) {
  return Device(kGpuDeviceType, device).to_string();
}

std::string launch_text(const LaunchNote& l) {
  return fmt::format("{} ({} blocks of {} threads, {} bytes of shared memory) on {}, written at {}:{}", l.kernel,
                     l.blocks, l.threads, l.smem, device_name(l.device), l.file, l.line);
}

std::string last_launches(int device) {
  std::string text;
  for (size_t i = 0; i < std::min(t_launched, kRemembered); ++i) {
    const LaunchNote& l = t_launches[(t_launched - 1 - i) % kRemembered];
    if (l.device != device) continue;
    text += fmt::format("\n    {}{}{}", l.kernel, l.op ? fmt::format(" by {}", l.op) : "",
                        l.site ? fmt::format(", called at {}:{}", l.site.file, l.site.line) : "");
  }
  return text.empty() ? "" : "\n  last launches of this thread there, newest first:" + text;
}

// What follows the first line. Reads the thread's current device: errors are met while it is the one that failed.
std::string rest(cudaError_t error, bool with_launches) {
  int device = 0;
  cudaGetDevice(&device);
  const std::string report = device_report();
  std::string text = report.empty() ? "" : "\n  " + report;
  if (is_fault(error)) {
    if (with_launches) text += last_launches(device);
    if (!recover(device))
      text += fmt::format(
          "\n  {} is lost to this process, with all that is stored there: start the process anew. "
          "CUDA_LAUNCH_BLOCKING=1 names the launch that fails",
          device_name(device));
  }
  cudaGetLastError();
  return text;
}

std::string words(cudaError_t error) {
  return fmt::format("{} ({} {})", cudaGetErrorString(error), cudaGetErrorName(error), static_cast<int>(error));
}

}  // namespace

void note_launch(const LaunchNote& launch) {
  t_launches[t_launched++ % kRemembered] = launch;
}

void fail(cudaError_t error, const char* call, const char* file, int line) {
  const std::string text =
      fmt::format("{}: {} at {}:{}{}", call, words(error), file, line, called_at()) + rest(error, true);
  if (error == cudaErrorMemoryAllocation) throw OutOfMemoryError(text);
  throw AcceleratorError(text, static_cast<int>(error));
}

void fail_launch(cudaError_t error, const LaunchNote& l) {
  const std::string text =
      fmt::format("{}: launch of {}: {}{}", l.op ? l.op : l.kernel, launch_text(l), words(error), called_at()) +
      rest(error, false);
  if (error == cudaErrorMemoryAllocation) throw OutOfMemoryError(text);
  throw AcceleratorError(text, static_cast<int>(error));
}

}  // namespace tantu::gpu
