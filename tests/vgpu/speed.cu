// Prints the speed table: emulation figures, of use only to see whether the emulator itself got slower. Exit status 1
// when a case takes more than twice its target, after scaling by a calibration loop (so that a slow or busy machine
// does not fail it). The kernels' rows are processor time of the worker. Everything but the last rows stays on one
// core: the targets are for one core, and closing the guard while another core runs a thread of ours costs an interrupt
// there.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dirent.h>
#include <mma.h>
#include <sched.h>
#include <vgpu/control.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace {

__global__ void add(const float* a, const float* b, float* c, long n) {
  long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void barriers(float* out, int count) {
  float v = 0;
  for (int i = 0; i < count; ++i) {
    __syncthreads();
    v += 1;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void shuffles(float* out, int count) {
  float v = static_cast<float>(threadIdx.x);
  for (int i = 0; i < count; ++i) v = __shfl_xor_sync(0xffffffffu, v, 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void block_sum(const float* in, float* out) {
  __shared__ float partial[8];
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; ++i) v += partial[i];
    out[blockIdx.x] = v;
  }
}
/// 64x64x16 tile, 16x16 threads, 4x4 values each.
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64], bs[16][64];
  unsigned tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
    for (unsigned i = threadIdx.x; i < 1024; i += 256) {
      as[i % 16][i / 16] = a[(blockIdx.y * 64 + i / 16) * n + k0 + i % 16];
      bs[i / 64][i % 64] = b[(k0 + i / 64) * n + blockIdx.x * 64 + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned j = 0; j < 4; ++j) acc[i][j] = fmaf(as[k][ty * 4 + i], bs[k][tx * 4 + j], acc[i][j]);
    __syncthreads();
  }
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned j = 0; j < 4; ++j) c[(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = acc[i][j];
}
/// A warp for each row.
__global__ void softmax(const float* in, float* out, int n) {
  long at = (blockIdx.x * 4l + threadIdx.x / 32) * n;
  int lane = static_cast<int>(threadIdx.x % 32);
  float m = -3e38f, s = 0;
  for (int i = lane; i < n; i += 32) m = m < in[at + i] ? in[at + i] : m;
  for (int d = 16; d; d /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, m, d);
    m = m < other ? other : m;
  }
  for (int i = lane; i < n; i += 32) s += expf(in[at + i] - m);
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  for (int i = lane; i < n; i += 32) out[at + i] = expf(in[at + i] - m) / s;
}
__global__ void wmma_gemm(const __half* a, const __half* b, float* c, int n) {  // a warp for each 16x16 tile
  using namespace nvcuda::wmma;
  fragment<accumulator, 16, 16, 16, float> acc;
  fill_fragment(acc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, row_major> fb;
    load_matrix_sync(fa, a + blockIdx.y * 16 * n + k, static_cast<unsigned>(n));
    load_matrix_sync(fb, b + k * n + blockIdx.x * 16, static_cast<unsigned>(n));
    mma_sync(acc, fa, fb, acc);
  }
  store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, acc, static_cast<unsigned>(n), mem_row_major);
}
__global__ void touch(float* p) {
  if (threadIdx.x == 0) p[0] += 1;
}

double clock_seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double wall() {
  return clock_seconds(CLOCK_MONOTONIC);
}
/// Processor time of all threads but this one: the workers', whatever else the machine does.
double worker_time() {
  return clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

template <class F>
double best_of(int rounds, F f, double (*now)() = wall) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    double start = now();
    f();
    best = std::min(best, now() - start);
  }
  return best;
}

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, unsigned block, A... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  if (cudaLaunchKernelEx(&config, kernel, args...) != cudaSuccess) std::exit(1);
}

/// A dependent chain of float additions and an indirect call each, 10 million times.
void chain() {
  volatile float v = 0;
  float (*volatile f)(float) = [](float x) { return x + 1.0f; };
  for (int i = 0; i < 10000000; ++i) v = f(v);
}
/// How much of a second thread's work the machine does at the same time now: 2 with two idle cores, 1 with one.
double cores_now() {
  double one = best_of(3, chain);
  double two = best_of(3, [] {
    std::thread other(chain);
    chain();
    other.join();
  });
  return std::clamp(2 * one / two, 1.0, 2.0);
}

/// The process and the threads that it starts from here on: on the first core they may use, or on all of those.
class Cores {
 public:
  Cores() { sched_getaffinity(0, sizeof all_, &all_); }
  int count() const { return CPU_COUNT(&all_); }
  void one() {
    cpu_set_t first;
    CPU_ZERO(&first);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &all_)) {
        CPU_SET(i, &first);
        break;
      }
    set(first);
  }
  void all() { set(all_); }

 private:
  static void set(const cpu_set_t& cores) {
    DIR* tasks = opendir("/proc/self/task");
    if (!tasks) return;
    while (dirent* task = readdir(tasks))
      if (int id = std::atoi(task->d_name)) sched_setaffinity(id, sizeof cores, &cores);
    closedir(tasks);
  }
  cpu_set_t all_;
};

bool failed = false;
double slowness = 1;

void row(const char* name, double value, double target, const char* unit) {
  bool over = value > 2 * target * slowness;
  failed = failed || over;
  std::printf("%-34s %9.2f %-3s target %6.2f%s\n", name, value, unit, target,
              over             ? "  TOO SLOW"
              : value > target ? "  above"
                               : "");
}

}  // namespace

int main() {
  setenv("TANTU_VGPU_DEVICES", "1", 0);
  Cores cores;
  cores.one();
  vgpu::set_workers(1);
  slowness = std::max(1.0, best_of(5, chain, [] { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }) / 0.040);
  std::printf("EMULATION, not a GPU. calibration factor %.2f\n", slowness);
  const long n = 1 << 22;
  float *a, *b, *c, *big;
  for (float** p : {&a, &b, &c})
    if (cudaMalloc(p, n * 4) != cudaSuccess) return 1;
  std::vector<float> host(n, 0.5f);
  cudaMemcpy(a, host.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host.data(), n * 4, cudaMemcpyHostToDevice);
  auto run = [&](auto f, double (*now)() = worker_time) {
    return best_of(
        7,
        [&] {
          f();
          if (cudaDeviceSynchronize() != cudaSuccess) std::exit(1);
        },
        now);
  };
  auto product = [&] { launch(sgemm, dim3(4, 4), 256, a, b, c, 256); };
  row("barrier-free thread", run([&] { launch(add, n / 256, 256, a, b, c, n); }) / n * 1e9, 15, "ns");
  row("__syncthreads, per thread", run([&] { launch(barriers, 256, 256, c, 64); }) / (256 * 256 * 64.0) * 1e9, 25,
      "ns");
  row("shuffle, per thread", run([&] { launch(shuffles, 256, 256, c, 64); }) / (256 * 256 * 64.0) * 1e9, 40, "ns");
  row("block_sum, per thread", run([&] { launch(block_sum, n / 1024, 256, a, c); }) / (n / 4) * 1e9, 1000 / 3.5, "ns");
  row("SGEMM 256^3", run(product) * 1e3, 9, "ms");
  row("softmax 1024x1024", run([&] { launch(softmax, 256, 128, a, c, 1024); }) * 1e3, 30, "ms");
  row("WMMA GEMM 128^3", run([&] {
                           launch(wmma_gemm, dim3(8, 8), 32, reinterpret_cast<const __half*>(a),
                                  reinterpret_cast<const __half*>(b), c, 128);
                         }) * 1e3,
      5.7, "ms");
  if (cudaMalloc(&big, 64 << 20) != cudaSuccess) return 1;
  auto launch_and_wait = [&] {
    return best_of(40,
                   [&] {
                     for (int i = 0; i < 50; ++i) {
                       launch(touch, 1, 32, c);
                       cudaDeviceSynchronize();
                     }
                   }) /
           50 * 1e6;
  };
  row("launch + sync 1x32, 64 MiB, guard", launch_and_wait(), 15, "us");
  row("launch, batched 100 per sync",
      run(
          [&] {
            for (int i = 0; i < 100; ++i) launch(touch, 1, 32, c);
          },
          wall) /
          100 * 1e6,
      1.5, "us");
  if (cores.count() < 2) {
    std::printf("2 workers over 1: SKIPPED, one core\n");
    return failed;
  }
  cores.all();
  std::printf("%-34s %9.2f us   (no target)\n", "launch + sync over two cores", launch_and_wait());
  double scale[2], available = cores_now();
  for (int workers : {1, 2}) {
    vgpu::set_workers(workers);
    scale[workers - 1] = run(product, wall);
  }
  double gain = scale[0] / scale[1], wanted = 1.6 * available / 2;
  failed = failed || gain * 2 < wanted;
  std::printf("%-34s %9.2f x   target   1.60, with the %.2f cores there are now %.2f%s\n", "SGEMM, 2 workers over 1",
              gain, available, wanted,
              gain * 2 < wanted ? "  TOO SLOW"
              : gain < wanted   ? "  below"
                                : "");
  return failed;
}
