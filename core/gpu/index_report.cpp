#include <tantu/core/gpu/index_report.h>

#include <tantu/core/gpu/check.h>

#include <fmt/format.h>

#include <atomic>
#include <mutex>

namespace tantu::gpu {

namespace {

std::atomic<IndexRecord*> g_records[kMostDevices];  // never freed: kernels may run until the process ends
std::mutex g_making;

}  // namespace

IndexRecord* index_record(const GpuContext& ctx) {
  TANTU_CHECK(ctx.device >= 0 && ctx.device < kMostDevices, DeviceError, "device: at most {} devices, asked for {}",
              kMostDevices, ctx.device);
  std::atomic<IndexRecord*>& place = g_records[ctx.device];
  if (IndexRecord* made = place.load(std::memory_order_acquire)) return made;
  std::lock_guard lock(g_making);
  if (IndexRecord* made = place.load(std::memory_order_acquire)) return made;
  void* memory = nullptr;
  TANTU_CUDA_TRY(cudaHostAlloc(&memory, sizeof(IndexRecord), cudaHostAllocMapped | cudaHostAllocPortable));
  auto* made = ::new (memory) IndexRecord{};
  place.store(made, std::memory_order_release);
  return made;
}

void throw_reported_index(int device) {
  IndexRecord* record = device < kMostDevices ? g_records[device].load(std::memory_order_acquire) : nullptr;
  if (!record) return;
  const std::atomic_ref<unsigned> state(record->state);
  unsigned whole = 2;
  if (!state.compare_exchange_strong(whole, 3, std::memory_order_acquire)) return;  // empty, or another thread's
  const IndexRecord seen = *record;
  state.store(0, std::memory_order_release);
  Shape sizes;
  for (int d = 0; d < seen.what.rank; ++d) sizes.push_back(seen.what.sizes[d]);
  throw IndexError(fmt::format(fmt::runtime(seen.what.text), seen.what.op, seen.value,
                               multi_index(sizes, seen.position), seen.what.size, seen.what.dim));
}

}  // namespace tantu::gpu
