// Correct kernels: right under every seed and number of workers, and silent in every lane.
#include "vgpu_test.h"

#include <dirent.h>
#include <sched.h>
#include <cmath>
#include <cstdlib>

using namespace vgpu_test;

namespace {

constexpr int seeds = 40, max_workers = 3;

__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float partial[32];
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float v = i < n ? in[i] : 0.0f;
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < (blockDim.x + 31) / 32 ? partial[threadIdx.x] : 0.0f;
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}

/// Tree reduction in dynamic shared memory.
__global__ void tree_sum(const float* in, float* out, int n) {
  float* s = static_cast<float*>(vgpu::dynamic_shared());
  unsigned t = threadIdx.x;
  s[t] = static_cast<int>(t) < n ? in[t] : 0.0f;
  __syncthreads();
  for (unsigned d = blockDim.x / 2; d; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

template <int Tile>
__global__ void sgemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[Tile][Tile + 1], bs[Tile][Tile + 1];
  int row = static_cast<int>(blockIdx.y * Tile + threadIdx.y), col = static_cast<int>(blockIdx.x * Tile + threadIdx.x);
  float acc = 0;
  for (int k0 = 0; k0 < k; k0 += Tile) {
    int ka = k0 + static_cast<int>(threadIdx.x), kb = k0 + static_cast<int>(threadIdx.y);
    as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < Tile; ++i) acc = fmaf(as[threadIdx.y][i], bs[i][threadIdx.x], acc);
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}

__global__ void where_am_i(int* out) {
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if ((thread & 1u) == 0) __syncwarp(0x55555555u);  // some lanes become fibers, others do not
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = static_cast<int>(
      threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * (blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z));
}

__global__ void histogram(const int* in, int* bins, int n) {
  __shared__ int local[8];
  if (threadIdx.x < 8) local[threadIdx.x] = 0;
  __syncthreads();
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) atomicAdd(&local[in[i]], 1);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void barrier_votes(int* out) {
  int t = static_cast<int>(threadIdx.x);
  int count = __syncthreads_count(t % 3 == 0), all = __syncthreads_and(t < 1000), any = __syncthreads_or(t == 5);
  int none = __syncthreads_or(t == 5000);
  out[t] = count * 1000 + all * 100 + any * 10 + none;
}

/// Lanes that leave early do not hold up those that stay.
__global__ void early_exit(float* out) {
  if (threadIdx.x % 4 == 3) return;
  __syncthreads();
  float v = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  __syncthreads();
  out[threadIdx.x] = v;
}

__global__ void two_groups(int* out) {  // producers and consumers meet at named barriers
  __shared__ int box[64];
  if (threadIdx.x < 64) {
    box[threadIdx.x] = static_cast<int>(threadIdx.x) * 3;
    vgpu::named_barrier(1, 128, false, __FILE__, __LINE__);
  } else {
    vgpu::named_barrier(1, 128, true, __FILE__, __LINE__);
    out[threadIdx.x - 64] = box[127 - threadIdx.x];
  }
}

}  // namespace

TEST_CASE("add, every edge size") {
  each_schedule(5, max_workers, [] {
    for (int n : {1, 31, 32, 33, 255, 257, 1025}) {
      auto a = random_values(static_cast<size_t>(n)), b = random_values(static_cast<size_t>(n));
      Buffer<float> da(a), db(b), dc(static_cast<size_t>(n));
      CUDA_OK(launch(add, (n + 127) / 128, 128, da, db, dc, n));
      auto c = dc.get();
      for (size_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == a[i] + b[i]);
    }
  });
}

TEST_CASE("reductions with shuffles and with shared memory") {
  each_schedule(seeds, max_workers, [] {
    for (int n : {1, 33, 200}) {
      auto a = random_values(static_cast<size_t>(n));
      double sum = 0;
      for (float x : a) sum += x;
      Buffer<float> da(a), out(1);
      CUDA_OK(launch(block_sum, 1, 224, da, out, n));
      REQUIRE(std::abs(out.get()[0] - sum) < 1e-5);
      CUDA_OK(launch_on(nullptr, tree_sum, 1, 256, 1024, da, out, n));
      REQUIRE(std::abs(out.get()[0] - sum) < 1e-5);
    }
  });
}

TEST_CASE("tiled product against float64") {
  each_schedule(seeds, max_workers, [] {
    const int m = 17, n = 19, k = 21;
    auto a = random_values(m * k), b = random_values(k * n);
    Buffer<float> da(a), db(b), dc(m * n);
    CUDA_OK(launch(sgemm<8>, dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8), da, db, dc, m, n, k));
    auto c = dc.get();
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += static_cast<double>(a[i * k + p]) * b[p * n + j];
        REQUIRE(std::abs(c[i * n + j] - sum) < 1e-5);
      }
  });
}

TEST_CASE("indices in three dimensions") {
  each_schedule(seeds, max_workers, [] {
    const unsigned grid[3] = {3, 2, 2}, block[3] = {5, 3, 2};
    Buffer<int> out(12 * 30);
    CUDA_OK(launch(where_am_i, dim3(3, 2, 2), dim3(5, 3, 2), out));
    auto v = out.get();
    size_t i = 0;
    for (unsigned bz = 0; bz < grid[2]; ++bz)
      for (unsigned by = 0; by < grid[1]; ++by)
        for (unsigned bx = 0; bx < grid[0]; ++bx)
          for (unsigned z = 0; z < block[2]; ++z)
            for (unsigned y = 0; y < block[1]; ++y)
              for (unsigned x = 0; x < block[0]; ++x)
                REQUIRE(v[i++] == static_cast<int>(x + 10 * y + 100 * z + 1000 * (bx + 10 * by + 100 * bz)));
  });
}

TEST_CASE("atomics, votes at barriers, early exits, named barriers") {
  each_schedule(seeds, max_workers, [] {
    const int n = 500;
    std::vector<int> in(n), expected(8);
    for (int i = 0; i < n; ++i) in[i] = i * i % 8, ++expected[in[i]];
    Buffer<int> din(in), bins(8);
    CUDA_OK(cudaMemset(bins, 0, 32));
    CUDA_OK(launch(histogram, 4, 128, din, bins, n));
    REQUIRE(bins.get() == expected);

    Buffer<int> votes(100);
    CUDA_OK(launch(barrier_votes, 1, 100, votes));
    for (int v : votes.get()) REQUIRE(v == 34 * 1000 + 110);

    Buffer<float> rest(64);
    CUDA_OK(launch(early_exit, 1, 64, rest));
    auto r = rest.get();
    for (size_t t = 0; t < 64; ++t)
      if (t % 4 == 0 || t % 4 == 1) REQUIRE(r[t] == 1.0f);
      else REQUIRE(std::isnan(r[t]));  // lane 3 of 4 never wrote; lane 2 shuffled with it and got poison

    Buffer<int> boxes(64);
    CUDA_OK(launch(two_groups, 1, 128, boxes));
    auto b = boxes.get();
    for (int i = 0; i < 64; ++i) REQUIRE(b[i] == (63 - i) * 3);
  });
}

namespace {
__global__ void scale(float* x, float f) {
  x[threadIdx.x] *= f;
}
__global__ void take_all(signed char a, double b, float4 c, const int* p, int* out) {
  out[0] = a + static_cast<int>(b) + static_cast<int>(c.w) + *p;
}
}  // namespace

TEST_CASE("arguments are converted and copied at the call") {
  Buffer<float> x(std::vector<float>(32, 2.0f));
  double factor = 3;
  CUDA_OK(launch(scale, 1, 32, x, factor));
  factor = 0;
  REQUIRE(x.get()[31] == 6.0f);
  Buffer<int> p(std::vector<int>{7}), out(1);
  CUDA_OK(launch(take_all, 1, 1, 1, 2, make_float4(0, 0, 0, 4), p, out));
  REQUIRE(out.get()[0] == 14);
}

TEST_CASE("the same seed gives the same bits") {
  vgpu::set_workers(1);
  for (uint64_t seed : {0ull, 5ull, 6ull}) {
    vgpu::set_seed(seed);
    auto a = random_values(200);
    Buffer<float> da(a), out(1);
    CUDA_OK(launch(block_sum, 1, 224, da, out, 200));
    float first = out.get()[0];
    CUDA_OK(launch(block_sum, 1, 224, da, out, 200));
    REQUIRE(first == out.get()[0]);
  }
  vgpu::set_seed(0);
}

namespace {
void each_thread(const std::function<void(pid_t)>& f) {
  DIR* tasks = opendir("/proc/self/task");
  REQUIRE(tasks);
  while (dirent* task = readdir(tasks))
    if (int id = std::atoi(task->d_name)) f(id);
  closedir(tasks);
}
}  // namespace

// Everything on one core, the new threads behind all others: they first run when the launch has long been posted.
TEST_CASE("new workers help with the launch that follows at once") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  const sched_param none{};
  const int workers = vgpu::workers();
  Buffer<float> a(std::vector<float>(8192, 1.0f)), c(8192);
  each_thread([&](pid_t id) { sched_setaffinity(id, sizeof one, &one); });
  for (int count = 4; count <= 8; ++count) {
    sched_setscheduler(0, SCHED_IDLE, &none);
    vgpu::set_workers(count);
    sched_setscheduler(0, SCHED_OTHER, &none);
    CUDA_OK(launch(add, 32, 256, a, a, c, 8192));
    CUDA_OK(cudaDeviceSynchronize());
  }
  vgpu::set_workers(workers);
  each_thread([&](pid_t id) {
    sched_setaffinity(id, sizeof before, &before);
    sched_setscheduler(id, SCHED_OTHER, &none);
  });
  REQUIRE(c.get()[8191] == 2.0f);
}

TEST_CASE("many launches, no growth") {
  Buffer<float> x(std::vector<float>(32, 1.0f));
  auto resident = [] {
    FILE* f = fopen("/proc/self/statm", "r");
    long total = 0, pages = 0;
    REQUIRE(fscanf(f, "%ld %ld", &total, &pages) == 2);
    fclose(f);
    return pages;
  };
  const int count = vgpu::under_tsan() || vgpu::under_asan() ? 1000 : 10000;
  for (int i = 0; i < count; ++i) CUDA_OK(launch(scale, 1, 32, x, 1.0f));
  CUDA_OK(cudaDeviceSynchronize());
  long before = resident();
  for (int i = 0; i < count; ++i) CUDA_OK(launch(scale, 1, 32, x, 1.0f));
  CUDA_OK(cudaDeviceSynchronize());
  if (!vgpu::under_tsan()) REQUIRE(resident() - before < 300);  // the race checker's own memory grows
}
