// A process that runs long: every kind of fault before every call, a thousand faults, copies of every kind, chosen
// blocks, and the same bits in another process.
#include "vgpu_test.h"

#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace vgpu_test;

namespace {

__global__ void ones(float* p) {
  p[threadIdx.x] = 1;
}
__global__ void wild(float* p) {
  p[1l << 40] = 1;
}
__global__ void misaligned(float* p) {
  vgpu::check_alignment(p + 1, 16, __FILE__, __LINE__);
}
__global__ void diverging(float* p) {
  if (threadIdx.x == 0) __syncthreads();
  else p[0] = __shfl_sync(0xffffffffu, 1.0f, 0);
}
__global__ void spinning(int* p) {
  while (atomicAdd(p, 0) != 12345) {
  }
}
__global__ void number_of_block(int* p) {
  if (threadIdx.x == 0) p[blockIdx.x] = static_cast<int>(gridDim.x);
}
__global__ void sum_with_order(const float* x, float* y, int n) {  // the order of blocks shows in the last bits
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = static_cast<int>(blockIdx.x); i < n; i += static_cast<int>(gridDim.x)) sum += x[i];
  atomicAdd(y, sum);
}

long resident_pages() {
  FILE* f = fopen("/proc/self/statm", "r");
  long total = 0, pages = 0;
  REQUIRE(fscanf(f, "%ld %ld", &total, &pages) == 2);
  fclose(f);
  return pages;
}

long maps() {
  FILE* f = fopen("/proc/self/maps", "r");
  long lines = 0;
  for (int c; (c = fgetc(f)) != EOF;) lines += c == '\n';
  fclose(f);
  return lines;
}

/// What makes the device fail with this error.
void fail_with(int error, float* p) {
  if (error == 700) CUDA_OK(launch(wild, 1, 1, p));
  if (error == 716) CUDA_OK(launch(misaligned, 1, 1, p));
  if (error == 719) CUDA_OK(launch(diverging, 1, 32, p));
  if (error == 702) {
    vgpu::set_watchdog(0.2);
    CUDA_OK(launch(spinning, 1, 1, reinterpret_cast<int*>(p)));
  }
}

}  // namespace

TEST_CASE("each kind of fault, then each call") {
  std::vector<int> errors{700, 716, 719};
  if (vgpu::under_asan()) errors = {716, 719};     // a wild address ends the process there
  if (!vgpu::under_tsan()) errors.push_back(702);  // and a spin-wait there
  float host[4] = {};
  const std::function<cudaError_t(float*)> calls[] = {
      [](float*) { return cudaDeviceSynchronize(); },
      [](float*) { return cudaStreamSynchronize(nullptr); },
      [&](float* p) { return cudaMemcpy(host, p, 4, cudaMemcpyDeviceToHost); },
      [&](float* p) { return cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, nullptr); },
      [](float* p) { return cudaFree(p); },
      [](float*) {
        cudaEvent_t e = nullptr;
        cudaEventCreate(&e);
        cudaEventRecord(e, nullptr);
        return cudaEventSynchronize(e);
      }};
  for (const int error : errors)
    for (size_t first = 0; first < std::size(calls); ++first) {
      INFO("error " << error << ", call " << first);
      float* p = nullptr;
      CUDA_OK(cudaMalloc(&p, 64));
      CUDA_OK(cudaMemset(p, 0, 64));
      fail_with(error, p);
      CUDA_IS(calls[first](p), error);                   // it comes up where something waits
      for (auto& next : calls) CUDA_IS(next(p), error);  // and stays
      void* q = nullptr;
      CUDA_IS(cudaMalloc(&q, 4), error);
      CUDA_IS(cudaMemset(p, 0, 4), error);
      CUDA_IS(launch(ones, 1, 4, p), error);
      vgpu::set_watchdog(20);
      reset_device();
      CUDA_OK(cudaMalloc(&p, 64));
      CUDA_OK(launch(ones, 1, 4, p));
      CUDA_OK(cudaMemcpy(host, p, 16, cudaMemcpyDeviceToHost));
      REQUIRE(host[3] == 1);
      CUDA_OK(cudaFree(p));
    }
}

TEST_CASE("a thousand faults leave neither memory nor maps") {
  const int count = vgpu::under_tsan() || vgpu::under_asan() ? 100 : 1000;
  const auto faults = [](int n) {
    for (int i = 0; i < n; ++i) {
      float* p = nullptr;
      CUDA_OK(cudaMalloc(&p, 4096));
      fail_with(i % 2 ? 719 : 716, p);
      CUDA_IS(cudaDeviceSynchronize(), i % 2 ? 719 : 716);
      reset_device();
    }
  };
  faults(count);
  const long pages = resident_pages(), mapped = maps();
  faults(count);
  if (vgpu::under_tsan()) return;  // the race checker's own memory grows
  REQUIRE(maps() - mapped < 10);
  if (!vgpu::under_asan()) REQUIRE(resident_pages() - pages < 300);
}

TEST_CASE("copies: what is complete on return, what waits") {
  cudaStream_t s = nullptr;
  CUDA_OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, 64));
  std::vector<float> pageable(16, 0.0f);
  Buffer<float> x(std::vector<float>(16, 3.0f)), y(std::vector<float>(16, 0.0f));
  for (const bool is_pinned : {false, true}) {
    INFO((is_pinned ? "pinned" : "pageable"));
    float* host = is_pinned ? pinned : pageable.data();
    // to the device, asynchronously: pageable memory was read at the call, pinned memory is read late
    host[0] = 1;
    CUDA_OK(cudaMemcpyAsync(x, host, 4, cudaMemcpyHostToDevice, s));
    host[0] = 2;
    CUDA_OK(cudaStreamSynchronize(s));
    REQUIRE(x.get()[0] == (is_pinned ? 2.0f : 1.0f));
    // to the host, asynchronously: complete in pageable memory, late in pinned memory
    host[0] = -1;
    CUDA_OK(cudaMemcpyAsync(host, x, 4, cudaMemcpyDeviceToHost, s));
    REQUIRE(host[0] == (is_pinned ? -1.0f : 1.0f));
    CUDA_OK(cudaStreamSynchronize(s));
    REQUIRE(host[0] == (is_pinned ? 2.0f : 1.0f));
    // without Async: complete on return, both ways
    host[0] = 7;
    CUDA_OK(cudaMemcpy(x, host, 4, cudaMemcpyHostToDevice));
    host[0] = 8;
    REQUIRE(x.get()[0] == 7.0f);
    CUDA_OK(cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost));
    REQUIRE(host[0] == 7.0f);
  }
  // on the device: queued only
  const uint64_t before = vgpu::operations();
  CUDA_OK(cudaMemcpy(y, x, 4, cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaMemset(y, 0, 4));
  REQUIRE(vgpu::operations() == before);
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaStreamDestroy(s));
}

TEST_CASE("chosen blocks run, the others do not; a smaller grid says so to its kernel") {
  Buffer<int> p(std::vector<int>(8, 0));
  vgpu::run_only_blocks({0, -1, 5, -3, 99, -99});
  CUDA_OK(launch(number_of_block, 8, 32, p));
  vgpu::run_only_blocks({});  // what is queued keeps its choice
  CUDA_OK(cudaDeviceSynchronize());
  REQUIRE(p.get() == std::vector<int>{8, 0, 0, 0, 0, 8, 0, 8});
  vgpu::run_only_blocks({50});
  CUDA_OK(launch(number_of_block, 8, 32, p));  // none at all
  vgpu::run_only_blocks({});
  CUDA_OK(cudaMemset(p, 0, 32));
  vgpu::set_most_blocks(3);
  CUDA_OK(launch(number_of_block, 8, 32, p));
  CUDA_OK(launch(number_of_block, 2, 32, static_cast<int*>(p) + 4));
  vgpu::set_most_blocks(0);
  REQUIRE(p.get() == std::vector<int>{3, 3, 3, 0, 2, 2, 0, 0});
  bool listed = false;
  for (const std::string& name : vgpu::launched_kernels()) listed = listed || has(name, "number_of_block(int*)");
  REQUIRE(listed);
}

PLANTED(bits) {
  vgpu::set_workers(1);
  std::vector<float> values = random_values(5000);
  Buffer<float> x(values), y(std::vector<float>(1, 0.0f));
  CUDA_OK(launch(sum_with_order, 100, 1, x, y, 5000));
  float sum = y.get()[0];
  uint32_t bits;
  std::memcpy(&bits, &sum, 4);
  printf("bits %08x\n", bits);
}

TEST_CASE("one worker and one seed: the same bits in two processes") {
  std::vector<std::string> all;
  for (const char* seed :
       {"TANTU_VGPU_SEED=7", "TANTU_VGPU_SEED=7", "TANTU_VGPU_SEED=8", "TANTU_VGPU_SEED=9", "TANTU_VGPU_SEED=10"}) {
    const std::string text = run_planted("bits", seed).output;
    const size_t at = text.find("bits ");
    REQUIRE(at != std::string::npos);
    all.push_back(text.substr(at, 13));
  }
  REQUIRE(all[0] == all[1]);
  REQUIRE((all[2] != all[0] || all[3] != all[0] || all[4] != all[0]));  // the kernel does depend on the order
}

PLANTED(profile) {
  CUDA_OK(cudaFuncSetAttribute(ones, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 << 10));
  const int refused =
      static_cast<int>(cudaFuncSetAttribute(ones, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  printf("limit %d %d\n", refused, static_cast<int>(cudaGetLastError()));
}

TEST_CASE("B16: 100 KiB of shared memory are refused where the profile has 99") {
  REQUIRE(has(run_planted("profile", "TANTU_VGPU_PROFILE=sm120").output, "limit 1 1"));
  REQUIRE(has(run_planted("profile", "TANTU_VGPU_PROFILE=sm80").output, "limit 0 0"));
}

PLANTED(after_free_async) {
  cudaStream_t s = nullptr;
  CUDA_OK(cudaStreamCreate(&s));
  static float *freed = nullptr, *out = nullptr;
  CUDA_OK(cudaMalloc(&out, 64));
  CUDA_OK(cudaMallocAsync(&freed, 64, s));
  CUDA_OK(launch_on(s, ones, 1, 16, 0, freed));
  CUDA_OK(cudaFreeAsync(freed, s));
  auto kernel = +[](int) { out[0] = freed[3]; };
  CUDA_OK(launch_on(s, kernel, 1, 1, 0, 0));
  float v = 0;
  CUDA_OK(cudaStreamSynchronize(s));
  CUDA_OK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
  printf("read %f\n", static_cast<double>(v));
}

TEST_CASE("B14: memory given back in a stream is poison behind that point") {
  if (vgpu::under_tsan()) return;
  Child child = run_planted("after_free_async");
  INFO(child.output);
  REQUIRE(has(child.output, vgpu::under_asan() ? "use-after-poison" : "nan"));
}

TEST_CASE("a program without symbols: the same values, kernels named by address") {
  if (vgpu::under_asan() || vgpu::under_tsan()) return;
  char self[4096] = {};
  REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  const std::string copy = std::string(self) + "_stripped";
  REQUIRE(std::system(("strip -o '" + copy + "' '" + self + "'").c_str()) == 0);
  REQUIRE(std::system(("'" + copy + "' 'add, every edge size' > /dev/null 2>&1").c_str()) == 0);
  REQUIRE(std::system(("'" + copy + "' 'reductions with shuffles*' > /dev/null 2>&1").c_str()) == 0);
  REQUIRE(std::system(("'" + copy + "' 'B7: *' > /dev/null 2>&1").c_str()) == 0);
  REQUIRE(std::system(("'" + copy + "' 'planted trap' > '" + copy + ".txt' 2>&1").c_str()) == 0);
  std::ifstream report(copy + ".txt");
  const std::string text((std::istreambuf_iterator<char>(report)), {});
  INFO(text);
  REQUIRE(has(text, "report: "));
  REQUIRE(has(text, "kernel at 0x"));
  std::remove(copy.c_str());
  std::remove((copy + ".txt").c_str());
}

PLANTED(trap) {
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  fail_with(719, p);
  CUDA_IS(cudaDeviceSynchronize(), 719);
  printf("report: %s\n", vgpu::last_report().c_str());
}
