#pragma once

#include <tantu/kernels/axis_lines.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/max_sum.cuh>

// How softmax and its gradient go through the lines along one dimension.
namespace tantu {
namespace {

inline constexpr int kSoftmaxThreads = 256;
inline constexpr int kSoftmaxMost = 1024;  // threads of a block that holds one line

/// How many threads share a line that a team of them can hold, and the threads of the block.
struct SoftmaxTeam {
  int team, threads;

  SoftmaxTeam(int64_t n, int per_vector, int vectors_of_a_thread) {
    const int64_t held = int64_t{per_vector} * vectors_of_a_thread;
    if (n <= 1024 && n <= 32 * held) {
      const int64_t wanted = power_above((n + per_vector - 1) / per_vector);
      team = static_cast<int>(wanted < 32 ? wanted : 32);
      threads = kSoftmaxThreads;
    } else {
      const int64_t full = power_above((n + held - 1) / held);
      team = threads = static_cast<int>(full < 128 ? 128 : full);
    }
  }
  int64_t blocks(int64_t lines) const { return blocks_for(lines, threads / team, 65535); }
};

/// A block of `width` neighbouring lines by kSoftmaxThreads / width threads that share each of them.
inline int softmax_width(int64_t lines, int64_t n) {
  const int64_t shared_by = power_below(n < 4 ? 1 : n < 32 ? n / 4 : 8);
  const int64_t width = kSoftmaxThreads / shared_by;
  return static_cast<int>(lines < width ? power_above(lines) : width);
}

}  // namespace
}  // namespace tantu
