#include "pool.h"
#include "runtime.h"

#include <cstdio>
#include <cstring>

inline namespace vgpu_abi {
using namespace vgpu::rt;

namespace {

Device* valid(int device) {
  auto& devices = runtime().devices;
  return device >= 0 && static_cast<size_t>(device) < devices.size() ? devices[static_cast<size_t>(device)].get()
                                                                     : nullptr;
}

void fill_properties(cudaDeviceProp& p, const Device& d) {
  const Profile& profile = *config().profile;
  p = {};
  std::snprintf(p.name, sizeof p.name, "tantu virtual GPU (not hardware)");
  std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "tantu-vgpu-%d", d.bus);
  p.totalGlobalMem = d.arena.capacity();
  p.sharedMemPerBlock = 48 << 10;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 64 << 10;
  p.major = profile.major;
  p.minor = profile.minor;
  p.multiProcessorCount = sm_count;
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = 1;
  p.pciBusID = d.bus;
  p.asyncEngineCount = 2;
  p.memoryBusWidth = 256;
  p.l2CacheSize = 4 << 20;
  p.maxThreadsPerMultiProcessor = profile.threads_sm;
  p.sharedMemPerMultiprocessor = profile.shared_sm;
  p.sharedMemPerBlockOptin = profile.shared_optin;
  p.maxBlocksPerMultiProcessor = profile.blocks_sm;
  p.reservedSharedMemPerBlock = 1 << 10;
  p.memoryPoolsSupported = 1;
}

int attribute(const cudaDeviceProp& p, cudaDeviceAttr attr, bool& known) {
  known = true;
  switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrClockRate: return 1000000;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrCanMapHostMemory: return 1;
    case cudaDevAttrConcurrentKernels: return 1;
    case cudaDevAttrPciBusId: return p.pciBusID;
    case cudaDevAttrMemoryClockRate: return 1000000;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing: return 1;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrMemoryPoolsSupported: return 1;
    case cudaDevAttrIntegrated:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCooperativeLaunch: return 0;
  }
  known = false;
  return 0;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return done(cudaErrorInvalidValue);
  *count = static_cast<int>(runtime().devices.size());
  Entry entry("cudaGetDeviceCount", cudaErrorNoDevice, false);
  if (entry) return done(entry.error);
  return done(*count ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  Entry entry("cudaSetDevice", cudaErrorInvalidDevice, false);
  if (entry) return done(entry.error);
  if (!valid(device))
    return done(reject(runtime().devices.empty() ? cudaErrorNoDevice : cudaErrorInvalidDevice,
                       "cudaSetDevice(" + std::to_string(device) + "): there are " +
                           std::to_string(runtime().devices.size()) + " virtual device(s)"));
  tl_state.device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (!device) return done(cudaErrorInvalidValue);
  if (runtime().devices.empty()) return done(cudaErrorNoDevice);
  *device = tl_state.device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  Entry entry("cudaGetDeviceProperties", cudaErrorInvalidDevice, false);
  if (entry) return done(entry.error);
  Device* d = valid(device);
  if (!d || !prop) return done(d ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
  fill_properties(*prop, *d);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  Device* d = valid(device);
  if (!d || !value) return done(d ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
  cudaDeviceProp p;
  fill_properties(p, *d);
  bool known = false;
  int v = attribute(p, attr, known);
  if (!known) return done(cudaErrorInvalidValue);
  *value = v;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Entry entry("cudaDeviceSynchronize", cudaErrorLaunchFailure);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  return done(run_device(lock, entry.device));
}

cudaError_t cudaDeviceReset() {
  Runtime& r = runtime();
  if (r.devices.empty()) return done(cudaErrorNoDevice);
  Device* d = r.devices[static_cast<size_t>(tl_state.device)].get();
  Lock lock(r.mutex);
  run_device(lock, d);
  for (size_t i = 1; i < d->streams.size(); ++i) {
    r.streams.erase(d->streams[i]);
    r.spare_streams.push_back(d->streams[i]);
  }
  d->streams.resize(1);
  for (auto it = r.events.begin(); it != r.events.end();)
    if ((*it)->device == d) delete *it, it = r.events.erase(it);
    else ++it;
  d->arena.clear();
  d->sticky = cudaSuccess;
  d->peers = 0;
  d->default_stream->clock = 0;
  tl_state.last_error = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Entry entry("cudaMemGetInfo");
  if (entry) return done(entry.error);
  if (!free || !total) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  *total = entry.device->arena.capacity();
  *free = *total - entry.device->arena.used();
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return done(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!can) return done(cudaErrorInvalidValue);
  if (!valid(device) || !valid(peer)) return done(cudaErrorInvalidDevice);
  *can = device != peer && config().peers;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  Entry entry("cudaDeviceEnablePeerAccess", cudaErrorPeerAccessUnsupported);
  if (entry) return done(entry.error);
  if (flags) return done(cudaErrorInvalidValue);
  if (!valid(peer) || peer == entry.device->id) return done(cudaErrorInvalidDevice);
  if (!config().peers) return done(cudaErrorPeerAccessUnsupported);
  Lock lock(runtime().mutex);
  if (entry.device->peers >> peer & 1u) return done(cudaErrorPeerAccessAlreadyEnabled);
  entry.device->peers |= 1ull << peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  Entry entry("cudaDeviceDisablePeerAccess");
  if (entry) return done(entry.error);
  if (!valid(peer)) return done(cudaErrorInvalidDevice);
  Lock lock(runtime().mutex);
  if (!(entry.device->peers >> peer & 1u)) return done(cudaErrorPeerAccessNotEnabled);
  entry.device->peers &= ~(1ull << peer);
  return cudaSuccess;
}

namespace vgpu {
bool clear_error(int device) {
  Device* d = valid(device);
  if (!d) return false;
  Lock lock(runtime().mutex);
  d->sticky = cudaSuccess;
  tl_state.last_error = cudaSuccess;
  return true;
}
void set_seed(uint64_t seed) {
  config().seed = seed;
}
uint64_t seed() {
  return config().seed;
}
void set_workers(int count) {
  resize_pool(count < 1 ? 1 : count > 64 ? 64 : count);
}
int workers() {
  return config().workers;
}
void run_only_blocks(std::vector<int64_t> blocks) {
  Lock lock(runtime().mutex);
  runtime().only_blocks = std::move(blocks);
}
void set_guard(bool on) {
  Lock lock(runtime().mutex);
  config().guard = on;
  for (auto& d : runtime().devices) d->arena.open(), d->arena.close();
}
void set_watchdog(double seconds) {
  config().watchdog = seconds;
}
uint64_t operations() {
  return runtime().executed;
}
}  // namespace vgpu

}  // namespace vgpu_abi
