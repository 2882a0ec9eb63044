// Planted bugs: each must be caught, in the lane that can see it. Their correct twins are in kernels_test.cu.
#include "vgpu_test.h"

#include <cmath>

using namespace vgpu_test;

namespace {

bool plain() {
  return !vgpu::under_asan() && !vgpu::under_tsan();
}

// B1, B2 -------------------------------------------------------------------------------------------------------------
__global__ void sum_without_barrier(const float* in, float* out) {
  __shared__ float s[64];
  unsigned t = threadIdx.x;
  s[t] = in[t];
  for (unsigned d = 32; d; d /= 2) {
    if (t < d) s[t] += s[t + d];  // no barrier
  }
  if (t == 0) out[0] = s[0];
}

__global__ void product_without_second_barrier(const float* a, const float* b, float* c, int n) {
  __shared__ float as[8][8], bs[8][8];
  unsigned x = threadIdx.x, y = threadIdx.y;
  float acc = 0;
  for (int k0 = 0; k0 < n; k0 += 8) {
    as[y][x] = a[y * n + k0 + x];
    bs[y][x] = b[(k0 + y) * n + x];
    __syncthreads();
    for (int i = 0; i < 8; ++i) acc = fmaf(as[y][i], bs[i][x], acc);
    // no barrier before the tiles are overwritten
  }
  c[y * 8 + x] = acc;
}

void run_b1() {
  Buffer<float> in(std::vector<float>(64, 1.0f)), out(1);
  CUDA_OK(launch(sum_without_barrier, 1, 64, in, out));
  CUDA_OK(cudaDeviceSynchronize());
}
void run_b2() {
  Buffer<float> a(std::vector<float>(8 * 32, 1.0f)), b(std::vector<float>(32 * 32, 1.0f)), c(64);
  CUDA_OK(launch(product_without_second_barrier, 1, dim3(8, 8), a, b, c, 32));
  CUDA_OK(cudaDeviceSynchronize());
}

// B4, B5 -------------------------------------------------------------------------------------------------------------
__global__ void count_without_atomics(int* p) {
  p[0] += 1;
}
__global__ void last_block(int* p) {
  if (threadIdx.x == 0) p[0] = static_cast<int>(blockIdx.x);
}

// B7 -----------------------------------------------------------------------------------------------------------------
__global__ void read_fresh(float* out) {
  __shared__ float fixed[4];
  float* dynamic = static_cast<float*>(vgpu::dynamic_shared());
  if (!out) fixed[threadIdx.x] = 1.0f;  // never, but the compiler must not see that nothing is written
  out[0] = fixed[threadIdx.x];
  out[1] = dynamic[threadIdx.x];
}
__global__ void dirty(float* out) {
  __shared__ float fixed[4];
  fixed[threadIdx.x] = 5.0f;
  static_cast<float*>(vgpu::dynamic_shared())[threadIdx.x] = 6.0f;
  __syncthreads();
  out[threadIdx.x] = fixed[3 - threadIdx.x] + static_cast<float*>(vgpu::dynamic_shared())[0];
}

// B8, B9 -------------------------------------------------------------------------------------------------------------
__global__ void write_at(signed char* p, long i) {
  p[i] = 1;
}
__global__ void shared_index(float* out, int i) {
  __shared__ float s[7];
  s[threadIdx.x % 7] = 1.0f;
  s[i] = 2.0f;
  out[0] = s[0];
}
__global__ void shared_pointer(float* out, long i) {
  __shared__ float s[7];
  float* p = s;
  asm("" : "+r"(p));
  p[i] = 2.0f;
  out[0] = s[0];
}
__global__ void dynamic_index(float* out, long i) {
  float* s = static_cast<float*>(vgpu::dynamic_shared());
  s[i] = 2.0f;
  out[0] = s[0];
}
// B10
__global__ void vector_load(const float* p, float* out) {
  *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(p + 1);
}

}  // namespace

PLANTED(b1) {
  run_b1();
}
PLANTED(b2) {
  run_b2();
}
PLANTED(b4) {
  Buffer<int> p(1);
  CUDA_OK(cudaMemset(p, 0, 4));
  CUDA_OK(launch(count_without_atomics, 1, 256, p));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b5) {
  Buffer<int> p(1);
  CUDA_OK(launch(last_block, 8, 32, p));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b8_global) {
  Buffer<signed char> p(1001);
  CUDA_OK(launch(write_at, 1, 1, p, 1001));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b8_before) {
  Buffer<signed char> p(1001);
  CUDA_OK(launch(write_at, 1, 1, p, -1));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b9_index) {
  Buffer<float> out(1);
  CUDA_OK(launch(shared_index, 1, 32, out, 7));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b9_pointer) {
  Buffer<float> out(1);
  CUDA_OK(launch(shared_pointer, 1, 1, out, 7));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b9_dynamic) {
  Buffer<float> out(1);
  CUDA_OK(launch_on(nullptr, dynamic_index, 1, 1, 28, out, 7));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b10) {
  Buffer<float> p(16), out(4);
  CUDA_OK(launch(vector_load, 1, 1, p, out));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b14) {
  Buffer<signed char> keep(4);
  signed char* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_OK(cudaMemset(keep, 0, 4));
  struct Pair {
    signed char* hidden;
  };
  CUDA_OK(cudaFree(p));
  static signed char* freed = p;
  auto kernel = +[](int) { freed[3] = 1; };
  CUDA_OK(launch(kernel, 1, 1, 0));
  CUDA_OK(cudaDeviceSynchronize());
}
PLANTED(b12_host) {
  Buffer<float> p(4);
  volatile float* q = static_cast<float*>(p);
  q[3] = 1.0f;
}

TEST_CASE("B1, B2: a missing barrier gives a wrong value under every seed") {
  if (!plain()) return;
  each_schedule(10, 1, [] {
    Buffer<float> in(std::vector<float>(64, 1.0f)), out(1);
    CUDA_OK(launch(sum_without_barrier, 1, 64, in, out));
    REQUIRE(!(out.get()[0] == 64.0f));
    auto va = random_values(8 * 32), vb = random_values(32 * 32);
    Buffer<float> a(va), b(vb), c(64);
    CUDA_OK(launch(product_without_second_barrier, 1, dim3(8, 8), a, b, c, 32));
    auto vc = c.get();
    double worst = 0;
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        double sum = 0;
        for (int k = 0; k < 32; ++k) sum += static_cast<double>(va[i * 32 + k]) * vb[k * 32 + j];
        double error = std::abs(vc[i * 8 + j] - sum);
        worst = error <= worst ? worst : error;
      }
    REQUIRE(!(worst < 1e-4));
  });
}

TEST_CASE("B1, B2, B4, B5: the race checker names file and line") {
  if (!vgpu::under_tsan()) return;
  for (const char* name : {"b1", "b2", "b4", "b5"})
    for (int seed = 0; seed < 5; ++seed) {
      Child child = run_planted(name, "TANTU_VGPU_SEED=" + std::to_string(seed));
      INFO(name << " seed " << seed << "\n" << child.output);
      REQUIRE(has(child.output, "WARNING: ThreadSanitizer: data race"));
      REQUIRE(has(child.output, "planted_test.cu:"));
      REQUIRE(child.status == 66);
    }
}

TEST_CASE("B4, B5: what the plain lane can and cannot see") {
  if (vgpu::under_tsan()) return;
  Buffer<int> p(1);
  for (int seed = 0; seed < 5; ++seed) {  // switches happen at synchronisation only: 256 under every seed
    vgpu::set_seed(static_cast<uint64_t>(seed));
    CUDA_OK(cudaMemset(p, 0, 4));
    CUDA_OK(launch(count_without_atomics, 1, 256, p));
    REQUIRE(p.get()[0] == 256);
  }
  bool differs = false;
  for (int seed = 0; seed < 20; ++seed) {
    vgpu::set_seed(static_cast<uint64_t>(seed));
    CUDA_OK(launch(last_block, 8, 32, p));
    differs = differs || p.get()[0] != 7;
  }
  vgpu::set_seed(0);
  REQUIRE(differs);
}

TEST_CASE("B7: uninitialised shared and device memory is NaN") {
  each_schedule(10, 1, [] {
    Buffer<float> out(4);
    for (float v : out.get()) REQUIRE(std::isnan(v));
    CUDA_OK(launch_on(nullptr, dirty, 2, 4, 16, out));
    CUDA_OK(launch_on(nullptr, read_fresh, 1, 1, 16, out));
    auto v = out.get();
    REQUIRE(std::isnan(v[0]));
    REQUIRE(std::isnan(v[1]));
  });
}

TEST_CASE("B8, B9, B10, B14: the address lane sees one byte too far, and use after free") {
  if (!vgpu::under_asan()) return;
  const std::pair<const char*, const char*> cases[] = {
      {"b8_global", "use-after-poison"},  {"b8_before", "use-after-poison"},
      {"b9_index", "out of bounds"},      {"b9_pointer", "global-buffer-overflow"},
      {"b9_dynamic", "use-after-poison"}, {"b10", "misaligned address"},
      {"b14", "use-after-poison"}};
  for (auto [name, words] : cases) {
    Child child = run_planted(name);
    INFO(name << "\n" << child.output);
    REQUIRE(has(child.output, words));
    REQUIRE(has(child.output, "planted_test.cu"));
    REQUIRE(child.status != 0);
  }
}

// B11 ----------------------------------------------------------------------------------------------------------------
namespace {
__global__ void barrier_in_branch(float* out) {
  if (threadIdx.x < 40) __syncthreads();
  else out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}
__global__ void two_barriers(float* out) {
  if (threadIdx.x % 2) {
    __syncthreads();
  } else {
    out[0] = 1;
    __syncthreads();
  }
}
__global__ void outside_mask(float* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 0);
}
__global__ void mixed(int* out) {
  if (threadIdx.x % 2) out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
  else out[threadIdx.x] = static_cast<int>(__ballot_sync(0xffffffffu, 1));
}
__global__ void twice(int* out) {  // lane 0 comes a second time, the others wait elsewhere
  int n = threadIdx.x == 0 ? 2 : 1;
  for (int i = 0; i < n; ++i) out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
  __syncthreads();
}
__global__ void active(unsigned* out) {
  out[0] = __activemask();
}
__global__ void ok(float* out) {
  out[threadIdx.x] = 1;
}

template <class K, class T>
std::string fault_of(K kernel, T* memory, int threads, int error) {
  vgpu::clear_report();
  CUDA_OK(launch(kernel, 1, static_cast<unsigned>(threads), memory));
  CUDA_IS(cudaDeviceSynchronize(), error);
  std::string text = vgpu::last_report();
  REQUIRE(has(text, "planted_test.cu:"));
  reset_device();
  return text;
}
}  // namespace

TEST_CASE("B11: divergent synchronisation is reported with its lines, and nothing hangs") {
  each_schedule(4, 1, [] {
    float* f = nullptr;
    auto fresh = [&] {
      CUDA_OK(cudaMalloc(&f, 4096));
      return f;
    };
    std::string text = fault_of(barrier_in_branch, fresh(), 64, 719);
    INFO(text);
    REQUIRE(has(text, "deadlock: divergent barrier or warp collective in"));
    REQUIRE(has(text, "barrier_in_branch"));
    REQUIRE(has(text, "40 thread(s) wait at"));
    REQUIRE(has(text, "__syncthreads"));
    REQUIRE(has(text, "24 thread(s) wait at"));
    REQUIRE(has(text, "shfl_xor mask 0xffffffff"));
    REQUIRE(has(fault_of(two_barriers, fresh(), 64, 719), "two barriers meet (planted_test.cu:"));
    REQUIRE(has(fault_of(outside_mask, fresh(), 32, 719), "warp collective executed by a lane outside its mask"));
    text = fault_of(mixed, reinterpret_cast<int*>(fresh()), 32, 719);
    REQUIRE(has(text, "different warp collectives meet on one mask ("));
    REQUIRE(has(text, "ballot at planted_test.cu:"));
    REQUIRE(has(fault_of(twice, reinterpret_cast<int*>(fresh()), 32, 719), "1 thread(s) wait at"));
    REQUIRE(has(fault_of(active, reinterpret_cast<unsigned*>(fresh()), 1, 719), "__activemask"));
    CUDA_OK(launch(ok, 1, 32, fresh()));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaFree(f));
  });
}

// B12 ----------------------------------------------------------------------------------------------------------------
TEST_CASE("B12: memory of the wrong side") {
  float host[4] = {};
  CUDA_IS(launch(ok, 1, 4, static_cast<float*>(host)), 700);
  REQUIRE(has(vgpu::last_report(), "argument 1 is a host pointer"));
  reset_device();
  float* other = nullptr;
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaMalloc(&other, 64));
  CUDA_OK(cudaSetDevice(0));
  CUDA_IS(launch(ok, 1, 4, other), 700);
  REQUIRE(has(vgpu::last_report(), "memory of vgpu:1, used from vgpu:0 without peer access"));
  reset_device();
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_OK(launch(ok, 1, 4, other));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_IS(cudaDeviceEnablePeerAccess(1, 0), 704);
  cudaGetLastError();
  CUDA_OK(cudaDeviceDisablePeerAccess(1));
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaFree(other));
  CUDA_OK(cudaSetDevice(0));
  if (vgpu::under_tsan()) return;
  Child child = run_planted("b12_host");
  INFO(child.output);
  REQUIRE(child.status != 0);
  if (vgpu::under_asan()) REQUIRE(has(child.output, "use-after-poison") == false);
  REQUIRE(has(child.output, "HOST code touched memory of vgpu:0 (buffer of 16 bytes + 12)"));
}

// B14, B15, B16 ------------------------------------------------------------------------------------------------------
TEST_CASE("B14: freed memory is poison; double and inner frees are refused") {
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_IS(cudaFree(p + 1), 1);
  REQUIRE(has(vgpu::last_report(), "points inside an allocation"));
  CUDA_OK(cudaFree(p));
  CUDA_IS(cudaFree(p), 1);
  REQUIRE(has(vgpu::last_report(), "no live allocation"));
  float host = 0;
  CUDA_IS(cudaFree(&host), 1);
  CUDA_IS(cudaGetLastError(), 1);
  CUDA_IS(cudaGetLastError(), 0);
}

namespace {
__attribute__((noinline)) int deep(int n, volatile char* up) {
  volatile char frame[512];
  frame[n % 512] = up ? up[0] : 0;
  return n == 0 ? frame[0] : deep(n - 1, frame) + frame[1];
}
__global__ void overflow(int* out, int n) {
  out[0] = deep(n, nullptr);
}
__global__ void spin(int* flag) {
  while (atomicAdd(flag, 0) != 12345) {
  }
}
__global__ void wild(int* out, long distance) {
  out[distance] = 1;
}
}  // namespace

TEST_CASE("B15: stack overflow, wild pointer and endless spin are errors, not exits") {
  int* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_OK(launch(overflow, 1, 1, p, 10000));
  CUDA_IS(cudaDeviceSynchronize(), 719);
  REQUIRE(has(vgpu::last_report(), "device stack overflow"));
  REQUIRE(has(vgpu::last_report(), "overflow"));
  reset_device();
  if (!vgpu::under_asan()) {
    CUDA_OK(cudaMalloc(&p, 64));
    CUDA_OK(launch(wild, 1, 1, p, 1l << 40));
    CUDA_IS(cudaDeviceSynchronize(), 700);
    REQUIRE(has(vgpu::last_report(), "illegal address"));
    reset_device();
  }
  if (vgpu::under_tsan()) return;  // there the watchdog can only end the process
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_OK(cudaMemset(p, 0, 64));
  vgpu::set_watchdog(0.4);
  CUDA_OK(launch(spin, 1, 1, p));
  CUDA_IS(cudaDeviceSynchronize(), 702);
  vgpu::set_watchdog(20);
  REQUIRE(has(vgpu::last_report(), "spin-wait in"));
  reset_device();
}

TEST_CASE("B16: launch limits") {
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_IS(launch(ok, 1, 1025, p), 9);
  CUDA_IS(launch(ok, dim3(1, 65536), 1, p), 9);
  CUDA_IS(launch(ok, dim3(1, 1, 65536), 1, p), 9);
  CUDA_IS(launch(ok, 0, 1, p), 9);
  CUDA_IS(launch(ok, 1, 0, p), 9);
  CUDA_IS(launch(ok, 1, dim3(1, 1, 65), p), 9);
  CUDA_IS(launch_on(nullptr, ok, 1, 1, 49 << 10, p), 1);
  CUDA_OK(cudaFuncSetAttribute(ok, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  CUDA_OK(launch_on(nullptr, ok, 1, 1, 100 << 10, p));
  CUDA_IS(cudaFuncSetAttribute(ok, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10), 1);
  void (*null)(float*) = nullptr;
  CUDA_IS(launch(null, 1, 1, p), 98);
  CUDA_IS(launch_on(reinterpret_cast<cudaStream_t>(p), ok, 1, 1, 0, p), 400);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.attrs = &cluster;
  config.numAttrs = 1;
  CUDA_IS(cudaLaunchKernelEx(&config, ok, p), 801);
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFree(p));
  cudaGetLastError();
}
