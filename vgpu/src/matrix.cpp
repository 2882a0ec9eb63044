#include "matrix.h"

#include <mma.h>

#include <bit>
#include <cstring>

#include "fault.h"
#include "launch.h"
#include "runtime.h"

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {
namespace {

template <class T>
T& lane_data(Rendezvous& r, int lane) {
  return *reinterpret_cast<T*>(r.slots[lane].value);
}

float low(unsigned bits, bool bf16) {
  return bf16 ? bfloat16_value(static_cast<uint16_t>(bits)) : half_value(static_cast<uint16_t>(bits));
}

/// d[16][8] += a[16][K] * b[K][8].
template <int K, int N>
void product(float (&d)[16][N], const float (&a)[16][K], const float (&b)[K][N]) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j) d[i][j] += a[i][k] * b[k][j];  // exact products: one rounding, fused or not
}

void mma_16x8x16(Rendezvous& r, bool bf16) {
  float a[16][16], b[16][8], d[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    auto& l = lane_data<MmaLane>(r, lane);
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i)
      for (int h = 0; h < 2; ++h) a[g + 8 * (i & 1)][2 * t + 8 * (i >> 1) + h] = low(l.a[i] >> (16 * h), bf16);
    for (int i = 0; i < 2; ++i)
      for (int h = 0; h < 2; ++h) b[2 * t + 8 * i + h][g] = low(l.b[i] >> (16 * h), bf16);
    for (int i = 0; i < 4; ++i) d[g + 8 * (i >> 1)][2 * t + (i & 1)] = l.c[i];
  }
  product(d, a, b);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) lane_data<MmaLane>(r, lane).d[i] = d[lane / 4 + 8 * (i >> 1)][2 * (lane % 4) + (i & 1)];
}

void mma_16x8x8(Rendezvous& r) {
  float a[16][8], b[8][8], d[16][8];
  auto cut = [](unsigned bits) { return std::bit_cast<float>(bits & 0xffffe000u); };
  for (int lane = 0; lane < 32; ++lane) {
    auto& l = lane_data<MmaLane>(r, lane);
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) a[g + 8 * (i & 1)][t + 4 * (i >> 1)] = cut(l.a[i]);
    for (int i = 0; i < 2; ++i) b[t + 4 * i][g] = cut(l.b[i]);
    for (int i = 0; i < 4; ++i) d[g + 8 * (i >> 1)][2 * t + (i & 1)] = l.c[i];
  }
  product(d, a, b);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) lane_data<MmaLane>(r, lane).d[i] = d[lane / 4 + 8 * (i >> 1)][2 * (lane % 4) + (i & 1)];
}

void wmma(Rendezvous& r) {
  float a[16][16], b[16][16], d[16][16];
  const uint8_t *map_a = wmma_map(Fragment::a), *map_b = wmma_map(Fragment::b),
                *map_d = wmma_map(Fragment::accumulator);
  for (int lane = 0; lane < 32; ++lane) {
    auto& l = lane_data<WmmaLane>(r, lane);
    for (int s = 0; s < 8; ++s) {
      int at = lane * 8 + s;
      a[map_a[at] / 16][map_a[at] % 16] = low(static_cast<const uint16_t*>(l.a)[s], l.bf16);
      b[map_b[at] / 16][map_b[at] % 16] = low(static_cast<const uint16_t*>(l.b)[s], l.bf16);
      d[map_d[at] / 16][map_d[at] % 16] = static_cast<const float*>(l.c)[s];
    }
  }
  product(d, a, b);
  for (int lane = 0; lane < 32; ++lane)
    for (int s = 0; s < 8; ++s) {
      int at = lane * 8 + s;
      static_cast<float*>(lane_data<WmmaLane>(r, lane).d)[s] = d[map_d[at] / 16][map_d[at] % 16];
    }
}

void ldmatrix_rows(Rendezvous& r, int count, bool transposed) {
  uint16_t tile[4][8][8];
  for (int lane = 0; lane < 8 * count; ++lane)
    std::memcpy(tile[lane / 8][lane % 8], &lane_data<LdmatrixLane>(r, lane).row, 16);
  for (int lane = 0; lane < 32; ++lane)
    for (int m = 0; m < count; ++m) {
      int row = lane / 4, col = 2 * (lane % 4);
      unsigned first = transposed ? tile[m][col][row] : tile[m][row][col];
      unsigned second = transposed ? tile[m][col + 1][row] : tile[m][row][col + 1];
      lane_data<LdmatrixLane>(r, lane).out[m] = first | second << 16;
    }
}

struct Maps {
  uint64_t seed;
  uint8_t use[3][256];
};

void shuffle_maps(Maps& maps, uint64_t seed) {
  maps.seed = seed;
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 12345;
  for (auto& map : maps.use) {
    for (int i = 0; i < 256; ++i) map[i] = static_cast<uint8_t>(i);
    for (int i = 255; i > 0; --i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      std::swap(map[i], map[(state >> 33) % static_cast<unsigned>(i + 1)]);
    }
  }
}

}  // namespace

void compute_matrix(Rendezvous& r) {
  if (r.arrived != 0xffffffffu)
    tl_worker->fault(719, [&] {
      return std::string(op_name(r.op)) + " at " + place(r.site) + " needs all 32 lanes; here are " + hex(r.arrived) +
             " in " + where(*tl_worker);
    });
  for (int lane = 1; lane < 32; ++lane)
    if (r.slots[lane].arg != r.slots[0].arg)
      tl_worker->fault(719, [&] {
        return std::string("lanes disagree about the shape of ") + op_name(r.op) + " at " + place(r.site);
      });
  int arg = r.slots[0].arg;
  if (r.op == WarpOp::ldmatrix) return ldmatrix_rows(r, arg & 15, (arg & 16) != 0);
  switch (static_cast<MmaKind>(arg)) {
    case MmaKind::f16: return mma_16x8x16(r, false);
    case MmaKind::bf16: return mma_16x8x16(r, true);
    case MmaKind::tf32: return mma_16x8x8(r);
    case MmaKind::wmma: return wmma(r);
  }
}

}  // namespace rt

using namespace rt;

const uint8_t* wmma_map(Fragment use) {
  static thread_local Maps maps = {~0ull, {}};
  if (uint64_t seed = tl_worker->launch->seed; maps.seed != seed) shuffle_maps(maps, seed);
  return maps.use[static_cast<int>(use)];
}

void check_wmma(const void* ptr, unsigned ld, size_t element, const char* file, int line) {
  check_alignment(ptr, 32, file, line);
  unsigned unit = element == 2 ? 8 : 4;
  if (ld % unit)
    tl_worker->fault(719, [&] {
      return "WMMA leading dimension " + std::to_string(ld) + " at " + place({file, line}) + " is not a multiple of " +
             std::to_string(unit) + " in " + where(*tl_worker);
    });
}

void check_shared(const void* ptr, size_t alignment, const char* file, int line) {
  check_alignment(ptr, alignment, file, line);
  if (device_of(ptr))
    tl_worker->fault(719, [&] {
      return "ldmatrix of global memory at " + place({file, line}) + " in " + where(*tl_worker);
    });
}

}  // namespace vgpu
}  // namespace vgpu_abi
