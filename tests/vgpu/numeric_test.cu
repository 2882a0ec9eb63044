// Conformance of what kernels compute with: shuffles, 16-bit floats, cp.async, ldmatrix, mma, WMMA.
#include "vgpu_test.h"

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cmath>
#include <limits>

using namespace vgpu_test;

namespace {

template <class T>
T* dynamic() {
  return static_cast<T*>(vgpu::dynamic_shared());
}

__global__ void shuffle_table(int* out, unsigned mask, int width, int arg) {
  unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1u)) return;
  int v = 100 + static_cast<int>(lane);
  out[lane] = __shfl_sync(mask, v, arg, width);
  out[32 + lane] = __shfl_up_sync(mask, v, static_cast<unsigned>(arg), width);
  out[64 + lane] = __shfl_down_sync(mask, v, static_cast<unsigned>(arg), width);
  out[96 + lane] = __shfl_xor_sync(mask, v, arg, width);
  out[128 + lane] = static_cast<int>(__ballot_sync(mask, lane % 3 == 0));
  out[160 + lane] = __all_sync(mask, lane < 40) * 10 + __any_sync(mask, lane == 1);
  out[192 + lane] = __reduce_add_sync(mask, static_cast<int>(lane) - 5);
  out[224 + lane] = __reduce_min_sync(mask, static_cast<int>(lane) - 5);
  out[256 + lane] = static_cast<int>(__match_any_sync(mask, lane / 5));
}

/// The documented result of a shuffle; -1 when the source takes no part (poison).
int expected(int kind, unsigned mask, int lane, int width, int arg) {
  int first = lane / width * width, last = first + width - 1, from = lane;
  if (kind == 0) from = first + ((arg % width) + width) % width;
  if (kind == 1) from = lane - arg < first ? lane : lane - arg;
  if (kind == 2) from = lane + arg > last ? lane : lane + arg;
  if (kind == 3) from = (lane ^ arg) > last ? lane : lane ^ arg;
  return mask >> from & 1u ? 100 + from : -1;
}

}  // namespace

TEST_CASE("shuffles and votes for every width and many masks") {
  each_schedule(2, 1, [] {
    Buffer<int> out(288);
    for (unsigned mask : {0xffffffffu, 0x0000ffffu, 0x55555555u, 0x80000001u, 0x00ff0f07u})
      for (int width : {1, 2, 4, 8, 16, 32})
        for (int arg : {0, 1, 3, 8, 17, 31}) {
          CUDA_OK(cudaMemset(out, 0, 288 * 4));
          CUDA_OK(launch(shuffle_table, 1, 32, out, mask, width, arg));
          auto v = out.get();
          INFO("mask " << mask << " width " << width << " arg " << arg);
          unsigned votes = 0, same;
          int sum = 0, least = 1000;
          for (int l = 0; l < 32; ++l)
            if (mask >> l & 1u) {
              votes |= l % 3 == 0 ? 1u << l : 0u;
              sum += l - 5;
              least = std::min(least, l - 5);
            }
          for (int l = 0; l < 32; ++l) {
            if (!(mask >> l & 1u)) continue;
            for (int kind = 0; kind < 4; ++kind) REQUIRE(v[kind * 32 + l] == expected(kind, mask, l, width, arg));
            REQUIRE(static_cast<unsigned>(v[128 + l]) == votes);
            REQUIRE(v[160 + l] == 10 + ((mask >> 1 & 1u) ? 1 : 0));
            REQUIRE(v[192 + l] == sum);
            REQUIRE(v[224 + l] == least);
            same = 0;
            for (int o = 0; o < 32; ++o)
              if ((mask >> o & 1u) && o / 5 == l / 5) same |= 1u << o;
            REQUIRE(static_cast<unsigned>(v[256 + l]) == same);
          }
        }
  });
}

TEST_CASE("16-bit floats: every pattern, halfway cases, one rounding") {
  for (unsigned i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint16_t>(i);
    float h = std::bit_cast<__half>(bits), b = std::bit_cast<__nv_bfloat16>(bits);
    bool half_back =
        h == h ? __half(h).bits == bits && __half(static_cast<double>(h)).bits == bits : std::isnan(float(__half(h)));
    bool bfloat_back = b == b ? __nv_bfloat16(b).bits == bits : std::isnan(float(__nv_bfloat16(b)));
    REQUIRE(half_back);
    REQUIRE(bfloat_back);
    if (h != h || std::isinf(h) || i >= 0x7bff) continue;
    float next = std::bit_cast<__half>(static_cast<uint16_t>(i + 1)), middle = (h + next) / 2;
    REQUIRE(__half(middle).bits == (i & 1u ? i + 1 : i));
    REQUIRE(__half(std::nextafter(middle, 1e9f)).bits == i + 1);
    REQUIRE(__half(std::nextafter(middle, -1e9f)).bits == i);
    REQUIRE(vgpu::half_bits_soft(std::nextafter(middle, 1e9f)) == i + 1);
  }
  REQUIRE(__half(65519.0f).bits == 0x7bff);
  REQUIRE(__half(65520.0f).bits == 0x7c00);
  REQUIRE(__half(-1e10f).bits == 0xfc00);
  REQUIRE(__nv_bfloat16(1.0f + 0x1p-8f).bits == 0x3f80);          // halfway, to even
  REQUIRE(__nv_bfloat16(1.0 + 0x1p-8 + 0x1p-40).bits == 0x3f81);  // a double just above it
  REQUIRE(__nv_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  __half2 pair = __floats2half2_rn(1.5f, -2.0f);
  REQUIRE(float(__hfma2(pair, pair, pair).x) == 3.75f);
  REQUIRE(std::isnan(float(__half(0.0f) / __half(0.0f))));
}

// cp.async -----------------------------------------------------------------------------------------------------------
namespace {
__global__ void pipeline(const float* in, float* out, int tiles, int wait) {
  float* s = dynamic<float>();  // two stages of 128 floats
  auto fetch = [&](int tile) {
    if (tile < tiles)
      __pipeline_memcpy_async(s + tile % 2 * 128 + 4 * threadIdx.x, in + tile * 128 + 4 * threadIdx.x, 16);
    __pipeline_commit();
  };
  fetch(0);
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    if (wait) __pipeline_wait_prior(1);
    __syncthreads();
    for (int i = 0; i < 4; ++i) sum += s[tile % 2 * 128 + (4 * threadIdx.x + i + 4) % 128];
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  out[threadIdx.x] = sum;
}
__global__ void zero_fill(const float* in, float* out) {
  float* s = dynamic<float>();
  vgpu::cp_async(s + 4 * threadIdx.x, in, 16, 8);
  vgpu::cp_async_wait(-1);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = s[4 * threadIdx.x + i];
}
__global__ void bad_copy(const float* in, float* out) {
  vgpu::cp_async(dynamic<float>(), in + 1, 16, 16);
  vgpu::cp_async_wait(-1);
  out[0] = dynamic<float>()[0];
}
__global__ void forgotten(const float* in) {
  vgpu::cp_async(dynamic<float>(), in, 16, 16);
  vgpu::cp_async_commit();
}
}  // namespace

TEST_CASE("B6: cp.async lands at its wait and not before") {
  each_schedule(10, 2, [] {
    auto v = random_values(4 * 128);
    Buffer<float> in(v), out(32);
    CUDA_OK(launch_on(nullptr, pipeline, 1, 32, 1024, in, out, 4, 1));
    auto r = out.get();
    for (int t = 0; t < 32; ++t) {
      float sum = 0;
      for (int tile = 0; tile < 4; ++tile)
        for (int i = 0; i < 4; ++i) sum += v[tile * 128 + (4 * t + i + 4) % 128];
      REQUIRE(r[t] == sum);
    }
    if (!vgpu::under_tsan()) {
      CUDA_OK(launch_on(nullptr, pipeline, 1, 32, 1024, in, out, 4, 0));
      for (float x : out.get()) REQUIRE(std::isnan(x));
    }
    Buffer<float> filled(16);
    CUDA_OK(launch_on(nullptr, zero_fill, 1, 4, 64, in, filled));
    auto f = filled.get();
    REQUIRE(f[1] == v[1]);
    REQUIRE(f[2] == 0.0f);
  });
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  vgpu::clear_report();
  CUDA_OK(launch_on(nullptr, forgotten, 1, 1, 64, p));
  CUDA_OK(cudaDeviceSynchronize());
  REQUIRE(has(vgpu::last_report(), "cp.async never waited for in"));
  CUDA_OK(launch_on(nullptr, bad_copy, 1, 1, 64, p, p));
  CUDA_IS(cudaDeviceSynchronize(), 716);
  REQUIRE(has(vgpu::last_report(), "misaligned 16-byte access at numeric_test.cu:"));
  reset_device();
}

// ldmatrix and mma ---------------------------------------------------------------------------------------------------
namespace {
/// c[16][8] = a[16][16] * b[16][8], all row-major; operands through ldmatrix (b transposed).
template <class T>
__global__ void mma_tile(const T* a, const T* b, float* c) {
  T* s = dynamic<T>();
  for (unsigned i = threadIdx.x; i < 384; i += 32) s[i] = i < 256 ? a[i] : b[i - 256];
  __syncthreads();
  unsigned lane = threadIdx.x, ra[4], rb[2];
  vgpu::ldmatrix(ra, s + (lane % 16) * 16 + lane / 16 * 8, false);
  vgpu::ldmatrix(rb, s + 256 + lane % 16 * 8, true);
  float zero[4] = {0, 0, 0, 0}, d[4];
  vgpu::mma(std::is_same_v<T, __half> ? vgpu::MmaKind::f16 : vgpu::MmaKind::bf16, d, ra, rb, zero);
  for (int i = 0; i < 4; ++i) c[(lane / 4 + 8 * (i >> 1)) * 8 + 2 * (lane % 4) + (i & 1)] = d[i];
}
__global__ void mma_tf32(const float* a, const float* b, float* c) {  // a[16][8], b[8][8]
  unsigned g = threadIdx.x / 4, t = threadIdx.x % 4, ra[4], rb[2];
  for (unsigned i = 0; i < 4; ++i) ra[i] = __float_as_uint(a[(g + 8 * (i & 1)) * 8 + t + 4 * (i >> 1)]);
  for (unsigned i = 0; i < 2; ++i) rb[i] = __float_as_uint(b[(t + 4 * i) * 8 + g]);
  float zero[4] = {0, 0, 0, 0}, d[4];
  vgpu::mma(vgpu::MmaKind::tf32, d, ra, rb, zero);
  for (unsigned i = 0; i < 4; ++i) c[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = d[i];
}
__global__ void partial_mma(float* out) {
  if (threadIdx.x == 7) return;
  unsigned a[4] = {}, b[2] = {};
  float zero[4] = {}, d[4];
  vgpu::mma(vgpu::MmaKind::f16, d, a, b, zero);
  out[threadIdx.x] = d[0];
}

template <class T>
void check_mma(bool one_hot) {
  auto va = random_values(256), vb = random_values(128);
  if (one_hot)
    for (size_t i = 0; i < 256; ++i) va[i] = i == 16 * 5 + 9;
  std::vector<T> a(va.begin(), va.end()), b(vb.begin(), vb.end());
  Buffer<T> da(a), db(b);
  Buffer<float> dc(128);
  CUDA_OK(launch_on(nullptr, mma_tile<T>, 1, 32, 768, da, db, dc));
  auto c = dc.get();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = 0;
      for (int k = 0; k < 16; ++k) sum += static_cast<double>(float(a[i * 16 + k])) * float(b[k * 8 + j]);
      REQUIRE(std::abs(c[i * 8 + j] - sum) <= 1e-6);
    }
}

template <class T, class LA, class LB>
__global__ void wmma_tile(const T* a, const T* b, float* c, int ld) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, T, LA> fa;
  fragment<matrix_b, 16, 16, 16, T, LB> fb;
  fragment<accumulator, 16, 16, 16, float> acc;
  fill_fragment(acc, 0.0f);
  load_matrix_sync(fa, a, static_cast<unsigned>(ld));
  load_matrix_sync(fb, b, static_cast<unsigned>(ld));
  mma_sync(acc, fa, fb, acc);
  for (float& x : acc.x) x *= 2.0f;
  store_matrix_sync(c, acc, 16, mem_row_major);
}
/// B3: lanes fill shared memory and load a fragment from it; without __syncwarp they read too early.
__global__ void wmma_from_shared(const __half* in, float* out, int sync) {
  using namespace nvcuda::wmma;
  __half* s = dynamic<__half>();
  for (unsigned i = threadIdx.x; i < 256; i += 32) s[i] = in[i];
  if (sync) __syncwarp();
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> acc;
  fill_fragment(acc, 0.0f);
  load_matrix_sync(fa, s, 16);
  load_matrix_sync(fb, s, 16);
  mma_sync(acc, fa, fb, acc);
  store_matrix_sync(out, acc, 16, mem_row_major);
}
__global__ void wmma_misaligned(const __half* in, float* out) {
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> f;
  nvcuda::wmma::load_matrix_sync(f, in + 8, 16);
  out[threadIdx.x] = float(f.x[0]);
}
}  // namespace

PLANTED(b3) {
  Buffer<__half> in(std::vector<__half>(256, __half(1.0f)));
  Buffer<float> out(256);
  CUDA_OK(launch_on(nullptr, wmma_from_shared, 1, 32, 512, in, out, 0));
  CUDA_OK(cudaDeviceSynchronize());
}

TEST_CASE("ldmatrix and mma against float64") {
  each_schedule(5, 1, [] {
    for (bool one_hot : {false, true}) {
      check_mma<__half>(one_hot);
      check_mma<__nv_bfloat16>(one_hot);
    }
    auto va = random_values(128), vb = random_values(64);
    Buffer<float> a(va), b(vb), dc(128);
    CUDA_OK(launch(mma_tf32, 1, 32, a, b, dc));
    auto c = dc.get();
    auto cut = [](float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000u); };
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        double sum = 0;
        for (int k = 0; k < 8; ++k) sum += static_cast<double>(cut(va[i * 8 + k])) * cut(vb[k * 8 + j]);
        REQUIRE(std::abs(c[i * 8 + j] - sum) <= 1e-6);
      }
  });
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 128));
  CUDA_OK(launch(partial_mma, 1, 32, p));
  CUDA_IS(cudaDeviceSynchronize(), 719);
  REQUIRE(has(vgpu::last_report(), "needs all 32 lanes"));
  reset_device();
}

TEST_CASE("B3: WMMA against float64, and with the warp sync forgotten") {
  each_schedule(10, 1, [] {
    auto va = random_values(16 * 24), vb = random_values(16 * 24);
    std::vector<__half> a(va.begin(), va.end()), b(vb.begin(), vb.end());
    Buffer<__half> da(a), db(b);
    Buffer<float> dc(256);
    using namespace nvcuda::wmma;
    CUDA_OK(launch(wmma_tile<__half, row_major, col_major>, 1, 32, da, db, dc, 24));
    auto c = dc.get();
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        double sum = 0;
        for (int k = 0; k < 16; ++k) sum += static_cast<double>(float(a[i * 24 + k])) * float(b[j * 24 + k]);
        REQUIRE(std::abs(c[i * 16 + j] - 2 * sum) <= 1e-5);
      }
    CUDA_OK(launch_on(nullptr, wmma_from_shared, 1, 32, 512, da, dc, 1));
    for (float x : dc.get()) REQUIRE(!std::isnan(x));
    if (vgpu::under_tsan()) return;
    CUDA_OK(launch_on(nullptr, wmma_from_shared, 1, 32, 512, da, dc, 0));
    bool poisoned = false;
    for (float x : dc.get()) poisoned = poisoned || std::isnan(x);
    REQUIRE(poisoned);
  });
  if (vgpu::under_tsan())
    for (int seed = 0; seed < 5; ++seed) {
      Child child = run_planted("b3", "TANTU_VGPU_SEED=" + std::to_string(seed));
      INFO(child.output);
      REQUIRE(has(child.output, "WARNING: ThreadSanitizer: data race"));
    }
  __half* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 1024));
  CUDA_OK(launch(wmma_misaligned, 1, 32, p, reinterpret_cast<float*>(p)));
  CUDA_IS(cudaDeviceSynchronize(), 716);
  REQUIRE(has(vgpu::last_report(), "misaligned 32-byte access at numeric_test.cu:"));
  reset_device();
}

namespace {
__global__ void tiles(int* out) {
  auto block = cooperative_groups::this_thread_block();
  auto tile = cooperative_groups::tiled_partition<8>(block);
  int v = static_cast<int>(block.thread_rank());
  for (unsigned d = 4; d; d /= 2) v += tile.shfl_down(v, d);
  block.sync();
  if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = v;
}
}  // namespace

TEST_CASE("cooperative groups: tiles of eight") {
  each_schedule(5, 1, [] {
    Buffer<int> out(8);
    CUDA_OK(launch(tiles, 1, 64, out));
    auto v = out.get();
    for (int i = 0; i < 8; ++i) REQUIRE(v[i] == 64 * i + 28);
  });
}
