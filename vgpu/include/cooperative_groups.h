/// The virtual GPU's stand-in for CUDA's header of this name: thread blocks and tiles of up to 32 threads.
/// Grid-wide and cluster groups do not exist here; coalesced groups would need convergence, which is not modelled.
#pragma once
#include <cuda_runtime.h>

inline namespace vgpu_abi {
namespace cooperative_groups {

class thread_block {
 public:
  void sync(VGPU_HERE) const { __syncthreads(file, line); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
};
inline thread_block this_thread_block() {
  return {};
}

template <unsigned Size>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0);

 public:
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned thread_rank() const { return vgpu::lane_id() % Size; }
  unsigned meta_group_rank() const { return thread_block::thread_rank() / Size; }
  unsigned meta_group_size() const { return (thread_block::size() + Size - 1) / Size; }
  void sync(VGPU_HERE) const { __syncwarp(mask(), file, line); }
  template <class T>
  T shfl(T v, int src, VGPU_HERE) const {
    return __shfl_sync(mask(), v, src, Size, file, line);
  }
  template <class T>
  T shfl_up(T v, unsigned delta, VGPU_HERE) const {
    return __shfl_up_sync(mask(), v, delta, Size, file, line);
  }
  template <class T>
  T shfl_down(T v, unsigned delta, VGPU_HERE) const {
    return __shfl_down_sync(mask(), v, delta, Size, file, line);
  }
  template <class T>
  T shfl_xor(T v, unsigned lanes, VGPU_HERE) const {
    return __shfl_xor_sync(mask(), v, static_cast<int>(lanes), Size, file, line);
  }
  unsigned ballot(int predicate, VGPU_HERE) const { return __ballot_sync(mask(), predicate, file, line) >> shift(); }
  int any(int predicate, VGPU_HERE) const { return __any_sync(mask(), predicate, file, line); }
  int all(int predicate, VGPU_HERE) const { return __all_sync(mask(), predicate, file, line); }

 private:
  static unsigned shift() { return vgpu::lane_id() / Size * Size; }
  static unsigned mask() { return (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1u) << shift(); }
};
template <unsigned Size>
thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}

}  // namespace cooperative_groups
}  // namespace vgpu_abi
