#include <tantu/tests/catch.h>
#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/trace.h>

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

TEST_CASE("a number beside a GPU's tensor travels with the launch: no memory, no copy, one kernel") {
  for (const Device& device : gpu_devices()) {
    const Tensor x = arange(1000, {.dtype = kFloat32, .device = device});
    std::vector<trace::Kind> seen;
    trace::set_sink(
        [](const trace::Event& e, void* list) { static_cast<std::vector<trace::Kind>*>(list)->push_back(e.kind); },
        &seen);
    const Tensor y = x * 2;
    trace::set_sink(nullptr);
    CHECK(seen == std::vector<trace::Kind>{trace::Kind::Alloc, trace::Kind::Op, trace::Kind::Launch});
    CHECK((y - x - x).abs().max().item<float>() == 0);
    for (DType t : {kFloat16, kBFloat16, kFloat64, kInt64, kInt32, kUInt8}) {
      const Tensor here = arange(100).to(t), there = here.to(device);
      CHECK(equal((there * 3).cpu(), here * 3));
      CHECK(equal((there + 1.5).cpu(), here + 1.5));
      CHECK(equal((2 - there).cpu(), 2 - here));
      CHECK(equal((there > 50).cpu(), here > 50));
      CHECK(equal(where(there > 50, there, 7).cpu(), where(here > 50, here, 7)));
    }
  }
}

TEST_CASE("a 0-dim CPU tensor beside a GPU's counts as a number, and its gradient comes home") {
  for (const Device& device : gpu_devices()) {
    Tensor s = tensor(2.f), x = ones({3}, {.device = device});
    s.requires_grad_();
    x.requires_grad_();
    const Tensor y = (x * s + s / x).sum();
    y.backward();
    CHECK(s.grad().device() == kCPU);
    CHECK(s.grad().item<float>() == 6);
    CHECK(x.grad().device() == device);
    CHECK(x.grad().sum().item<float>() == 0);
    const TensorList first = grad({(x * s * s).sum()}, {s}, {}, true, true);
    CHECK(grad({first[0]}, {s})[0].item<float>() == 6);
  }
}
