#pragma once

#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/gpu.h>

#include <vgpu/control.h>

#include <algorithm>
#include <cmath>
#include <vector>

/// Tensors larger than any memory here, on a virtual GPU that says it has 512 GB (TANTU_VGPU_MEMORY): its memory is
/// taken page by page as it is touched, so a kernel of which a few blocks run costs what these touch. Fresh memory is 0
/// (TANTU_VGPU_POISON=0), which tells what was never written.
namespace tantu::limits {

inline constexpr int64_t k2G = int64_t{1} << 31;

inline Device big_device() {
  return Device(DeviceType::VGPU, 0);
}

/// False, and the test counts as skipped, where the device is an ordinary one.
inline bool have_big_device() {
  const char* memory = std::getenv("TANTU_VGPU_MEMORY");
  if (memory && std::string(memory) == "512G") return true;
  skip_test("a virtual GPU of 512G (run by ctest)");
  return false;
}

/// While alive, only these blocks of each kernel run; -1 is the last.
struct OnlyBlocks {
  explicit OnlyBlocks(std::vector<int64_t> blocks) { vgpu::run_only_blocks(std::move(blocks)); }
  ~OnlyBlocks() { vgpu::run_only_blocks({}); }
  OnlyBlocks(const OnlyBlocks&) = delete;
  OnlyBlocks& operator=(const OnlyBlocks&) = delete;
};

/// The blocks that work on unit `last` (a row, a task) whatever the kernel's grid: units are dealt to blocks `per` at a
/// time, and grids go round after 4096, 65535 or 65536 blocks.
inline std::vector<int64_t> owners(int64_t last) {
  std::vector<int64_t> blocks{-1};
  for (int64_t per = 1; per <= 256; per *= 2)
    for (const int64_t grid : {4096, 65535, 65536}) blocks.push_back(last / per % grid);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

/// Uninitialised, which is 0 there.
inline Tensor blank(const Shape& sizes, DType t = kFloat32) {
  return empty(sizes, {.dtype = t, .device = big_device()});
}

/// What element i of the tail of a test tensor is: exact in every floating type, never 0.
inline double tail_value(int64_t i) {
  return static_cast<double>(i % 1021 + 1);
}

/// Zeros but for the last `count` elements, which have tail_value of their flat index.
inline Tensor with_tail(const Shape& sizes, int64_t count, DType t = kFloat32) {
  Tensor x = blank(sizes, t);
  std::vector<double> v(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) v[static_cast<size_t>(i)] = tail_value(x.numel() - count + i);
  x.view({-1}).narrow(0, x.numel() - count, count).copy_(tensor(v, {.dtype = kFloat64}).to(t).to(x.device()));
  return x;
}

/// Elements from..from+count of the flat tensor, on the host.
inline std::vector<double> piece(const Tensor& y, int64_t from, int64_t count) {
  return y.view({-1}).narrow(0, from, count).cpu().to_vector<double>();
}

}  // namespace tantu::limits
