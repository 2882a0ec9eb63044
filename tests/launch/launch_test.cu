// Faults of kernels, as their callers meet them: a typed error with the operation, the launch and the caller's line,
// after which the engine goes on. Kernels of this file are wrong on purpose; real ones run in tests/gpu.
#include <tantu/tests/catch.h>
#include <tantu/kernels/launch.cuh>

#include <tantu/autograd/ops.h>
#include <tantu/core/gpu.h>

namespace tantu {
namespace {

__global__ void fill_kernel(float* y, int64_t n, float value) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = value;
}

// Its pointer hides in a structure, where no runtime looks for it.
struct Hidden {
  float* y;
};
__global__ void hidden_kernel(Hidden h, int64_t i) {
  h.y[i] = 1;
}

// The devices of the target that this file is compiled for; a fault ends silicon's part of a process, so the tests of
// faults take virtual GPUs only.
std::vector<Device> my_devices(int at_least = 1) {
  std::vector<Device> found;
  for (int i = 0; i < device_count(kGpuDeviceType); ++i) found.emplace_back(kGpuDeviceType, i);
  if (static_cast<int>(found.size()) < at_least) skip_test("not enough GPUs (virtual ones: TANTU_VGPU_DEVICES=2)");
  return found;
}
bool faults_are_survived() {
  if (kGpuDeviceType == DeviceType::VGPU) return true;
  skip_test("a fault on silicon would end this process's use of the device");
  return false;
}

GpuContext context(Device device, const char* op) {
  return {{device.index(), gpu::current_stream_handle(device), op}};
}

// What a public operation does: the caller's line, then a launch.
template <class... Args>
void faulty_op(Device device, void (*kernel)(float*, int64_t, float), int64_t blocks, int threads, size_t smem,
               float* y, int64_t n, Site at = Site::here()) {
  const SiteScope scope(at);
  launch(context(device, "faulty_op"), "fill_kernel", kernel, blocks, threads, smem, y, n, 1.f);
}
void hidden_op(Device device, float* y, int64_t i, Site at = Site::here()) {
  const SiteScope scope(at);
  launch(context(device, "hidden_op"), "hidden_kernel", hidden_kernel, 1, 1, 0, Hidden{y}, i);
}

template <class F>
AcceleratorError caught(F&& f) {
  try {
    f();
  } catch (const AcceleratorError& e) {
    return e;
  }
  FAIL("no AcceleratorError was thrown");
  return {"", 0};
}

void tells(const AcceleratorError& e, int code, std::initializer_list<const char*> parts) {
  INFO(e.what());
  CHECK(e.error_code() == code);
  for (const char* part : parts) {
    INFO(part);
    CHECK(std::string(e.what()).find(part) != std::string::npos);
  }
}

// The device computes, keeps what it had, and has no error left over.
void goes_on(Device device, const Tensor& kept) {
  CHECK(kept.sum().item<float>() == 6);
  CHECK((ones({100}, {.device = device}) * 2).sum().item<float>() == 200);
  CHECK_NOTHROW(gpu::synchronize(device));
}

Tensor something(Device device) {
  return tensor({1.f, 2.f, 3.f}).to(device);
}

}  // namespace

TEST_CASE("bad launch configurations") {
  for (Device device : my_devices()) {
    const Tensor kept = something(device), y = zeros({64}, {.device = device});
    tells(caught([&] { faulty_op(device, fill_kernel, 1, 2048, 0, y.data_ptr<float>(), 64); }), 9,
          {"faulty_op: launch of fill_kernel (1 blocks of 2048 threads", "cudaErrorInvalidConfiguration", "called at",
           "launch_test.cu:"});
    goes_on(device, kept);
    tells(caught([&] { faulty_op(device, fill_kernel, 1, 64, 64 << 10, y.data_ptr<float>(), 64); }), 1,
          {"faulty_op: launch of fill_kernel", "65536 bytes of shared memory", "called at", "launch_test.cu:"});
    goes_on(device, kept);
    CHECK_THROWS_AS(faulty_op(device, fill_kernel, int64_t{1} << 31, 64, 0, y.data_ptr<float>(), 64), ShapeError);
    CHECK_THROWS_AS(faulty_op(device, fill_kernel, 0, 64, 0, y.data_ptr<float>(), 64), ShapeError);
    CHECK_THROWS_AS(faulty_op(device, nullptr, 1, 64, 0, y.data_ptr<float>(), 64), AcceleratorError);
    goes_on(device, kept);
    CHECK(y.sum().item<float>() == 0);
  }
}

TEST_CASE("host pointers given to kernels") {
  if (!faults_are_survived()) return;
  for (Device device : my_devices()) {
    const Tensor kept = something(device);
    float here[64];
    tells(caught([&] { faulty_op(device, fill_kernel, 1, 64, 0, here, 64); }), 700,
          {"faulty_op: launch of fill_kernel", "argument 1 is a host pointer", "called at", "launch_test.cu:"});
    goes_on(device, kept);
  }
}

TEST_CASE("freed memory given to kernels") {
  if (!faults_are_survived()) return;
  for (Device device : my_devices()) {
    const Tensor kept = something(device);
    float* gone = zeros({64}, {.device = device}).data_ptr<float>();
    tells(caught([&] { faulty_op(device, fill_kernel, 1, 64, 0, gone, 64); }), 700,
          {"faulty_op: launch of fill_kernel", "points into no live allocation", "launch_test.cu:"});
    goes_on(device, kept);
  }
}

TEST_CASE("kernels on the wrong device") {
  if (!faults_are_survived()) return;
  const std::vector<Device> devices = my_devices(2);
  if (devices.size() < 2) return;
  const Tensor kept = something(devices[0]), there = zeros({64}, {.device = devices[1]});
  const std::string place = devices[1].to_string();
  tells(caught([&] { faulty_op(devices[0], fill_kernel, 1, 64, 0, there.data_ptr<float>(), 64); }), 700,
        {"faulty_op: launch of fill_kernel", place.c_str(), "without peer access", "launch_test.cu:"});
  tells(caught([&] { hidden_op(devices[0], there.data_ptr<float>(), 0); }), 700,
        {"hidden_op: launch of hidden_kernel", place.c_str(), "launch_test.cu:"});
  goes_on(devices[0], kept);
  CHECK(there.sum().item<float>() == 0);
}

TEST_CASE("a fault inside a kernel is met by the next wait, and names the launch and who asked for it") {
  if (!faults_are_survived()) return;
  for (Device device : my_devices()) {
    const Tensor kept = something(device), y = zeros({64}, {.device = device});
    const auto fault = [&] { hidden_op(device, y.data_ptr<float>(), int64_t{1} << 40); };
    if (gpu::launch_blocking()) {
      tells(caught(fault), 700, {"hidden_op: launch of hidden_kernel", "called at", "launch_test.cu:"});
    } else {
      CHECK_NOTHROW(fault());
      tells(caught([&] { gpu::synchronize(device); }), 700,
            {"an illegal memory access", "by hidden_op, called at launch_test.cu:", "last launches", "hidden_kernel"});
      CHECK_NOTHROW(fault());
      CHECK_THROWS_AS(y.cpu(), AcceleratorError);  // any wait meets it
    }
    goes_on(device, kept);
  }
}

TEST_CASE("other devices do not notice a fault") {
  if (!faults_are_survived()) return;
  const std::vector<Device> devices = my_devices(2);
  if (devices.size() < 2) return;
  const Tensor kept = something(devices[1]), y = zeros({64}, {.device = devices[0]});
  try {
    hidden_op(devices[0], y.data_ptr<float>(), int64_t{1} << 40);
  } catch (const AcceleratorError&) {
  }
  goes_on(devices[1], kept);
  CHECK((ones({3}) + 1).sum().item<float>() == 6);
  try {
    gpu::synchronize(devices[0]);
  } catch (const AcceleratorError&) {
  }
  goes_on(devices[0], something(devices[0]));
}

TEST_CASE("exhausted memory names the operation and the caller's line") {
  for (Device device : my_devices()) {
    const Tensor kept = something(device);
    try {
      zeros({int64_t{1} << 44}, {.device = device});
      FAIL("no OutOfMemoryError was thrown");
    } catch (const OutOfMemoryError& e) {
      const std::string text = e.what();
      INFO(text);
      CHECK(text.find("zeros: ") == 0);
      CHECK(text.find("out of memory. Tried to allocate") != std::string::npos);
      CHECK(text.find(device.to_string()) != std::string::npos);
      CHECK(text.find("launch_test.cu:") != std::string::npos);
    }
    goes_on(device, kept);
    // Until it is full, then freed: the next allocation succeeds.
    {
      std::vector<Tensor> held;
      const int64_t piece = gpu::mem_get_info(device).total / 16;
      CHECK_THROWS_AS(
          [&] {
            while (held.size() < 64) held.push_back(empty({piece / 4}, {.device = device}));
          }(),
          OutOfMemoryError);
      CHECK(held.size() >= 12);
    }
    goes_on(device, kept);
  }
}

}  // namespace tantu
