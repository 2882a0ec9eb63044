// Streams, events, copies: what is queued runs only when something waits for it, in the order that CUDA promises.
#include "vgpu_test.h"

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <thread>

using namespace vgpu_test;

namespace {

__global__ void set_all(float* p, float v) {
  p[threadIdx.x] = v;
}
__global__ void copy_all(const float* from, float* to) {
  to[threadIdx.x] = from[threadIdx.x];
}

struct Streams {
  cudaStream_t a = nullptr, b = nullptr;
  explicit Streams(unsigned flags = cudaStreamNonBlocking) {
    CUDA_OK(cudaStreamCreateWithFlags(&a, flags));
    CUDA_OK(cudaStreamCreateWithFlags(&b, flags));
  }
  ~Streams() {
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
};

struct Pinned {
  float* p = nullptr;
  explicit Pinned(size_t count) { CUDA_OK(cudaMallocHost(&p, count * sizeof(float))); }
  ~Pinned() { cudaFreeHost(p); }
};

}  // namespace

TEST_CASE("B13: a missing event between streams is a stale value every time") {
  each_schedule(10, 2, [] {
    Streams s;
    Buffer<float> x(std::vector<float>(32, 1.0f)), y(32);
    CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 2.0f));
    CUDA_OK(launch_on(s.b, copy_all, 1, 32, 0, x, y));  // no event
    CUDA_OK(cudaStreamSynchronize(s.b));
    REQUIRE(y.get()[0] == 1.0f);
    CUDA_OK(cudaDeviceSynchronize());

    cudaEvent_t e = nullptr;
    CUDA_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 3.0f));
    CUDA_OK(cudaEventRecord(e, s.a));
    CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 4.0f));
    CUDA_OK(cudaStreamWaitEvent(s.b, e));
    CUDA_OK(cudaEventRecord(e, s.a));  // moves the event, not the wait
    CUDA_OK(launch_on(s.b, copy_all, 1, 32, 0, x, y));
    CUDA_OK(cudaStreamSynchronize(s.b));
    REQUIRE(y.get()[0] == 3.0f);
    CUDA_OK(cudaEventDestroy(e));
    CUDA_OK(cudaDeviceSynchronize());
  });
}

TEST_CASE("B13: pinned memory read early and reused early") {
  each_schedule(5, 1, [] {
    Streams s;
    Pinned host(32);
    Buffer<float> x(std::vector<float>(32, 5.0f));
    host.p[0] = -1.0f;
    CUDA_OK(cudaMemcpyAsync(host.p, x, 128, cudaMemcpyDeviceToHost, s.a));
    REQUIRE(host.p[0] == -1.0f);  // not there yet
    CUDA_OK(cudaStreamSynchronize(s.a));
    REQUIRE(host.p[0] == 5.0f);

    host.p[0] = 6.0f;
    CUDA_OK(cudaMemcpyAsync(x, host.p, 128, cudaMemcpyHostToDevice, s.a));
    host.p[0] = 7.0f;  // too early
    CUDA_OK(cudaStreamSynchronize(s.a));
    REQUIRE(x.get()[0] == 7.0f);
  });
}

TEST_CASE("copies with pageable memory") {
  Streams s;
  Buffer<float> x(std::vector<float>(32, 1.0f)), y(32);
  std::vector<float> host(32, 8.0f);
  CUDA_OK(cudaMemcpyAsync(x, host.data(), 128, cudaMemcpyHostToDevice, s.a));
  host[0] = 9.0f;  // a snapshot was taken
  CUDA_OK(cudaStreamSynchronize(s.a));
  REQUIRE(x.get()[0] == 8.0f);
  CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 10.0f));
  CUDA_OK(cudaMemcpyAsync(host.data(), x, 128, cudaMemcpyDeviceToHost, s.a));
  REQUIRE(host[0] == 10.0f);  // complete on return

  uint64_t before = vgpu::operations();
  CUDA_OK(cudaMemcpy(y, x, 128, cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaMemset(y, 0, 4));
  REQUIRE(vgpu::operations() == before);  // queued only
  auto v = y.get();
  REQUIRE(v[0] == 0.0f);
  REQUIRE(v[1] == 10.0f);

  std::vector<float> rows(6, 0.0f);
  CUDA_OK(cudaMemcpy2DAsync(rows.data(), 12, x, 16, 8, 2, cudaMemcpyDeviceToHost, s.a));
  REQUIRE(rows == std::vector<float>{10, 10, 0, 10, 10, 0});
  CUDA_IS(cudaMemcpy2DAsync(rows.data(), 4, x, 16, 8, 2, cudaMemcpyDeviceToHost, s.a), 12);
  CUDA_IS(cudaMemcpy(host.data(), x, 128, cudaMemcpyHostToDevice), 21);
  CUDA_IS(cudaMemcpy(host.data(), x, 132, cudaMemcpyDeviceToHost), 1);
  REQUIRE(has(vgpu::last_report(), "leaves its allocation of 128 bytes"));
  CUDA_OK(cudaMemcpy(host.data(), x, 128, cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(static_cast<float*>(x) + 1, static_cast<float*>(x), 8, cudaMemcpyDeviceToDevice));
  REQUIRE(has(vgpu::last_report(), "overlap"));
  CUDA_OK(cudaDeviceSynchronize());
  cudaGetLastError();
}

TEST_CASE("the default stream waits for blocking streams and they for it") {
  each_schedule(10, 1, [] {
    Streams s(cudaStreamDefault), free(cudaStreamNonBlocking);
    Buffer<float> x(std::vector<float>(32, 1.0f)), y(32), z(std::vector<float>(32, 0.0f));
    CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 2.0f));
    CUDA_OK(launch_on(nullptr, copy_all, 1, 32, 0, x, y));
    CUDA_OK(launch_on(s.b, copy_all, 1, 32, 0, y, z));
    CUDA_OK(cudaStreamSynchronize(s.b));
    REQUIRE(z.get()[0] == 2.0f);
    CUDA_OK(launch_on(nullptr, set_all, 1, 32, 0, x, 3.0f));
    CUDA_OK(launch_on(free.a, copy_all, 1, 32, 0, x, y));
    CUDA_OK(cudaStreamSynchronize(free.a));
    REQUIRE(y.get()[0] == 2.0f);
  });
}

TEST_CASE("queries make progress only where this thread has queued; polling ends") {
  Streams s;
  Buffer<float> x(32);
  for (int i = 0; i < 3; ++i) CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 1.0f));
  cudaStream_t stream = s.a;
  std::thread([stream] {
    for (int i = 0; i < 10; ++i)
      if (cudaStreamQuery(stream) != cudaErrorNotReady) std::abort();
  }).join();
  CUDA_IS(vgpu::peek_stream(s.a), 600);
  CUDA_IS(cudaStreamQuery(s.a), 600);
  CUDA_IS(cudaStreamQuery(s.a), 600);
  CUDA_OK(cudaGetLastError());  // not ready is no error to remember
  CUDA_OK(cudaStreamQuery(s.a));
  cudaEvent_t e = nullptr;
  CUDA_OK(cudaEventCreate(&e));
  CUDA_OK(cudaEventQuery(e));  // never recorded
  CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 1.0f));
  CUDA_OK(cudaEventRecord(e, s.a));
  int polls = 0;
  while (cudaEventQuery(e) == cudaErrorNotReady) REQUIRE(++polls < 10);
  REQUIRE(polls == 1);
  float ms = 0;
  cudaEvent_t fresh = nullptr;
  CUDA_OK(cudaEventCreate(&fresh));
  CUDA_IS(cudaEventElapsedTime(&ms, e, fresh), 400);
  CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, 1.0f));
  CUDA_OK(cudaEventRecord(fresh, s.a));
  CUDA_IS(cudaEventElapsedTime(&ms, e, fresh), 600);
  CUDA_OK(cudaEventSynchronize(fresh));
  CUDA_OK(cudaEventElapsedTime(&ms, e, fresh));
  REQUIRE(ms > 0.0f);
  CUDA_OK(cudaEventDestroy(e));
  CUDA_OK(cudaEventDestroy(fresh));
  cudaGetLastError();
}

PLANTED(model_time) {
  try {
    float *from = nullptr, *to = nullptr, ms = 0;
    cudaEvent_t start = nullptr, end = nullptr;
    const size_t bytes = 1000000;
    CUDA_OK(cudaMalloc(&from, bytes));
    CUDA_OK(cudaMalloc(&to, bytes));
    CUDA_OK(cudaEventCreate(&start));
    CUDA_OK(cudaEventCreate(&end));
    CUDA_OK(cudaEventRecord(start, nullptr));
    CUDA_OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr));
    CUDA_OK(cudaEventRecord(end, nullptr));
    CUDA_OK(cudaEventSynchronize(end));
    CUDA_OK(cudaEventElapsedTime(&ms, start, end));
    printf("took %.3f ms\n", static_cast<double>(ms));
  } catch (const vgpu::ConfigError& e) {
    printf("refused: %s\n", e.what());
  }
}

TEST_CASE("event times come from the model's file, which is refused where it is wrong") {
  const std::string path = "model_" + std::to_string(getpid()) + ".json";
  auto with = [&](const std::string& json) {
    FILE* file = fopen(path.c_str(), "wb");
    REQUIRE(file);
    fwrite(json.data(), 1, json.size(), file);
    fclose(file);
    std::string output = run_planted("model_time", "TANTU_VGPU_MODEL=" + path).output;
    INFO(json.substr(0, 200) << "\n" << output);
    remove(path.c_str());
    return output;
  };
  REQUIRE(has(with(R"({"link_gbps": 1, "copy_start_ns": 500000})"), "took 1.500 ms"));
  REQUIRE(has(with(" { } \n"), "took 0.091 ms"));
  for (const char* bad :
       {"", "{", "[]", "{\"link_gbps\"}", "{\"link_gbps\":}", "{\"link_gbps\": 0}", "{\"link_gbps\": -1}",
        "{\"link_gbps\": nan}", "{\"link_gbps\": inf}", "{\"link_gbps\": 1e999}", "{\"speed\": 1}",
        "{\"link_gbps\": 1,}", "{\"link_gbps\": 1} x", "{\"link_gbps"})
    REQUIRE(has(with(bad), "refused: TANTU_VGPU_MODEL="));
  REQUIRE(has(with(std::string(70000, ' ')), "more than 64 KiB"));
  REQUIRE(has(run_planted("model_time", "TANTU_VGPU_MODEL=no_such_file.json").output, "no such file"));
}

TEST_CASE("long queues, host functions, destroyed streams, stream-ordered memory") {
  Streams s;
  Buffer<float> x(32), y(32);
  uint64_t before = vgpu::operations();
  for (int i = 0; i < 1024; ++i) CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, x, static_cast<float>(i)));
  REQUIRE(vgpu::operations() - before == 512);
  static int called;
  static cudaError_t inner;
  called = 0;
  CUDA_OK(cudaLaunchHostFunc(
      s.a,
      [](void*) {
        ++called;
        void* p = nullptr;
        inner = cudaMalloc(&p, 4);
      },
      nullptr));
  REQUIRE(called == 0);
  CUDA_OK(cudaStreamSynchronize(s.a));
  REQUIRE(called == 1);
  CUDA_IS(inner, 800);

  cudaStream_t gone = nullptr;
  CUDA_OK(cudaStreamCreate(&gone));
  CUDA_OK(launch_on(gone, set_all, 1, 32, 0, x, 77.0f));
  CUDA_OK(cudaStreamDestroy(gone));
  CUDA_IS(cudaStreamSynchronize(gone), 400);
  CUDA_OK(cudaDeviceSynchronize());
  REQUIRE(x.get()[0] == 77.0f);

  float* p = nullptr;
  CUDA_OK(cudaMallocAsync(&p, 128, s.a));
  CUDA_OK(launch_on(s.a, set_all, 1, 32, 0, p, 4.0f));
  CUDA_OK(launch_on(s.a, copy_all, 1, 32, 0, p, x));
  CUDA_OK(cudaFreeAsync(p, s.a));
  CUDA_IS(cudaFree(p), 1);
  CUDA_OK(cudaStreamSynchronize(s.a));
  REQUIRE(x.get()[0] == 4.0f);
  CUDA_IS(launch_on(s.a, set_all, 1, 32, 0, p, 4.0f), 700);
  reset_device();
}

TEST_CASE("peer copies") {
  float *there = nullptr, *here = nullptr;
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaMalloc(&there, 128));
  CUDA_OK(launch(set_all, 1, 32, there, 12.0f));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaMalloc(&here, 128));
  CUDA_OK(cudaMemcpyPeerAsync(here, 0, there, 1, 128, nullptr));
  float v = 0;
  CUDA_OK(cudaMemcpy(&v, here, 4, cudaMemcpyDeviceToHost));
  REQUIRE(v == 12.0f);
  CUDA_IS(cudaMemcpyPeerAsync(here, 1, there, 1, 128, nullptr), 1);
  cudaPointerAttributes attributes;
  CUDA_OK(cudaPointerGetAttributes(&attributes, there));
  REQUIRE(attributes.type == cudaMemoryTypeDevice);
  REQUIRE(attributes.device == 1);
  CUDA_OK(cudaPointerGetAttributes(&attributes, &v));
  REQUIRE(attributes.type == cudaMemoryTypeUnregistered);
  CUDA_OK(cudaFree(there));
  CUDA_OK(cudaFree(here));
  cudaGetLastError();
}
