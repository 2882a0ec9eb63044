#include <tantu/tests/catch.h>
#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/core/sync.h>
#include <tantu/optim/optim.h>

#include <thread>

using namespace tantu;

namespace {

template <class F>
std::string text_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// What `f` finds on a fresh thread.
template <class F>
bool elsewhere(F&& f) {
  bool found = false;
  std::thread([&] { found = f(); }).join();
  return found;
}

}  // namespace

TEST_CASE("a thread starts with device 0 and the default streams; guards give back what was") {
  for (const Device& device : gpu_devices()) {
    CHECK(gpu::current_device(device.type()).index() == 0);
    CHECK(gpu::current_stream(device) == Stream::default_stream(device));
    const Stream side(device);
    CHECK(side.handle() != nullptr);
    CHECK(side.device() == device);
    try {
      const StreamGuard guard(side);
      CHECK(gpu::current_stream(device) == side);
      CHECK(gpu::current_device() == device);
      {
        const Stream inner(device);
        const StreamGuard nested(inner);
        CHECK(gpu::current_stream(device) == inner);
      }
      CHECK(gpu::current_stream(device) == side);
      CHECK(elsewhere([&] { return gpu::current_stream(device) == Stream::default_stream(device); }));
      throw 1;
    } catch (int) {
    }
    CHECK(gpu::current_stream(device) == Stream::default_stream(device));
    CHECK(gpu::current_stream_handle(device) == nullptr);
  }
}

TEST_CASE("the current device is the one that its type's name means") {
  for (const Device& first : gpu_devices()) {
    const std::string word(name(first.type()));
    CHECK(Device(word) == first);
    CHECK_THROWS_AS(gpu::set_device(Device(first.type(), kMostDevices - 1)), DeviceError);
    if (device_count(first.type()) < 2) continue;
    const Device second(first.type(), 1);
    {
      const DeviceGuard guard(second);
      CHECK(Device(word) == second);
      CHECK(ones({2}, {.device = word}).device() == second);
      CHECK(elsewhere([&] { return Device(word) == first; }));
    }
    CHECK(Device(word) == first);
  }
}

TEST_CASE("operations go to the current stream, and streams wait for each other when told") {
  for (const Device& device : gpu_devices()) {
    const Tensor x = rand({1000}, {.device = device});
    const Stream side(device);
    Tensor y;
    side.wait_stream(gpu::current_stream(device));
    {
      const StreamGuard guard(side);
      y = x * 2;
      for (int i = 0; i < 4; ++i) y.mul_(1);
      // A virtual GPU has not begun, since nobody waited: each query lets it do one piece.
      if (device.type() == DeviceType::VGPU) CHECK_FALSE(side.query());
    }
    gpu::current_stream(device).wait_stream(side);
    CHECK((y - x - x).abs().max().item<float>() < 1e-6f);
    side.synchronize();
    CHECK(side.query());
  }
}

TEST_CASE("a polling loop on a stream or an event ends") {
  for (const Device& device : gpu_devices()) {
    const Stream side(device);
    Event event;
    CHECK(event.query());
    CHECK_FALSE(event.recorded());
    {
      const StreamGuard guard(side);
      ones({64}, {.device = device}).exp();
      event.record();
    }
    CHECK(event.device() == device);
    while (!event.query()) {
    }
    while (!side.query()) {
    }
  }
}

TEST_CASE("events measure time, or say why they cannot") {
  for (const Device& device : gpu_devices()) {
    Event plain, start(true), end(true);
    CHECK(holds(text_of([&] { plain.elapsed_time(end); }), "enable_timing=True"));
    CHECK(holds(text_of([&] { start.elapsed_time(end); }), "must be recorded"));
    const Stream stream = gpu::current_stream(device);
    start.record(stream);
    Tensor x = ones({1 << 16}, {.device = device});
    for (int i = 0; i < 4; ++i) x = x + 1;
    end.record(stream);
    if (!end.query()) CHECK(holds(text_of([&] { start.elapsed_time(end); }), "must be completed"));
    end.synchronize();
    CHECK(start.elapsed_time(end) > 0);
    CHECK(end.elapsed_time(start) < 0);
  }
}

TEST_CASE("what was never recorded is not waited for; an event stays with its device") {
  for (const Device& device : gpu_devices()) {
    const Stream stream(device);
    CHECK_NOTHROW(stream.wait_event(Event()));
    CHECK_NOTHROW(Event().synchronize());
    Event event = stream.record_event();
    CHECK_NOTHROW(event.record(Stream(device)));
    CHECK_THROWS_AS(event.record(Stream(kCPU)), DeviceError);
    if (device_count(device.type()) < 2) continue;
    const Stream other(Device(device.type(), 1));
    CHECK_THROWS_AS(event.record(other), DeviceError);
    CHECK_NOTHROW(other.wait_stream(stream));  // streams of two devices may wait for each other
    other.synchronize();
  }
}

TEST_CASE("a CPU stream is empty at any time") {
  const Stream cpu(kCPU);
  CHECK(cpu.query());
  CHECK(cpu == Stream::default_stream(kCPU));
  cpu.synchronize();
  Event start(true), end(true);
  start.record(cpu);
  end.record(cpu);
  CHECK(start.elapsed_time(end) == 0);
  const StreamGuard guard(cpu);
}

TEST_CASE("many streams are many: none is another's alias") {
  for (const Device& device : gpu_devices()) {
    std::vector<Stream> streams;
    for (int i = 0; i < 100; ++i) streams.emplace_back(device, i % 3 - 1);
    for (size_t i = 0; i < streams.size(); ++i)
      for (size_t j = i + 1; j < streams.size(); ++j)
        if (streams[i] == streams[j]) FAIL("streams " << i << " and " << j << " are one");
    SUCCEED();
  }
}

TEST_CASE("copies between devices are in order with the work on both") {
  for (const Device& first : gpu_devices()) {
    if (device_count(first.type()) < 2) return;
    const Device second(first.type(), 1);
    const Tensor x = rand({5000}, {.device = first});
    const Tensor y = (x + 1).to(second) * 2;
    CHECK(((x + 1) * 2 - y.to(first)).abs().max().item<float>() == 0);
  }
}

TEST_CASE("memory that tensors hold is told") {
  for (const Device& device : gpu_devices()) {
    const int64_t before = gpu::memory_allocated(device);
    {
      const Tensor x = zeros({1000}, {.device = device});
      const int64_t taken = gpu::memory_allocated(device) - before;
      CHECK((taken == 4096 || taken == 4000));  // whole blocks of 512 bytes, unless straight from the driver
      CHECK(gpu::memory_reserved(device) >= gpu::memory_allocated(device));
    }
    CHECK(gpu::memory_allocated(device) == before);
    CHECK(gpu::max_memory_allocated(device) >= before + 4000);
    gpu::reset_peak_memory_stats(device);
    CHECK(gpu::max_memory_allocated(device) == before);
    const gpu::MemoryInfo info = gpu::mem_get_info(device);
    CHECK(info.free > 0);
    CHECK(info.total >= info.free);
    const DeviceProperties p = gpu::get_device_properties(device);
    CHECK(p.total_memory == info.total);
    CHECK(p.major >= 7);
    CHECK(p.multi_processor_count > 0);
  }
  CHECK_THROWS_AS(gpu::get_device_properties(kCPU), DeviceError);
  CHECK_THROWS_AS(gpu::mem_get_info(kCPU), DeviceError);
}

TEST_CASE("every wait is counted by its reason, and can be forbidden") {
  for (const Device& device : gpu_devices()) {
    const Tensor x = ones({8}, {.device = device});
    reset_sync_counts();
    {
      const SyncGuard guard(SyncMode::Count);
      CHECK(x.sum().item<float>() == 8);
      CHECK(sync_count(SyncReason::Item).calls == 1);
      CHECK(sync_count(SyncReason::Item).bytes == 4);
      x.cpu();
      CHECK(sync_count(SyncReason::CopyToHost).calls == 1);
      ones({4}).to(device);
      CHECK(sync_count(SyncReason::CopyToDevice).calls == 1);
      x.nonzero();
      CHECK(sync_count(SyncReason::Nonzero).calls == 1);
      x.to_string();
      CHECK(sync_count(SyncReason::Print).calls >= 1);
      gpu::synchronize(device);
      CHECK(sync_count(SyncReason::Device).calls == 1);
      gpu::current_stream(device).synchronize();
      CHECK(sync_count(SyncReason::Stream).calls == 1);
      gpu::current_stream(device).record_event().synchronize();
      CHECK(sync_count(SyncReason::Event).calls == 1);
    }
    const SyncCount counted = sync_count();
    x.cpu();  // outside of the guard nothing is counted
    CHECK(sync_count().calls == counted.calls);

    const SyncGuard forbidden(SyncMode::Error);
    const std::string text = text_of([&] { x[0].item<float>(); });
    CHECK(holds(text, "item: called a synchronizing CUDA operation"));
    CHECK(holds(text, "stream_test.cpp:"));
    CHECK_NOTHROW(x + 1);
    const SyncGuard allowed(SyncMode::Off);
    CHECK(x[0].item<float>() == 1);
  }
}

TEST_CASE("the process's mode holds where no guard does") {
  CHECK(get_sync_debug_mode() == SyncMode::Off);
  set_sync_debug_mode(SyncMode::Count);
  CHECK(get_sync_debug_mode() == SyncMode::Count);
  {
    const SyncGuard guard(SyncMode::Warn);
    CHECK(get_sync_debug_mode() == SyncMode::Warn);
    CHECK(elsewhere([&] { return get_sync_debug_mode() == SyncMode::Count; }));
  }
  set_sync_debug_mode(SyncMode::Off);
}

TEST_CASE("backward runs on the streams of the forward calls, and the caller's wait for it") {
  for (const Device& device : gpu_devices()) {
    Tensor x = tensor({1.f, 2.f, 3.f}).to(device).requires_grad_();
    const Stream side(device), other(device);
    Tensor loss;
    side.wait_stream(gpu::current_stream(device));
    {
      const StreamGuard guard(side);
      const Tensor y = x * 3;
      other.wait_stream(side);
      const StreamGuard inner(other);
      loss = (y * y).sum();
    }
    loss.backward();  // d(9 x^2) = 18 x
    CHECK(gpu::current_stream(device) == Stream::default_stream(device));
    CHECK(x.grad().to_vector<float>() == std::vector<float>{18, 36, 54});
    x.set_grad(Tensor());
    const StreamGuard guard(side);
    side.wait_stream(Stream::default_stream(device));
    ((x * 2).pow(2)).sum().backward();
    CHECK(gpu::current_stream(device) == side);
    CHECK(x.grad().to_vector<float>() == std::vector<float>{8, 16, 24});
  }
}

TEST_CASE("memory that another stream reads is not given away before, once it is recorded") {
  for (const Device& device : gpu_devices()) {
    const Stream side(device);
    Tensor y;
    {
      const Tensor x = full({3000}, 2, {.dtype = kFloat32, .device = device});
      side.wait_stream(gpu::current_stream(device));
      const StreamGuard guard(side);
      y = x * 1;
      x.record_stream(side);
    }
    const Tensor next = full({3000}, 100, {.dtype = kFloat32, .device = device});
    gpu::current_stream(device).synchronize();
    side.synchronize();
    CHECK(y.cpu().max().item<float>() == 2);
    CHECK(next.cpu().max().item<float>() == 100);
    CHECK_THROWS_AS(y.record_stream(Stream(kCPU)), DeviceError);
  }
}

TEST_CASE("two devices, turn by turn, with kernels that take many arguments") {
  for (const Device& first : gpu_devices()) {
    if (device_count(first.type()) < 2) return;
    const Device second(first.type(), 1);
    TensorList p;
    for (int round = 0; round < 20; ++round)
      for (const Device& device : {first, second}) {
        const Tensor x = rand({40, 50}, {.device = device});
        CHECK(x.mean().item<float>() < 1);
        CHECK(x.t().contiguous().sum(0).amax().item<float>() > 0);
        CHECK(x.softmax(1).sum().item<float>() > 39);
        CHECK(x.index_select(0, tensor({1, 3}).to(device)).numel() == 100);
        p.push_back(zeros({3, 4}, {.device = device}).requires_grad_());
        p.back().set_grad(rand({3, 4}, {.device = device}));
      }
    CHECK(optim::clip_grad_norm_(p, 1.0).item<float>() > 1);
    optim::SGD(p, {.lr = 0.1}).step();
    optim::AdamW(p, {.lr = 0.1}).step();
    CHECK(p[1].abs().max().item<float>() > 0);
  }
}

TEST_CASE("a stream that is current when its thread ends, or when its handle goes, does no harm") {
  for (const Device& device : gpu_devices()) {
    std::thread([&] {
      gpu::set_stream(Stream(device));
      ones({100}, {.device = device}).exp();
    }).join();
    for (int i = 0; i < 300; ++i) {
      const Stream stream(device);
      const StreamGuard guard(stream);
      ones({100}, {.device = device});
    }
    CHECK(ones({4}, {.device = device}).sum().item<float>() == 4);
    CHECK_THROWS_AS(gpu::set_device(Device(DeviceType::CPU, 3)), DeviceError);
    CHECK(Device("cpu") == kCPU);
    Event event;
    event.record();
    CHECK(!event.device().is_cpu());
  }
}
