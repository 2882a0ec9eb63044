// Where tensors live: making one on a device, moving it, what happens when two devices meet, and the way back.
//
//     TANTU_VGPU_DEVICES=2 build/examples/devices      (two virtual GPUs; on a machine with GPUs they are taken
//     instead)

#include <tantu/tantu.h>

#include <fmt/core.h>

using namespace tantu;

int main() {
  fmt::print("devices here:");
  for (const Device& d : devices()) fmt::print(" {}", d);
  const DeviceType type = device_count(DeviceType::CUDA) > 0 ? DeviceType::CUDA : DeviceType::VGPU;
  const int count = device_count(type);
  fmt::print("\n");
  if (count == 0) {
    fmt::print("There is no GPU. TANTU_VGPU_DEVICES=2 makes two virtual ones.\n");
    return 77;
  }
  const Device first(type, 0), last(type, count - 1);

  fmt::print("\n# on the CPU\n");
  Tensor a = tensor({1., 2., 3.}), b = tensor({4., 5., 6.});
  fmt::print("{}\n", a + b);

  fmt::print("\n# made on a device\n{}\n", ones({3}, {.device = first}));

  fmt::print("\n# moved to a device: .to(\"{}\")\n", last);
  a = a.to(last);
  b = b.to(last);
  fmt::print("{}\n", a + b);

  fmt::print("\n# two devices do not mix: nothing moves by itself\n");
  try {
    a + b.to(kCPU);
  } catch (const DeviceError& e) {
    fmt::print("{}\n", e.what());
  }

  fmt::print("\n# back to the CPU\n{}\n", (a + b).cpu());
}
