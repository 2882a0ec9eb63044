#include "runtime.h"
#include "sanitizers.h"

#include <cstdlib>

inline namespace vgpu_abi {
using namespace vgpu::rt;

namespace {

std::string text(const void* p) {
  return vgpu::rt::hex(reinterpret_cast<uint64_t>(p));
}

cudaError_t allocate(const char* call, void** ptr, size_t bytes, Device* d) {
  *ptr = nullptr;
  if (!bytes) return cudaSuccess;
  *ptr = d->arena.allocate(bytes);
  if (*ptr) return cudaSuccess;
  return reject(cudaErrorMemoryAllocation,
                std::string(call) + ": " + std::to_string(bytes) + " bytes on vgpu:" + std::to_string(d->id) + ", " +
                    std::to_string(d->arena.used()) + " of " + std::to_string(d->arena.capacity()) + " in use");
}

/// The device that owns exactly this live allocation; null after a report otherwise.
Device* owner(const char* call, void* p) {
  Device* d = device_of(p);
  Allocation* a = d ? d->arena.exact(p) : nullptr;
  if (a && !a->freed) return d;
  std::string what = " is not device memory";
  if (d) what = d->arena.find(p) && !a ? " points inside an allocation" : " is no live allocation (freed before?)";
  report(std::string(call) + ": " + text(p) + what);
  return nullptr;
}

cudaError_t pin(void* p, size_t bytes, bool owned) {
  runtime().pinned[reinterpret_cast<uint64_t>(p)] = {bytes, owned};
  return cudaSuccess;
}

void drain_everything(Lock& lock) {
  for (auto& d : runtime().devices) run_device(lock, d.get());
}

}  // namespace

cudaError_t cudaMalloc(void** ptr, size_t bytes) {
  Entry entry("cudaMalloc", cudaErrorMemoryAllocation);
  if (entry) return done(entry.error);
  if (!ptr) return done(cudaErrorInvalidValue);
  install_handlers();
  Lock lock(runtime().mutex);
  return done(allocate("cudaMalloc", ptr, bytes, entry.device));
}

cudaError_t cudaFree(void* ptr) {
  Entry entry("cudaFree");
  if (entry) return done(entry.error);
  if (!ptr) return cudaSuccess;
  Lock lock(runtime().mutex);
  Device* d = owner("cudaFree", ptr);
  if (!d) return done(cudaErrorInvalidValue);
  cudaError_t e = run_device(lock, d);
  if (Allocation* a = d->arena.exact(ptr); a && !a->freed) d->arena.release(reinterpret_cast<uint64_t>(ptr));
  return done(e);
}

cudaError_t cudaMallocAsync(void** ptr, size_t bytes, cudaStream_t stream) {
  Entry entry("cudaMallocAsync", cudaErrorMemoryAllocation);
  if (entry) return done(entry.error);
  if (!ptr) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s) return done(cudaErrorInvalidResourceHandle);
  return done(allocate("cudaMallocAsync", ptr, bytes, s->device));
}

cudaError_t cudaFreeAsync(void* ptr, cudaStream_t stream) {
  Entry entry("cudaFreeAsync");
  if (entry) return done(entry.error);
  if (!ptr) return cudaSuccess;
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s) return done(cudaErrorInvalidResourceHandle);
  Device* d = owner("cudaFreeAsync", ptr);
  if (!d) return done(cudaErrorInvalidValue);
  d->arena.exact(ptr)->freed = true;
  return done(enqueue_function(lock, s, "cudaFreeAsync", nullptr, 0,
                               [d, ptr] { d->arena.release(reinterpret_cast<uint64_t>(ptr)); }));
}

cudaError_t cudaHostAlloc(void** ptr, size_t bytes, unsigned) {
  Entry entry("cudaMallocHost", cudaErrorMemoryAllocation);
  if (entry) return done(entry.error);
  if (!ptr) return done(cudaErrorInvalidValue);
  *ptr = nullptr;
  if (!bytes) return cudaSuccess;
  if (posix_memalign(ptr, 256, bytes) != 0) return done(cudaErrorMemoryAllocation);
  Lock lock(runtime().mutex);
  return pin(*ptr, bytes, true);
}
cudaError_t cudaMallocHost(void** ptr, size_t bytes, unsigned flags) {
  return cudaHostAlloc(ptr, bytes, flags);
}

cudaError_t cudaFreeHost(void* ptr) {
  Entry entry("cudaFreeHost");
  if (entry) return done(entry.error);
  if (!ptr) return cudaSuccess;
  Lock lock(runtime().mutex);
  auto it = runtime().pinned.find(reinterpret_cast<uint64_t>(ptr));
  if (it == runtime().pinned.end() || !it->second.owned)
    return done(reject(cudaErrorInvalidValue, "cudaFreeHost: " + text(ptr) + " did not come from cudaMallocHost"));
  drain_everything(lock);
  runtime().pinned.erase(reinterpret_cast<uint64_t>(ptr));
  std::free(ptr);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* ptr, size_t bytes, unsigned) {
  Entry entry("cudaHostRegister", cudaErrorMemoryAllocation);
  if (entry) return done(entry.error);
  if (!ptr || !bytes || device_of(ptr)) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  auto& pinned = runtime().pinned;
  uint64_t a = reinterpret_cast<uint64_t>(ptr);
  auto next = pinned.lower_bound(a);
  bool overlap = next != pinned.end() && next->first < a + bytes;
  if (next != pinned.begin()) overlap = overlap || std::prev(next)->first + std::prev(next)->second.bytes > a;
  if (overlap) return done(cudaErrorHostMemoryAlreadyRegistered);
  return pin(ptr, bytes, false);
}

cudaError_t cudaHostUnregister(void* ptr) {
  Entry entry("cudaHostUnregister");
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  auto it = runtime().pinned.find(reinterpret_cast<uint64_t>(ptr));
  if (it == runtime().pinned.end() || it->second.owned) return done(cudaErrorHostMemoryNotRegistered);
  drain_everything(lock);
  runtime().pinned.erase(reinterpret_cast<uint64_t>(ptr));
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void**, size_t, unsigned) {
  return done(reject(cudaErrorNotSupported, "cudaMallocManaged: managed memory is not supported"));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  Entry entry("cudaPointerGetAttributes");
  if (entry) return done(entry.error);
  if (!attributes) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  void* p = const_cast<void*>(ptr);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, p};
  if (Device* d = device_of(ptr); d && d->arena.find(ptr)) *attributes = {cudaMemoryTypeDevice, d->id, p, nullptr};
  else if (ptr && is_pinned(ptr, 1)) *attributes = {cudaMemoryTypeHost, entry.device->id, p, p};
  return cudaSuccess;
}

namespace vgpu {
void mark_block(const void* ptr, size_t bytes, bool live) {
  if (live) unpoison_region(ptr, bytes);
  else poison_region(ptr, bytes);
}
bool under_asan() {
  return asan();
}
bool under_tsan() {
  return tsan();
}
}  // namespace vgpu

}  // namespace vgpu_abi
