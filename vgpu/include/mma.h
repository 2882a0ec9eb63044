/// The virtual GPU's stand-in for CUDA's header of this name: WMMA 16x16x16, half and bfloat16 into float. Which lane
/// holds which element is unspecified on hardware, so here it is a permutation that depends on the seed.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vgpu/matrix.h>

inline namespace vgpu_abi {

namespace vgpu {
enum class Fragment : int { a, b, accumulator };
/// Element number (row * 16 + column) of each (lane * 8 + slot).
VGPU_API const uint8_t* wmma_map(Fragment use);
VGPU_API void check_wmma(const void* ptr, unsigned ld, size_t element, const char* file, int line);
struct WmmaLane {
  const void *a, *b, *c;
  void* d;
  int bf16;
};
}  // namespace vgpu

namespace nvcuda::wmma {

struct matrix_a {
  static constexpr auto use = vgpu::Fragment::a;
};
struct matrix_b {
  static constexpr auto use = vgpu::Fragment::b;
};
struct accumulator {
  static constexpr auto use = vgpu::Fragment::accumulator;
};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16, "only 16x16x16");
  static constexpr int num_elements = 8;
  using element_type = T;
  T x[8];
};

template <class Use, class T, class L>
VGPU_INLINE void fill_fragment(fragment<Use, 16, 16, 16, T, L>& f, T value) {
  for (T& x : f.x) x = value;
}

namespace detail {
/// Calls f(slot, offset in memory) for this lane's elements.
template <class Use, class F>
VGPU_INLINE void each(bool row, unsigned ld, F f) {
  const uint8_t* map = vgpu::wmma_map(Use::use) + 8 * vgpu::lane_id();
  for (int slot = 0; slot < 8; ++slot) {
    unsigned r = map[slot] / 16u, c = map[slot] % 16u;
    f(slot, row ? static_cast<size_t>(r) * ld + c : static_cast<size_t>(c) * ld + r);
  }
}
template <class L>
constexpr bool is_row = false;
template <>
inline constexpr bool is_row<row_major> = true;
}  // namespace detail

template <class Use, class T, class L>
inline void load_matrix_sync(fragment<Use, 16, 16, 16, T, L>& f, const T* ptr, unsigned ld, VGPU_HERE) {
  vgpu::check_wmma(ptr, ld, sizeof(T), file, line);
  detail::each<Use>(detail::is_row<L>, ld, [&](int slot, size_t at) { f.x[slot] = ptr[at]; });
  __syncwarp(0xffffffffu, file, line);
}
template <class T>
inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, T>& f, const T* ptr, unsigned ld, layout_t layout,
                             VGPU_HERE) {
  vgpu::check_wmma(ptr, ld, sizeof(T), file, line);
  detail::each<accumulator>(layout == mem_row_major, ld, [&](int slot, size_t at) { f.x[slot] = ptr[at]; });
  __syncwarp(0xffffffffu, file, line);
}
template <class T>
inline void store_matrix_sync(T* ptr, const fragment<accumulator, 16, 16, 16, T>& f, unsigned ld, layout_t layout,
                              VGPU_HERE) {
  vgpu::check_wmma(ptr, ld, sizeof(T), file, line);
  detail::each<accumulator>(layout == mem_row_major, ld, [&](int slot, size_t at) { ptr[at] = f.x[slot]; });
  __syncwarp(0xffffffffu, file, line);
}
/// d = a * b + c; float accumulation, k ascending.
template <class T, class LA, class LB>
inline void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const fragment<matrix_a, 16, 16, 16, T, LA>& a,
                     const fragment<matrix_b, 16, 16, 16, T, LB>& b, const fragment<accumulator, 16, 16, 16, float>& c,
                     VGPU_HERE) {
  static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>);
  vgpu::WmmaLane lane = {a.x, b.x, c.x, d.x, std::is_same_v<T, __nv_bfloat16>};
  vgpu::warp_collective(vgpu::WarpOp::mma, 0xffffffffu, reinterpret_cast<uint64_t>(&lane),
                        static_cast<int>(vgpu::MmaKind::wmma), 32, file, line);
}

}  // namespace nvcuda::wmma
}  // namespace vgpu_abi
