#include <tantu/core/backend.h>
#include <tantu/core/device.h>
#include <tantu/tests/catch.h>

#include <cstdlib>

using namespace tantu;

TEST_CASE("device strings") {
  CHECK(Device("cpu") == kCPU);
  CHECK(Device("cpu").to_string() == "cpu");
  CHECK(fmt::format("{}", Device(DeviceType::CUDA, 1)) == "cuda:1");
  for (const char* text :
       {"mps", "cuda:x", "cuda:99", "", "cpu:", "cpu:-1", "cpu:0x", "vgpu:63", "CPU", "cuda:99999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Device(text), DeviceError);
  }
  try {
    Device("mps");
  } catch (const DeviceError& e) {
    CHECK(std::string(e.what()).find("this process has: cpu") != std::string::npos);
  }
}

TEST_CASE("the default device is never a virtual GPU") {
  CHECK(device_count(DeviceType::CPU) == 1);
  CHECK(default_device().type() != DeviceType::VGPU);
  setenv("TANTU_DEVICE", "cpu", 1);
  CHECK(default_device() == kCPU);
  setenv("TANTU_DEVICE", "tpu", 1);
  CHECK_THROWS_AS(default_device(), DeviceError);
  unsetenv("TANTU_DEVICE");
}
