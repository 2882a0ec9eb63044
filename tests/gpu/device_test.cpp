#include <tantu/tests/catch.h>
#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/ops.h>

using namespace tantu;

TEST_CASE("what is there, and why not") {
  for (DeviceType type : {DeviceType::CUDA, DeviceType::VGPU}) {
    CHECK(gpu::is_available(type) == (device_count(type) > 0));
    CHECK(gpu::unavailable_reason(type).empty() == gpu::is_available(type));
  }
  CHECK(cuda::is_available() == (cuda::device_count() > 0));
  CHECK_NOTHROW(gpu::synchronize(kCPU));
  CHECK_THROWS_AS(gpu::synchronize(Device(DeviceType::VGPU, 999)), DeviceError);
}

TEST_CASE("a bad index waits for the next synchronisation, is told once, and the device goes on") {
  for (const Device& device : gpu_devices()) {
    const Tensor table = ones({4, 3}, {.device = device});
    const Tensor bad = tensor({0, 9, 2}).to(device);
    CHECK_NOTHROW(embedding(bad, table));
    CHECK_THROWS_AS(gpu::synchronize(device), IndexError);
    CHECK_NOTHROW(gpu::synchronize(device));
    CHECK(embedding(tensor({1, 2}).to(device), table).sum().item<float>() == 6);
  }
}

TEST_CASE("tensors of two devices do not meet, and the error tells how to mend it") {
  for (const Device& device : gpu_devices()) {
    const Tensor here = ones({2}), there = ones({2}, {.device = device});
    try {
      here + there;
      FAIL("did not throw");
    } catch (const DeviceError& e) {
      const std::string text = e.what();
      CHECK(text.find("Expected all tensors to be on the same device, but found at least two devices") !=
            std::string::npos);
      CHECK(text.find(device.to_string()) != std::string::npos);
      CHECK(text.find(".to(") != std::string::npos);
    }
  }
}

TEST_CASE("more memory than a device has is an OutOfMemoryError, and the device goes on") {
  for (const Device& device : gpu_devices()) {
    CHECK_THROWS_AS(zeros({int64_t{1} << 46}, {.device = device}), OutOfMemoryError);
    CHECK(zeros({8}, {.device = device}).sum().item<float>() == 0);
  }
}
