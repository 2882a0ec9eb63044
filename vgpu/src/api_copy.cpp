#include "model.h"
#include "runtime.h"
#include "sanitizers.h"

#include <cstring>
#include <memory>

inline namespace vgpu_abi {
using namespace vgpu::rt;

namespace {

struct Copy {
  void* dst;
  const void* src;
  size_t dpitch, spitch, width, height;
  Device *to = nullptr, *from = nullptr;  ///< null: host
  bool peer = false;                      ///< both devices are named: no peer access needed
  std::shared_ptr<char[]> snapshot = {};  ///< pageable source as it was at the call

  size_t extent(size_t pitch) const { return height ? pitch * (height - 1) + width : 0; }
};

/// "" if [p, p+extent) lies in one live allocation of its device.
std::string check_range(const char* side, Device* d, const void* p, size_t extent) {
  auto* a = d->arena.find(p);
  std::string name = std::string(side) + " " + hex(reinterpret_cast<uint64_t>(p));
  if (!a) return name + " is in no live allocation of vgpu:" + std::to_string(d->id);
  size_t offset = reinterpret_cast<uint64_t>(p) - a->first;
  if (extent <= a->second.bytes - offset) return "";
  return name + " + " + std::to_string(extent) + " bytes leaves its allocation of " + std::to_string(a->second.bytes) +
         " bytes (at offset " + std::to_string(offset) + ")";
}

cudaError_t check(Copy& c, cudaMemcpyKind kind, const char* call) {
  bool to = c.to != nullptr, from = c.from != nullptr;
  bool wrong = (kind == cudaMemcpyHostToHost && (to || from)) || (kind == cudaMemcpyHostToDevice && (!to || from)) ||
               (kind == cudaMemcpyDeviceToHost && (to || !from)) ||
               (kind == cudaMemcpyDeviceToDevice && (!to || !from)) || kind < 0 || kind > cudaMemcpyDefault;
  if (wrong) return reject(cudaErrorInvalidMemcpyDirection, std::string(call) + ": the kind does not fit the pointers");
  std::string problem;
  if (to) problem = check_range("destination", c.to, c.dst, c.extent(c.dpitch));
  if (from && problem.empty()) problem = check_range("source", c.from, c.src, c.extent(c.spitch));
  if (!problem.empty()) return reject(cudaErrorInvalidValue, std::string(call) + ": " + problem);
  if (to && c.to == c.from) {
    auto d = reinterpret_cast<uint64_t>(c.dst), s = reinterpret_cast<uint64_t>(c.src);
    if (d < s + c.extent(c.spitch) && s < d + c.extent(c.dpitch))
      report(std::string(call) + ": source and destination overlap");
  }
  return cudaSuccess;
}

/// Runs on worker 0.
cudaError_t perform(const Copy& c) {
  if (c.to) c.to->arena.open();
  if (c.from) c.from->arena.open();
  auto* d = static_cast<char*>(c.dst);
  auto* s = c.snapshot ? c.snapshot.get() : static_cast<const char*>(c.src);
  size_t spitch = c.snapshot ? c.width : c.spitch;
  for (size_t row = 0; row < c.height; ++row) std::memmove(d + row * c.dpitch, s + row * spitch, c.width);
  if (c.to) c.to->arena.close();
  if (c.from) c.from->arena.close();
  return cudaSuccess;
}

cudaError_t copy(const char* call, Copy c, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  Entry entry(call);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s) return done(reject(cudaErrorInvalidResourceHandle, std::string(call) + ": no such stream"));
  if (!c.width || !c.height) return cudaSuccess;
  if (!c.dst || !c.src) return done(cudaErrorInvalidValue);
  if (c.dpitch < c.width || c.spitch < c.width) return done(cudaErrorInvalidPitchValue);
  c.to = device_of(c.dst);
  c.from = device_of(c.src);
  if (cudaError_t e = check(c, kind, call)) return done(e);
  const bool device_only = c.to && c.from;
  if (!c.from && !wait && !is_pinned(c.src, c.extent(c.spitch))) {
    c.snapshot = std::shared_ptr<char[]>(new char[c.width * c.height]);
    for (size_t row = 0; row < c.height; ++row)
      std::memcpy(c.snapshot.get() + row * c.width, static_cast<const char*>(c.src) + row * c.spitch, c.width);
  }
  const bool pageable_out = !c.to && !is_pinned(c.dst, c.extent(c.dpitch));
  double cost = model_copy(static_cast<double>(c.width) * static_cast<double>(c.height));
  cudaError_t e = enqueue_function(
      lock, s, call, [c] { return perform(c); }, cost);
  if (e == cudaSuccess && ((wait && !device_only) || pageable_out)) e = run_stream(lock, s, s->last_seq);
  return done(e);
}

cudaError_t fill(const char* call, void* dst, int value, size_t bytes, cudaStream_t stream) {
  Entry entry(call);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s) return done(reject(cudaErrorInvalidResourceHandle, std::string(call) + ": no such stream"));
  if (!bytes) return cudaSuccess;
  Device* d = device_of(dst);
  std::string problem = d ? check_range("destination", d, dst, bytes) : "destination is not device memory";
  if (!d && dst && is_pinned(dst, bytes)) problem.clear();
  if (!problem.empty()) return done(reject(cudaErrorInvalidValue, std::string(call) + ": " + problem));
  auto body = [=] {
    if (d) d->arena.open();
    std::memset(dst, value, bytes);
    if (d) d->arena.close();
    return cudaSuccess;
  };
  return done(enqueue_function(lock, s, call, body, model_kernel(static_cast<double>(bytes), 0, 0)));
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", {dst, src, bytes, bytes, bytes, 1}, kind, nullptr, true);
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy("cudaMemcpyAsync", {dst, src, bytes, bytes, bytes, 1}, kind, stream, false);
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy("cudaMemcpy2DAsync", {dst, src, dpitch, spitch, width, height}, kind, stream, false);
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device, size_t bytes,
                                cudaStream_t stream) {
  auto count = static_cast<int>(runtime().devices.size());
  if (dst_device < 0 || dst_device >= count || src_device < 0 || src_device >= count)
    return done(cudaErrorInvalidDevice);
  Device *to = device_of(dst), *from = device_of(src);
  if (bytes && (!to || !from || to->id != dst_device || from->id != src_device))
    return done(reject(cudaErrorInvalidValue, "cudaMemcpyPeerAsync: a pointer is not of the device named for it"));
  Copy c{dst, src, bytes, bytes, bytes, 1};
  c.peer = true;
  return copy("cudaMemcpyPeerAsync", c, cudaMemcpyDeviceToDevice, stream, false);
}
cudaError_t cudaMemset(void* dst, int value, size_t bytes) {
  return fill("cudaMemset", dst, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream) {
  return fill("cudaMemsetAsync", dst, value, bytes, stream);
}

}  // namespace vgpu_abi
