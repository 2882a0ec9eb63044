/// Twins of ldmatrix and mma.sync with the exact lane layouts, for arch.cuh. All 32 lanes must take part.
/// With g = lane/4, t = lane%4. m16n8k16: A register i holds row g+8*(i&1), columns 2t+8*(i>>1)+{0,1}; B register i
/// holds k = 2t+8i+{0,1}, column g; D[i] is row g+8*(i>>1), column 2t+(i&1). m16n8k8 (tf32): A[i] is row g+8*(i&1),
/// column t+4*(i>>1); B[i] is k = t+4i, column g; D as before. Float accumulation, k ascending.
#pragma once
#include <vgpu/warp.h>

inline namespace vgpu_abi {
namespace vgpu {

enum class MmaKind : int { f16, bf16, tf32, wmma };

struct MmaLane {
  unsigned a[4], b[2];
  float c[4], d[4];
};
struct LdmatrixLane {
  uint4 row;
  unsigned out[4];
};
/// Error 719 unless the pointer can be shared memory; 716 unless 16-byte aligned.
VGPU_API void check_shared(const void* ptr, size_t alignment, const char* file, int line);

/// d = a * b + c of the whole warp. tf32 inputs lose their low 13 bits (use cvt.rna first). c and d may be the same.
inline void mma(MmaKind kind, float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], const float (&c)[4],
                VGPU_HERE) {
  MmaLane lane = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {c[0], c[1], c[2], c[3]}, {}};
  warp_collective(WarpOp::mma, 0xffffffffu, reinterpret_cast<uint64_t>(&lane), static_cast<int>(kind), 32, file, line);
  for (int i = 0; i < 4; ++i) d[i] = lane.d[i];
}

/// ldmatrix.xN(.trans): lane 8m+r gives the address of row r of tile m. Each lane reads its own row, here in the
/// kernel's code, so that sanitizers see it.
template <int N>
inline void ldmatrix(unsigned (&out)[N], const void* row, bool transposed, VGPU_HERE) {
  static_assert(N == 1 || N == 2 || N == 4);
  LdmatrixLane lane = {};
  if (lane_id() < 8 * N) {
    check_shared(row, 16, file, line);
    lane.row = *static_cast<const uint4*>(row);
  }
  warp_collective(WarpOp::ldmatrix, 0xffffffffu, reinterpret_cast<uint64_t>(&lane), N | (transposed ? 16 : 0), 32, file,
                  line);
  for (int i = 0; i < N; ++i) out[i] = lane.out[i];
}

}  // namespace vgpu
}  // namespace vgpu_abi
