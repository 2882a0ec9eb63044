#include <cuda.h>

#include <sys/mman.h>
#include <algorithm>
#include <cstring>

#include "runtime.h"
#include "sanitizers.h"

inline namespace vgpu_abi {
namespace vgpu::rt {

void* Arena::reserve(size_t bytes) {
  void* map = mmap(nullptr, bytes + vm_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  char* base = reinterpret_cast<char*>((reinterpret_cast<uint64_t>(map) + vm_page - 1) / vm_page * vm_page);
  madvise(base, bytes, MADV_HUGEPAGE);
  windows_[reinterpret_cast<uint64_t>(base)] = bytes;
  return base;
}

bool Arena::unreserve(uint64_t at, size_t bytes) {
  auto it = windows_.find(at);
  auto used = mapped_.lower_bound(at);
  if (it == windows_.end() || it->second != bytes || (used != mapped_.end() && used->first < at + bytes)) return false;
  windows_.erase(it);  // the addresses are never handed out again
  return true;
}

bool Arena::in_window(uint64_t at) const {
  auto it = windows_.upper_bound(at);
  return it != windows_.begin() && at - std::prev(it)->first < std::prev(it)->second;
}

bool Arena::map(uint64_t at, size_t bytes) {
  auto next = mapped_.lower_bound(at);
  bool taken = next != mapped_.end() && next->first < at + bytes;
  if (next != mapped_.begin()) taken = taken || std::prev(next)->first + std::prev(next)->second > at;
  if (taken || !in_window(at) || !in_window(at + bytes - 1)) return false;
  mapped_[at] = bytes;
  char* p = reinterpret_cast<char*>(at);
  mprotect(p, bytes, PROT_READ | PROT_WRITE);
  refill(p, bytes);
  if (!accessible_ && config().guard) mprotect(p, bytes, PROT_NONE);
  join_extents();
  return true;
}

bool Arena::unmap(uint64_t at, size_t bytes) {
  auto first = mapped_.lower_bound(at), last = mapped_.lower_bound(at + bytes);
  size_t total = 0;
  for (auto it = first; it != last; ++it) total += it->second;
  if (first == mapped_.end() || first->first != at || total != bytes) return false;
  mapped_.erase(first, last);
  void* p = reinterpret_cast<void*>(at);
  madvise(p, bytes, MADV_DONTNEED);
  mprotect(p, bytes, PROT_NONE);
  join_extents();
  return true;
}

/// Neighbouring mapped pieces count as one allocation.
void Arena::join_extents() {
  extents_.clear();
  for (auto [at, bytes] : mapped_) {
    if (!extents_.empty() && std::prev(extents_.end())->first + std::prev(extents_.end())->second.bytes == at)
      std::prev(extents_.end())->second.bytes += bytes;
    else extents_[at] = {bytes, bytes, false};
  }
}

namespace {

struct Handle {
  size_t size;
  Device* device;
  bool mapped = false, released = false;
  uint64_t at = 0;
};
std::map<uint64_t, Handle>& handles() {
  static auto* all = new std::map<uint64_t, Handle>;
  return *all;
}

Device* device_of_prop(const CUmemAllocationProp* prop) {
  auto& devices = runtime().devices;
  bool fine = prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0 &&
              static_cast<size_t>(prop->location.id) < devices.size();
  return fine ? devices[static_cast<size_t>(prop->location.id)].get() : nullptr;
}

CUresult injected(const char* call) {
  return static_cast<CUresult>(injected_error(call, cudaErrorMemoryAllocation));
}

}  // namespace
}  // namespace vgpu::rt

using namespace vgpu::rt;

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags) {
  if (!granularity || !device_of_prop(prop)) return CUDA_ERROR_INVALID_VALUE;
  *granularity = vm_page;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t, CUdeviceptr, unsigned long long flags) {
  if (!ptr || !size || size % vm_page || flags || runtime().devices.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult e = injected("cuMemAddressReserve")) return e;
  Lock lock(runtime().mutex);
  void* p = runtime().devices[static_cast<size_t>(tl_state.device)]->arena.reserve(size);
  if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
  *ptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  Lock lock(runtime().mutex);
  Device* d = device_of(reinterpret_cast<void*>(ptr));
  return d && d->arena.unreserve(ptr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  Device* d = device_of_prop(prop);
  if (!handle || !d || !size || size % vm_page || flags) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult e = injected("cuMemCreate")) return e;
  Lock lock(runtime().mutex);
  if (!d->arena.take(size)) return CUDA_ERROR_OUT_OF_MEMORY;
  static uint64_t next = 0;
  handles()[++next] = {size, d};
  *handle = next;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Lock lock(runtime().mutex);
  auto it = handles().find(handle);
  if (it == handles().end() || it->second.released) return CUDA_ERROR_INVALID_VALUE;
  it->second.released = true;
  if (it->second.mapped) return CUDA_SUCCESS;  // it goes with its mapping
  it->second.device->arena.give(it->second.size);
  handles().erase(it);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (CUresult e = injected("cuMemMap")) return e;
  Lock lock(runtime().mutex);
  auto it = handles().find(handle);
  if (it == handles().end() || offset || flags || size != it->second.size || ptr % vm_page)
    return CUDA_ERROR_INVALID_VALUE;
  Handle& h = it->second;
  if (h.mapped) {
    report("cuMemMap: a handle is mapped a second time, which is not supported here");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (device_of(reinterpret_cast<void*>(ptr)) != h.device || !h.device->arena.map(ptr, size))
    return CUDA_ERROR_INVALID_VALUE;
  h.mapped = true;
  h.at = ptr;
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  Lock lock(runtime().mutex);
  Device* d = device_of(reinterpret_cast<void*>(ptr));
  if (!d) return CUDA_ERROR_INVALID_VALUE;
  run_device(lock, d);  // what is queued may still use it
  if (!d->arena.unmap(ptr, size)) return CUDA_ERROR_INVALID_VALUE;
  for (auto it = handles().begin(); it != handles().end();) {
    Handle& h = it->second;
    bool gone = h.mapped && h.at >= ptr && h.at < ptr + size;
    if (gone) h.mapped = false;
    if (gone && h.released) {
      d->arena.give(h.size);
      it = handles().erase(it);
    } else {
      ++it;
    }
  }
  return CUDA_SUCCESS;
}

/// Mapped memory is accessible to its own device from the start here; peers follow cudaDeviceEnablePeerAccess.
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (CUresult e = injected("cuMemSetAccess")) return e;
  Lock lock(runtime().mutex);
  Device* d = device_of(reinterpret_cast<void*>(ptr));
  auto* a = d ? d->arena.find(reinterpret_cast<void*>(ptr)) : nullptr;
  return a && desc && count && ptr + size <= a->first + a->second.bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  const std::pair<const char*, void*> known[] = {
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&cuMemGetAllocationGranularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(&cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(&cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void*>(&cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(&cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&cuMemSetAccess)}};
  if (!symbol || !function) return done(cudaErrorInvalidValue);
  *function = nullptr;
  for (auto [name, address] : known)
    if (!std::strcmp(name, symbol)) *function = address;
  if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function || status ? cudaSuccess : done(cudaErrorSymbolNotFound);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPoint(symbol, function, flags, status);
}

}  // namespace vgpu_abi
