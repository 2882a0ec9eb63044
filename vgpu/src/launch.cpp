#include "launch.h"

#include "elf.h"
#include "immortal.h"
#include "model.h"
#include "pool.h"
#include "runtime.h"
#include "sanitizers.h"

#include <link.h>
#include <algorithm>
#include <cstring>

struct TlsIndex {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {
namespace {

struct Kernel {
  Module* module = nullptr;
  std::string symbol, name;
  std::vector<SharedRange> ranges;
};

/// What is known of each launched kernel.
struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Kernel>> known;
};
Kernels& kernels() {
  return immortal<Kernels>();
}

Kernel& kernel_info(const void* kernel) {
  std::lock_guard lock(kernels().mutex);
  auto& slot = kernels().known[kernel];
  if (slot) return *slot;
  slot = std::make_unique<Kernel>();
  Kernel& k = *slot;
  k.module = &module_of(kernel);
  k.symbol = k.module->name_of(kernel);
  k.name = k.symbol.empty() ? "kernel at " + hex(reinterpret_cast<uint64_t>(kernel)) : demangle(k.symbol);
  if (k.module->stripped) {
    if (!VGPU_ASAN && k.module->tls_module) k.ranges.push_back({0, k.module->tls_size, true});
    return k;
  }
  // Shared arrays of the kernel itself are named _ZZ<kernel>E<name>. Those of helpers are refilled too, but not those
  // of other kernels that have been launched; plain statics (address sanitizer's lane) only if they are the kernel's.
  std::string own = k.symbol.size() > 2 ? "_ZZ" + k.symbol.substr(2) + "E" : "";
  for (auto& s : k.module->statics) {
    bool mine = !own.empty() && s.name.compare(0, own.size(), own) == 0;
    bool other = !s.tls;
    for (auto& [address, info] : kernels().known)
      if (info && info.get() != &k && info->symbol.size() > 2 &&
          s.name.compare(3, info->symbol.size() - 2, info->symbol, 2, std::string::npos) == 0)
        other = true;
    if (mine || !other) k.ranges.push_back({s.offset, s.size, s.tls});
  }
  return k;
}

cudaError_t check_attributes(const cudaLaunchConfig_t& c) {
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    auto& a = c.attrs[i];
    bool fine =
        a.id == cudaLaunchAttributeIgnore || a.id == cudaLaunchAttributePriority ||
        (a.id == cudaLaunchAttributeProgrammaticStreamSerialization && !a.val.programmaticStreamSerializationAllowed) ||
        (a.id == cudaLaunchAttributeCooperative && !a.val.cooperative) ||
        (a.id == cudaLaunchAttributeClusterDimension && a.val.clusterDim.x <= 1 && a.val.clusterDim.y <= 1 &&
         a.val.clusterDim.z <= 1);
    if (!fine) return reject(cudaErrorNotSupported, "launch attribute " + std::to_string(a.id) + " is not supported");
  }
  return cudaSuccess;
}

std::string dims(dim3 d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

cudaError_t check_shape(const cudaLaunchConfig_t& c, const void* kernel) {
  dim3 g = c.gridDim, b = c.blockDim;
  bool zero = !g.x || !g.y || !g.z || !b.x || !b.y || !b.z;
  if (zero || b.x > 1024 || b.y > 1024 || b.z > 64 || static_cast<uint64_t>(b.x) * b.y * b.z > 1024 ||
      g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    return reject(cudaErrorInvalidConfiguration, "invalid launch shape: grid " + dims(g) + ", block " + dims(b) +
                                                     ", launched at " + place({c.vgpu_file, c.vgpu_line}));
  auto& limits = runtime().max_dynamic_smem;
  auto it = limits.find(kernel);
  size_t limit = it == limits.end() || it->second < (48 << 10) ? 48 << 10 : static_cast<size_t>(it->second);
  if (c.dynamicSmemBytes > limit || c.dynamicSmemBytes > config().profile->shared_optin)
    return reject(cudaErrorInvalidValue, "dynamic shared memory of " + std::to_string(c.dynamicSmemBytes) +
                                             " bytes: this kernel may use " + std::to_string(limit) +
                                             " (cudaFuncAttributeMaxDynamicSharedMemorySize)");
  return cudaSuccess;
}

bool reachable(const Device& from, const Device& to) {
  return &from == &to || (from.peers >> to.id & 1u);
}

/// A pointer argument must lie in memory that the device can reach; "" if so.
std::string check_pointer(const Device& device, const void* p) {
  if (!p) return "";
  if (Device* owner = device_of(p)) {
    if (!reachable(device, *owner))
      return "is memory of vgpu:" + std::to_string(owner->id) + ", used from vgpu:" + std::to_string(device.id) +
             " without peer access";
    return owner->arena.find(p) ? "" : "points into no live allocation of vgpu:" + std::to_string(owner->id);
  }
  return is_pinned(p, 1) ? "" : "is a host pointer";
}

cudaError_t check_arguments(const Device& device, const LaunchRecord& r) {
  auto* bytes = static_cast<const char*>(r.args);
  for (int i = 0; i < r.count; ++i) {
    const ArgInfo& a = r.infos[i];
    std::string problem;
    const void* value = nullptr;
    if (a.pointer) {
      std::memcpy(&value, bytes + a.offset, sizeof value);
      problem = check_pointer(device, value);
    } else if (runtime().devices.size() > 1) {
      for (size_t o = 0; problem.empty() && o + 8 <= a.bytes && (a.offset + o) % 8 == 0; o += 8) {
        std::memcpy(&value, bytes + a.offset + o, 8);
        Device* owner = device_of(value);
        if (owner && owner->arena.find(value) && !reachable(device, *owner)) problem = check_pointer(device, value);
      }
    }
    if (!problem.empty()) {
      report(kernel_name(r.kernel) + ": argument " + std::to_string(i + 1) + " " + problem + " (" +
                 hex(reinterpret_cast<uint64_t>(value)) + ")",
             true);
      return cudaErrorIllegalAddress;
    }
  }
  return cudaSuccess;
}

/// The blocks that run_only_blocks has left, in order.
void choose_blocks(Launch& l, const std::vector<int64_t>& wanted) {
  l.chosen = !wanted.empty();
  const auto count = static_cast<int64_t>(static_cast<uint64_t>(l.grid.x) * l.grid.y * l.grid.z);
  for (int64_t b : wanted)
    if (b < count && b >= -count) l.choice.push_back(static_cast<uint64_t>(b < 0 ? b + count : b));
  std::sort(l.choice.begin(), l.choice.end());
  l.choice.erase(std::unique(l.choice.begin(), l.choice.end()), l.choice.end());
}

struct KernelOp final : Op {
  Launch launch;
  double nanoseconds = 0;
  cudaError_t run() override {
    if (!launch.module) prepare_poison(launch);
    launch.number = ++runtime().launches;
    launch.seed = config().seed.load(std::memory_order_relaxed);
    run_blocks(launch);
    return static_cast<cudaError_t>(launch.error.load());
  }
  double cost() override { return nanoseconds; }
};

constinit thread_local Site tl_launch_site{nullptr, 0};
constinit thread_local LaunchCaller tl_launch_caller;
constinit thread_local double tl_cost[2] = {0, 0};

}  // namespace

std::string kernel_name(const void* kernel) {
  return kernel_info(kernel).name;
}

void prepare_poison(Launch& l) {
  Kernel& k = kernel_info(l.kernel);
  l.module = k.module;
  l.ranges = k.ranges.data();
  l.range_count = k.ranges.size();
}

void poison_shared(Launch& l, Worker& w) {
  if (asan()) {
    unpoison_region(w.smem, l.smem);
    poison_region(w.smem + l.smem, (256 << 10) - l.smem);
  }
  if (!config().poison) return;
  fill_poison(w.smem, l.smem);
  if (!l.range_count) return;
  if (w.tls_of != l.module) {
    TlsIndex index{l.module->tls_module, 0};
    w.tls_base = l.module->tls_module ? static_cast<char*>(__tls_get_addr(&index)) : nullptr;
    w.tls_of = l.module;
  }
  for (size_t i = 0; i < l.range_count; ++i) {
    auto& r = l.ranges[i];
    fill_poison(r.tls ? w.tls_base + r.offset : reinterpret_cast<char*>(l.module->base) + r.offset, r.size);
  }
}

}  // namespace rt

using namespace rt;

void set_launch_site(const char* file, int line, LaunchCaller caller) {
  tl_launch_site = {file, line};
  tl_launch_caller = caller;
}
std::vector<std::string> launched_kernels() {
  std::lock_guard lock(kernels().mutex);
  std::vector<std::string> names;
  for (auto& [address, info] : kernels().known)
    if (info) names.push_back(info->name);
  return names;
}
void set_launch_cost(double bytes, double flops) {
  tl_cost[0] = bytes;
  tl_cost[1] = flops;
}

cudaError_t launch(const cudaLaunchConfig_t* config, const LaunchRecord& record) {
  const Site site = tl_launch_site;
  const LaunchCaller caller = tl_launch_caller;
  double bytes = tl_cost[0], flops = tl_cost[1];
  tl_launch_site = {nullptr, 0};
  tl_launch_caller = {};
  tl_cost[0] = tl_cost[1] = 0;
  Entry entry("cudaLaunchKernelEx", cudaErrorLaunchOutOfResources);
  if (entry) return done(entry.error);
  if (!config) return done(cudaErrorInvalidValue);
  if (!record.kernel) return done(reject(cudaErrorInvalidDeviceFunction, "launch of a null kernel"));
  Lock lock(runtime().mutex);
  Stream* stream = resolve(config->stream, entry.device);
  if (!stream) return done(reject(cudaErrorInvalidResourceHandle, "launch on a stream that does not exist"));
  cudaLaunchConfig_t c = *config;
  if (site.file) c.vgpu_file = site.file, c.vgpu_line = site.line;
  if (cudaError_t e = check_shape(c, record.kernel)) return done(e);
  if (cudaError_t e = check_attributes(c)) return done(e);
  if (cudaError_t e = check_arguments(*stream->device, record)) {
    stream->device->sticky = e;
    return done(e);
  }
  auto op = std::make_unique<KernelOp>();
  op->name = "kernel";
  Launch& l = op->launch;
  l.kernel = record.kernel;
  l.run = record.run;
  l.args = ::operator new(record.args_bytes ? record.args_bytes : 1, std::align_val_t(64));
  std::memcpy(l.args, record.args, record.args_bytes);
  l.grid = c.gridDim;
  l.block = c.blockDim;
  l.threads = static_cast<int>(c.blockDim.x * c.blockDim.y * c.blockDim.z);
  l.smem = c.dynamicSmemBytes;
  l.file = c.vgpu_file;
  l.line = c.vgpu_line;
  l.caller = caller;
  choose_blocks(l, runtime().only_blocks);
  op->nanoseconds =
      model_kernel(bytes, flops, static_cast<double>(l.threads) * c.gridDim.x * c.gridDim.y * c.gridDim.z);
  return done(enqueue(lock, stream, std::move(op)));
}

}  // namespace vgpu
}  // namespace vgpu_abi
