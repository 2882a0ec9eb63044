// Collectives between virtual devices: values, groups, mismatches, deadlocks and dead ranks.
#include "vgpu_test.h"

#include <cuda_fp16.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace vgpu_test;

namespace {

constexpr int ranks = 2;

struct World {
  ncclComm_t comm[ranks] = {};
  float *in[ranks] = {}, *out[ranks] = {};
  World() {
    vgpu::set_nccl_timeout(2);
    REQUIRE(ncclCommInitAll(comm, ranks, nullptr) == ncclSuccess);
    for (int r = 0; r < ranks; ++r) {
      CUDA_OK(cudaSetDevice(r));
      CUDA_OK(cudaMalloc(&in[r], 64));
      CUDA_OK(cudaMalloc(&out[r], 64));
      std::vector<float> v{float(r + 1), float(10 * (r + 1)), 3, 4};
      CUDA_OK(cudaMemcpy(in[r], v.data(), 16, cudaMemcpyHostToDevice));
    }
    CUDA_OK(cudaSetDevice(0));
  }
  ~World() {
    for (int r = 0; r < ranks; ++r) {
      cudaSetDevice(r);
      cudaDeviceReset();
    }
    cudaSetDevice(0);
    vgpu::nccl_reset_faults();
  }
  std::vector<float> get(int r, size_t n) {
    std::vector<float> v(n);
    CUDA_OK(cudaSetDevice(r));
    CUDA_OK(cudaMemcpy(v.data(), out[r], n * 4, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaSetDevice(0));
    return v;
  }
  /// Waits for one device from this thread; the CUDA error.
  static int wait(int r) {
    cudaSetDevice(r);
    int e = cudaDeviceSynchronize();
    cudaSetDevice(0);
    return e;
  }
};

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace

TEST_CASE("every collective, one thread with groups") {
  each_schedule(3, 1, [] {
    World w;
    auto all = [&](auto call) {
      REQUIRE(ncclGroupStart() == ncclSuccess);
      for (int r = 0; r < ranks; ++r) REQUIRE(call(r) == ncclSuccess);
      REQUIRE(ncclGroupEnd() == ncclSuccess);
    };
    all([&](int r) { return ncclAllReduce(w.in[r], w.out[r], 2, ncclFloat32, ncclSum, w.comm[r], nullptr); });
    for (int r = 0; r < ranks; ++r) REQUIRE(w.get(r, 2) == std::vector<float>{3, 30});
    all([&](int r) { return ncclAllReduce(w.in[r], w.out[r], 2, ncclFloat32, ncclAvg, w.comm[r], nullptr); });
    REQUIRE(w.get(1, 2) == std::vector<float>{1.5f, 15});
    all([&](int r) { return ncclAllReduce(w.in[r], w.out[r], 2, ncclFloat32, ncclMax, w.comm[r], nullptr); });
    REQUIRE(w.get(0, 2) == std::vector<float>{2, 20});
    all([&](int r) { return ncclAllGather(w.in[r], w.out[r], 2, ncclFloat32, w.comm[r], nullptr); });
    REQUIRE(w.get(1, 4) == std::vector<float>{1, 10, 2, 20});
    all([&](int r) { return ncclReduceScatter(w.in[r], w.out[r], 1, ncclFloat32, ncclSum, w.comm[r], nullptr); });
    REQUIRE(w.get(0, 1)[0] == 3);
    REQUIRE(w.get(1, 1)[0] == 30);
    all([&](int r) { return ncclBroadcast(w.in[r], w.out[r], 2, ncclFloat32, 1, w.comm[r], nullptr); });
    REQUIRE(w.get(0, 2) == std::vector<float>{2, 20});
    all([&](int r) { return ncclReduce(w.in[r], w.out[r], 2, ncclFloat32, ncclProd, 0, w.comm[r], nullptr); });
    REQUIRE(w.get(0, 2) == std::vector<float>{2, 200});
    all([&](int r) { return ncclAllReduce(w.in[r], w.in[r], 1, ncclFloat32, ncclSum, w.comm[r], nullptr); });
    all([&](int r) { return ncclAllReduce(w.in[r], w.out[r], 1, ncclFloat32, ncclSum, w.comm[r], nullptr); });
    REQUIRE(w.get(0, 1)[0] == 6);
    all([&](int r) {  // a ring, grouped
      ncclResult_t e = ncclSend(w.in[r], 2, ncclFloat32, 1 - r, w.comm[r], nullptr);
      return e ? e : ncclRecv(w.out[r], 2, ncclFloat32, 1 - r, w.comm[r], nullptr);
    });
    REQUIRE(w.get(0, 2)[1] == 20);
    REQUIRE(w.get(1, 2)[1] == 10);
  });
}

TEST_CASE("ranks as threads") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      ncclComm_t comm = nullptr;
      __half* p = nullptr;
      cudaStream_t s = nullptr;
      bool fine = cudaSetDevice(r) == 0 && ncclCommInitRank(&comm, ranks, id, r) == 0 && cudaMalloc(&p, 64) == 0 &&
                  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == 0;
      for (int i = 0; fine && i < 20; ++i) {
        std::vector<__half> v(4, __half(float(r + i)));
        fine = cudaMemcpyAsync(p, v.data(), 8, cudaMemcpyHostToDevice, s) == 0 &&
               ncclAllReduce(p, p, 4, ncclFloat16, ncclSum, comm, s) == 0 &&
               cudaMemcpyAsync(v.data(), p, 8, cudaMemcpyDeviceToHost, s) == 0 && float(v[3]) == float(2 * i + 1);
      }
      if (fine && cudaFree(p) == 0 && cudaStreamDestroy(s) == 0 && ncclCommDestroy(comm) == 0) ++right;
    });
  for (auto& t : threads) t.join();
  INFO(vgpu::last_report());
  REQUIRE(right == ranks);
}

TEST_CASE("B17: mismatches fail on all ranks with a table") {
  struct Case {
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
  };
  for (Case c : {Case{1, ncclFloat32, ncclSum}, Case{2, ncclInt32, ncclSum}, Case{2, ncclFloat32, ncclMax}}) {
    World w;
    REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclSuccess);
    REQUIRE(ncclAllReduce(w.in[1], w.out[1], c.count, c.type, c.op, w.comm[1], nullptr) == ncclSuccess);
    REQUIRE(World::wait(0) == 719);
    REQUIRE(has(vgpu::last_report(), "NCCL mismatch:"));
    REQUIRE(has(vgpu::last_report(), "nccl_test.cpp:"));
    REQUIRE(World::wait(1) == 719);
    ncclResult_t e = ncclSuccess;
    REQUIRE(ncclCommGetAsyncError(w.comm[1], &e) == ncclSuccess);
    REQUIRE(e == ncclInvalidUsage);
  }
  World w;
  REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclSuccess);
  REQUIRE(ncclBroadcast(w.in[1], w.out[1], 2, ncclFloat32, 0, w.comm[1], nullptr) == ncclSuccess);
  REQUIRE(World::wait(1) == 719);
}

TEST_CASE("B17: a ring without groups and a lone rank are deadlocks, reported at once") {
  auto start = std::chrono::steady_clock::now();
  {
    World w;
    for (int r = 0; r < ranks; ++r) {
      REQUIRE(ncclSend(w.in[r], 2, ncclFloat32, 1 - r, w.comm[r], nullptr) == ncclSuccess);
      REQUIRE(ncclRecv(w.out[r], 2, ncclFloat32, 1 - r, w.comm[r], nullptr) == ncclSuccess);
    }
    REQUIRE(World::wait(0) == 719);
    REQUIRE(has(vgpu::last_report(), "NCCL deadlock: nobody can proceed"));
    REQUIRE(has(vgpu::last_report(), "rank 0 waits in Send at nccl_test.cpp:"));
    REQUIRE(has(vgpu::last_report(), "rank 1 waits in Send at nccl_test.cpp:"));
  }
  {
    World w;
    REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclSuccess);
    REQUIRE(World::wait(0) == 719);
    REQUIRE(has(vgpu::last_report(), "for rank 1"));
  }
  REQUIRE(seconds_since(start) < (vgpu::under_tsan() ? 10 : 2));
}

TEST_CASE("B17: a killed or hung rank, and abort while another thread waits") {
  {
    World w;
    vgpu::nccl_kill(1, 0);
    REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclSuccess);
    ncclAllReduce(w.in[1], w.out[1], 2, ncclFloat32, ncclSum, w.comm[1], nullptr);
    REQUIRE(World::wait(0) == 719);
    ncclResult_t e = ncclSuccess;
    REQUIRE(ncclCommGetAsyncError(w.comm[0], &e) == ncclSuccess);
    REQUIRE(e == ncclRemoteError);
    REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclRemoteError);
  }
  {
    World w;
    vgpu::nccl_hang(1, 0);
    for (int r = 0; r < ranks; ++r) ncclAllReduce(w.in[r], w.out[r], 2, ncclFloat32, ncclSum, w.comm[r], nullptr);
    REQUIRE(World::wait(0) == 719);
  }
  {
    World w;
    vgpu::nccl_delay(1, 3);
    for (int r = 0; r < ranks; ++r) ncclAllReduce(w.in[r], w.out[r], 2, ncclFloat32, ncclSum, w.comm[r], nullptr);
    REQUIRE(World::wait(0) == 0);
    REQUIRE(w.get(0, 1)[0] == 3);
  }
  World w;
  std::atomic<int> result{-1};
  REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclSuccess);
  auto start = std::chrono::steady_clock::now();
  std::thread waiter([&] { result = World::wait(0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  REQUIRE(ncclCommAbort(w.comm[1]) == ncclSuccess);
  waiter.join();
  REQUIRE(result == 719);
  REQUIRE(seconds_since(start) < (vgpu::under_tsan() ? 5 : 1));
  REQUIRE(ncclAllReduce(w.in[1], w.out[1], 2, ncclFloat32, ncclSum, w.comm[1], nullptr) == ncclInvalidUsage);
}

TEST_CASE("B17: arguments that are refused") {
  World w;
  REQUIRE(ncclGroupEnd() == ncclInvalidUsage);
  REQUIRE(ncclAllReduce(w.in[1], w.out[0], 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclInvalidArgument);
  REQUIRE(ncclAllReduce(w.in[0], w.in[0] + 1, 2, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclInvalidArgument);
  REQUIRE(ncclAllReduce(w.in[0], w.out[0], 2000, ncclFloat32, ncclSum, w.comm[0], nullptr) == ncclInvalidArgument);
  REQUIRE(ncclBroadcast(w.in[0], w.out[0], 2, ncclFloat32, 9, w.comm[0], nullptr) == ncclInvalidArgument);
  int devices[2] = {0, 0};
  ncclComm_t twice[2];
  REQUIRE(ncclCommInitAll(twice, 2, devices) == ncclInvalidUsage);
  REQUIRE(has(vgpu::last_report(), "both on vgpu:0"));
}
