// Errors: which stick and which do not, memory limits, injection, bad environment values, many devices.
#include "vgpu_test.h"

#include <thread>

using namespace vgpu_test;

namespace {
__global__ void set_one(float* p) {
  p[0] = 1;
}
__global__ void trap() {
  __trap();
}
__global__ void misuse(float* p) {
  p[threadIdx.x] = __shfl_sync(1u << ((threadIdx.x + 1) % 32), 1.0f, 0);
}
}  // namespace

TEST_CASE("sticky errors answer every later call of their device, and no other device") {
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_OK(launch(trap, 1, 1));
  CUDA_OK(cudaPeekAtLastError());  // asynchronous: not seen yet
  CUDA_IS(cudaDeviceSynchronize(), 719);
  void* q = nullptr;
  cudaStream_t s = nullptr;
  cudaEvent_t e = nullptr;
  CUDA_IS(cudaMalloc(&q, 4), 719);
  CUDA_IS(cudaFree(p), 719);
  CUDA_IS(cudaMemcpy(q, p, 4, cudaMemcpyDefault), 719);
  CUDA_IS(cudaMemset(p, 0, 4), 719);
  CUDA_IS(launch(set_one, 1, 1, p), 719);
  CUDA_IS(cudaStreamCreate(&s), 719);
  CUDA_IS(cudaEventCreate(&e), 719);
  CUDA_IS(cudaStreamSynchronize(nullptr), 719);
  CUDA_IS(cudaGetLastError(), 719);
  CUDA_IS(cudaGetLastError(), 719);  // it stays
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaMalloc(&q, 64));
  CUDA_OK(launch(set_one, 1, 1, static_cast<float*>(q)));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFree(q));
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaDeviceReset());
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaMalloc(&p, 64));
  CUDA_OK(launch(set_one, 1, 1, p));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFree(p));
}

TEST_CASE("errors that do not stick") {
  float* p = nullptr;
  CUDA_IS(cudaSetDevice(7), 101);
  CUDA_IS(cudaPeekAtLastError(), 101);
  CUDA_IS(cudaGetLastError(), 101);
  CUDA_OK(cudaGetLastError());
  CUDA_IS(cudaMallocManaged(reinterpret_cast<void**>(&p), 64), 801);
  REQUIRE(std::string(cudaGetErrorName(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
  REQUIRE(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
  cudaGetLastError();
}

TEST_CASE("the device is as large as it says") {
  size_t free = 0, total = 0, after = 0;
  CUDA_OK(cudaMemGetInfo(&free, &total));
  char *p = nullptr, *q = nullptr;
  CUDA_OK(cudaMalloc(&p, 1000));
  CUDA_OK(cudaMemGetInfo(&after, &total));
  REQUIRE(free - after == 1000);
  CUDA_IS(cudaMalloc(&q, total), 2);
  REQUIRE(has(vgpu::last_report(), "in use"));
  REQUIRE(q == nullptr);
  CUDA_IS(cudaGetLastError(), 2);
  CUDA_OK(cudaMalloc(&q, after));
  CUDA_OK(cudaFree(q));
  CUDA_OK(cudaFree(p));
  CUDA_OK(cudaMalloc(&p, 0));
  REQUIRE(p == nullptr);
  for (int i = 0; i < 8; ++i) {  // holes are used again
    CUDA_OK(cudaMalloc(&p, total / 4));
    CUDA_OK(cudaFree(p));
  }
}

TEST_CASE("faults leak nothing and leave the process working") {
  const int count = vgpu::under_tsan() ? 30 : 300;
  for (int i = 0; i < count; ++i) {
    float* p = nullptr;
    CUDA_OK(cudaMalloc(&p, 256));
    CUDA_OK(launch(misuse, 1, 32, p));
    CUDA_IS(cudaDeviceSynchronize(), 719);
    CUDA_OK(cudaDeviceReset());
  }
}

TEST_CASE("fault injection") {
  void* p = nullptr;
  vgpu::fail("cudaMalloc@2,cudaMemset@1:719");
  CUDA_OK(cudaMalloc(&p, 4));
  void* q = nullptr;
  CUDA_IS(cudaMalloc(&q, 4), 2);
  CUDA_OK(cudaMalloc(&q, 4));
  REQUIRE(vgpu::injected() == 1);
  CUDA_IS(cudaMemset(p, 0, 4), 719);
  CUDA_IS(cudaMalloc(&p, 4), 719);  // 719 sticks
  reset_device();
  vgpu::fail("*@2+");
  CUDA_OK(cudaMalloc(&p, 4));
  CUDA_IS(cudaMalloc(&q, 4), 2);
  CUDA_IS(cudaMemset(p, 0, 4), 999);
  vgpu::fail("");
  reset_device();
  for (const char* bad : {"cudaMalloc", "@3", "cudaMalloc@", "cudaMalloc@0", "cudaMalloc@x",
                          "cudaMalloc@3:", "a@1,,b@2", "cudaMalloc@3:1000", "a@1,"}) {
    INFO(bad);
    REQUIRE_THROWS_WITH(vgpu::fail(bad), Catch::Matchers::Contains(bad));
  }
  // Any call may fail, at any point: an error each time, no hang, and the rest works.
  for (int k = 1;; ++k) {
    vgpu::fail("*@" + std::to_string(k));
    float* memory = nullptr;
    cudaStream_t stream = nullptr;
    int errors = 0;
    errors += cudaMalloc(&memory, 64) != 0;
    errors += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != 0;
    if (memory && stream) errors += launch_on(stream, set_one, 1, 1, 0, memory) != 0;
    if (stream) errors += cudaStreamSynchronize(stream) != 0;
    long fired = vgpu::injected();
    vgpu::fail("");
    reset_device();
    if (!fired) break;
    REQUIRE(errors > 0);
    REQUIRE(k < 20);
  }
}

PLANTED(environment) {
  int n = 0;
  try {
    cudaGetDeviceCount(&n);
    printf("count %d\n", n);
    for (int i = 0; i < n; ++i) {
      cudaDeviceProp p;
      cudaGetDeviceProperties(&p, i);
      printf("sees %d\n", p.pciBusID);
    }
  } catch (const vgpu::ConfigError& e) {
    printf("refused: %s\n", e.what());
  }
}

TEST_CASE("bad environment values name the variable, the value and what is allowed") {
  for (const char* bad : {"TANTU_VGPU_DEVICES=65", "TANTU_VGPU_DEVICES=-1", "TANTU_VGPU_DEVICES=2x",
                          "TANTU_VGPU_MEMORY=12Q", "TANTU_VGPU_MEMORY=99999999999999999999", "TANTU_VGPU_WORKERS=0",
                          "TANTU_VGPU_SEED=abc", "TANTU_VGPU_PROFILE=sm70", "TANTU_VGPU_PEER=some",
                          "TANTU_VGPU_GUARD=yes", "TANTU_VGPU_WATCHDOG=-3", "TANTU_VGPU_ON_FAULT=exit",
                          "TANTU_VGPU_FAIL=x@y", "TANTU_VGPU_VISIBLE_DEVICES=1x", "TANTU_VGPU_VISIBLE_DEVICES=x"}) {
    std::string text = bad;
    Child child = run_planted("environment", text);
    INFO(text << "\n" << child.output);
    REQUIRE(has(child.output,
                "refused: " + text.substr(0, text.find('=')) + "=\"" + text.substr(text.find('=') + 1) + "\""));
  }
  REQUIRE(has(run_planted("environment", "TANTU_VGPU_DEVICES=0").output, "count 0"));
  REQUIRE(has(run_planted("environment", "TANTU_VGPU_DEVICES=8").output, "count 8"));
  REQUIRE(has(run_planted("environment", "TANTU_VGPU_DEVICES=1").output, "CPU emulation, not a GPU"));
}

TEST_CASE("the visible devices are those named, up to the first that does not exist") {
  const std::pair<const char*, std::vector<int>> cases[] = {
      {"2,0", {2, 0}}, {"3,9,1", {3}}, {"-1", {}}, {"1,1", {}}, {"", {}}, {"0,1,2,3,4", {0, 1, 2, 3}}};
  for (auto& [text, seen] : cases) {
    const std::string output =
        run_planted("environment", std::string("TANTU_VGPU_DEVICES=4 TANTU_VGPU_VISIBLE_DEVICES=") + text).output;
    INFO(text << "\n" << output);
    REQUIRE(has(output, "count " + std::to_string(seen.size())));
    std::string numbers;
    for (int i : seen) numbers += "sees " + std::to_string(i) + "\n";
    REQUIRE(has(output, numbers));
  }
}

PLANTED(many_devices) {
  std::vector<std::thread> threads;
  for (int d = 0; d < 8; ++d)
    threads.emplace_back([d] {
      float* p = nullptr;
      float v = 0;
      bool fine = cudaSetDevice(d) == 0;
      for (int i = 0; i < 20; ++i) {
        fine = fine && cudaMalloc(&p, 4096) == 0 && launch(set_one, 1, 1, p) == 0 &&
               cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost) == 0 && v == 1.0f && cudaFree(p) == 0;
      }
      if (!fine) std::abort();
    });
  for (auto& t : threads) t.join();
  printf("eight devices worked\n");
}

TEST_CASE("eight devices, a host thread for each") {
  Child child = run_planted("many_devices", "TANTU_VGPU_DEVICES=8");
  INFO(child.output);
  REQUIRE(child.status == 0);
  REQUIRE(has(child.output, "eight devices worked"));
}

PLANTED(abort_on_fault) {
  CUDA_OK(launch(trap, 1, 1));
  cudaDeviceSynchronize();
}

TEST_CASE("TANTU_VGPU_ON_FAULT=abort stops the process at the fault") {
  Child child = run_planted("abort_on_fault", "TANTU_VGPU_ON_FAULT=abort");
  INFO(child.output);
  REQUIRE(child.status != 0);
  REQUIRE(has(child.output, "trap at error_test.cu:"));
}

TEST_CASE("device properties say what this is") {
  cudaDeviceProp p;
  CUDA_OK(cudaGetDeviceProperties(&p, 0));
  REQUIRE(std::string(p.name) == "tantu virtual GPU (not hardware)");
  REQUIRE(p.warpSize == 32);
  REQUIRE(p.multiProcessorCount == 8);
  int v = 0;
  CUDA_OK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
  REQUIRE(v == 8);
  CUDA_IS(cudaGetDeviceProperties(&p, 2), 101);
  cudaGetLastError();
}
