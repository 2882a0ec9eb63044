/// Warp collectives. Lanes meet at a rendezvous inside the runtime; an absent or exited source lane gives poison.
#pragma once
#include <vgpu/device.h>

#include <cstring>
#include <type_traits>

inline namespace vgpu_abi {

namespace vgpu {
/// `sync` orders memory; the others do not (the race checker knows).
enum class WarpOp : int {
  sync,
  shfl_idx,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  all,
  any,
  match_any,
  match_all,
  add_u,
  add_s,
  min_u,
  min_s,
  max_u,
  max_s,
  and_b,
  or_b,
  xor_b,
  ldmatrix,
  mma,
  pointers
};
/// One lane's part in a collective of the lanes in `mask`. `arg` is the source lane, delta or lane mask of a shuffle
/// with segments of `width`. Returns the lane's result.
VGPU_API uint64_t warp_collective(WarpOp op, unsigned mask, uint64_t value, int arg, int width, const char* file,
                                  int line);

template <class T>
VGPU_INLINE uint64_t shuffle_bits(T value) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
VGPU_INLINE T shuffle(WarpOp op, unsigned mask, T value, int arg, int width, const char* file, int line) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = warp_collective(op, mask, shuffle_bits(value), arg, width, file, line);
  T result;
  __builtin_memcpy(&result, &bits, sizeof(T));
  return result;
}
}  // namespace vgpu

template <class T>
VGPU_INLINE T __shfl_sync(unsigned mask, T value, int src, int width = 32, VGPU_HERE) {
  return vgpu::shuffle(vgpu::WarpOp::shfl_idx, mask, value, src, width, file, line);
}
template <class T>
VGPU_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, VGPU_HERE) {
  return vgpu::shuffle(vgpu::WarpOp::shfl_up, mask, value, static_cast<int>(delta), width, file, line);
}
template <class T>
VGPU_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, VGPU_HERE) {
  return vgpu::shuffle(vgpu::WarpOp::shfl_down, mask, value, static_cast<int>(delta), width, file, line);
}
template <class T>
VGPU_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, VGPU_HERE) {
  return vgpu::shuffle(vgpu::WarpOp::shfl_xor, mask, value, lane_mask, width, file, line);
}

VGPU_INLINE void __syncwarp(unsigned mask = 0xffffffffu, VGPU_HERE) {
  vgpu::warp_collective(vgpu::WarpOp::sync, mask, 0, 0, 32, file, line);
}
VGPU_INLINE unsigned __ballot_sync(unsigned mask, int predicate, VGPU_HERE) {
  return static_cast<unsigned>(vgpu::warp_collective(vgpu::WarpOp::ballot, mask, predicate != 0, 0, 32, file, line));
}
VGPU_INLINE int __all_sync(unsigned mask, int predicate, VGPU_HERE) {
  return static_cast<int>(vgpu::warp_collective(vgpu::WarpOp::all, mask, predicate != 0, 0, 32, file, line));
}
VGPU_INLINE int __any_sync(unsigned mask, int predicate, VGPU_HERE) {
  return static_cast<int>(vgpu::warp_collective(vgpu::WarpOp::any, mask, predicate != 0, 0, 32, file, line));
}

template <class T>
VGPU_INLINE unsigned __match_any_sync(unsigned mask, T value, VGPU_HERE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return static_cast<unsigned>(
      vgpu::warp_collective(vgpu::WarpOp::match_any, mask, vgpu::shuffle_bits(value), 0, 32, file, line));
}
template <class T>
VGPU_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all_equal, VGPU_HERE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  unsigned lanes = static_cast<unsigned>(
      vgpu::warp_collective(vgpu::WarpOp::match_all, mask, vgpu::shuffle_bits(value), 0, 32, file, line));
  *all_equal = lanes != 0;
  return lanes;
}

#define VGPU_REDUCE(name, type, op)                                                                      \
  VGPU_INLINE type name(unsigned mask, type value, VGPU_HERE) {                                          \
    return static_cast<type>(                                                                            \
        vgpu::warp_collective(vgpu::WarpOp::op, mask, static_cast<unsigned>(value), 0, 32, file, line)); \
  }
VGPU_REDUCE(__reduce_add_sync, unsigned, add_u)
VGPU_REDUCE(__reduce_add_sync, int, add_s)
VGPU_REDUCE(__reduce_min_sync, unsigned, min_u)
VGPU_REDUCE(__reduce_min_sync, int, min_s)
VGPU_REDUCE(__reduce_max_sync, unsigned, max_u)
VGPU_REDUCE(__reduce_max_sync, int, max_s)
VGPU_REDUCE(__reduce_and_sync, unsigned, and_b)
VGPU_REDUCE(__reduce_or_sync, unsigned, or_b)
VGPU_REDUCE(__reduce_xor_sync, unsigned, xor_b)
#undef VGPU_REDUCE

/// Convergence is not modelled, so there is no honest answer: always an error (719).
VGPU_INLINE unsigned __activemask(VGPU_HERE) {
  vgpu::device_fault(719, "__activemask: convergence is not modelled; pass the mask that you mean", file, line);
}

}  // namespace vgpu_abi
