/// cp.async. A copy is queued by its thread and performed only at the wait that requires it; until then its
/// destination holds poison, so a missing wait shows under every schedule.
#pragma once
#include <vgpu/device.h>

inline namespace vgpu_abi {
namespace vgpu {

struct AsyncCopy {
  void* dst;
  const void* src;
  int bytes, valid;  ///< bytes past `valid` become zero
};
/// Checks size (4, 8 or 16) and alignment (error 716), then queues.
VGPU_API void queue_copy(const AsyncCopy& copy, const char* file, int line);
VGPU_API void commit_copies();
/// The thread's next copy of all groups but the `pending` newest (all of them, committed or not, if pending < 0).
VGPU_API bool next_copy(int pending, AsyncCopy* copy);

namespace detail {
template <class W>
VGPU_INLINE void copy_words(const AsyncCopy& c) {
  const int step = static_cast<int>(sizeof(W));
  for (int i = 0; i < c.bytes; i += step) {
    W* dst = reinterpret_cast<W*>(static_cast<char*>(c.dst) + i);
    *dst = i < c.valid ? *reinterpret_cast<const W*>(static_cast<const char*>(c.src) + i) : W{};
  }
}
}  // namespace detail

/// Copies `valid` (0 to bytes) bytes of global memory and zeroes the rest of the `bytes` (4, 8 or 16) at dst in shared.
/// The memory is touched here, in the kernel's own code, so that sanitizers see it.
inline void cp_async(void* dst, const void* src, int bytes, int valid, VGPU_HERE) {
  queue_copy({dst, src, bytes, valid}, file, line);
  for (int i = 0; i < bytes; i += 4) *reinterpret_cast<unsigned*>(static_cast<char*>(dst) + i) = 0xffffffffu;
}
VGPU_INLINE void cp_async_commit() {
  commit_copies();
}
/// Waits for all groups but the `pending` newest; -1: for everything (cp.async.wait_all).
inline void cp_async_wait(int pending) {
  AsyncCopy c;
  while (next_copy(pending, &c)) {
    if (c.valid % 4 == 0) detail::copy_words<unsigned>(c);
    else detail::copy_words<unsigned char>(c);
  }
}

}  // namespace vgpu
}  // namespace vgpu_abi
