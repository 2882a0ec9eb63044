#include "runtime.h"
#include "model.h"

#include "immortal.h"
#include "pool.h"

#include <cstdio>

inline namespace vgpu_abi {
namespace vgpu::rt {

constinit thread_local ThreadState tl_state = {0, cudaSuccess, false};

namespace {

Stream* new_default_stream(Device* d) {
  auto* s = new Stream;
  s->device = d;
  s->is_default = true;
  return s;
}

void create(Runtime* r) {
  Config& c = config();
  load_model();
  const int devices = static_cast<int>(c.visible.size());
  for (int i = 0; i < devices; ++i) {
    auto d = std::make_unique<Device>();
    d->id = i;
    d->bus = c.visible[static_cast<size_t>(i)];
    d->arena.create(d.get(), c.memory);
    d->default_stream = new_default_stream(d.get());
    d->streams.push_back(d->default_stream);
    r->devices.push_back(std::move(d));
  }
  parse_faults(c.fail);
  if (devices && !c.quiet)
    std::fprintf(stderr, "vgpu: %d virtual device(s), seed %llu, %d worker(s): CPU emulation, not a GPU\n", devices,
                 static_cast<unsigned long long>(c.seed.load()), c.workers);
}

Runtime* created = nullptr;

}  // namespace

Runtime& runtime() {
  static Runtime* r = [] {
    create(&immortal<Runtime>());
    return created = &immortal<Runtime>();
  }();
  return *r;
}

Device* device_of(const void* p) {
  if (!created) return nullptr;
  for (auto& d : created->devices)
    if (d->arena.contains(p)) return d.get();
  return nullptr;
}

bool is_pinned(const void* p, size_t bytes) {
  auto& pinned = runtime().pinned;
  uint64_t a = reinterpret_cast<uint64_t>(p);
  auto it = pinned.upper_bound(a);
  if (it == pinned.begin()) return false;
  --it;
  return a >= it->first && a - it->first <= it->second.bytes && bytes <= it->second.bytes - (a - it->first);
}

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) tl_state.last_error = error;
  return error;
}

Entry::Entry(const char* call, cudaError_t natural, bool needs_device) {
  Runtime& r = runtime();
  if (!pool_alive()) {
    error = reject(cudaErrorInitializationError,
                   std::string(call) + ": this process was forked after the virtual GPU was used");
    return;
  }
  if (tl_state.in_callback) {
    error = reject(cudaErrorNotPermitted, std::string(call) + " inside a host function of a stream");
    return;
  }
  if (needs_device) {
    if (r.devices.empty()) {
      error = cudaErrorNoDevice;
      return;
    }
    device = r.devices[static_cast<size_t>(tl_state.device)].get();
  }
  if (device) error = device->sticky;
  if (error != cudaSuccess) return;
  error = injected_error(call, natural);
  const bool sticks = error == 700 || error == 702 || error == 710 || error == 716 || error == 719;
  if (sticks && device) device->sticky = error;
}

Stream* resolve(cudaStream_t stream, Device* device) {
  if (stream == nullptr || stream == cudaStreamLegacy) return device->default_stream;
  return runtime().streams.count(stream) ? stream : nullptr;
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
