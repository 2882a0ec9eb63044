/// cudaLaunchKernelEx: the type-safe template of the CUDA runtime. Arguments are converted to the kernel's parameter
/// types and copied at the call; the launch is queued on its stream.
#pragma once
#include <vgpu/runtime_types.h>

#include <new>
#include <type_traits>
#include <utility>

inline namespace vgpu_abi {

namespace vgpu {
struct ArgInfo {
  size_t offset, bytes;
  bool pointer;
};
/// One launch, type erased: `run` calls the kernel once, for the current GPU thread.
struct LaunchRecord {
  const void* kernel;
  void (*run)(const void* kernel, const void* args);
  const void* args;
  size_t args_bytes;
  const ArgInfo* infos;
  int count;
};
VGPU_API cudaError_t launch(const cudaLaunchConfig_t* config, const LaunchRecord& record);
/// Who asks for a launch: an operation and its caller's line. The texts live as long as the process.
struct LaunchCaller {
  const char* op = nullptr;
  const char* file = nullptr;
  int line = 0;
};
/// What reports say of this thread's next launch ("launched at FILE:LINE by OP, called at FILE:LINE"); used once.
VGPU_API void set_launch_site(const char* file, int line, LaunchCaller caller = {});
/// Declares what this thread's next launch moves and computes, for the time model only.
VGPU_API void set_launch_cost(double bytes, double flops);

template <class... P>
struct ArgPack {
  static constexpr size_t count = sizeof...(P);
  ArgInfo info[count ? count : 1] = {};
  size_t bytes = 0;
  constexpr ArgPack() {
    size_t sizes[] = {sizeof(P)..., 0}, aligns[] = {alignof(P)..., 1};
    bool pointers[] = {std::is_pointer_v<P>..., false};
    for (size_t i = 0; i < count; ++i) {
      bytes = (bytes + aligns[i] - 1) / aligns[i] * aligns[i];
      info[i] = {bytes, sizes[i], pointers[i]};
      bytes += sizes[i];
    }
  }
};
template <class... P>
inline constexpr ArgPack<P...> arg_pack{};

template <class... P, size_t... I>
void run_kernel(const void* kernel, const void* args, std::index_sequence<I...>) {
  const char* base = static_cast<const char*>(args);
  reinterpret_cast<void (*)(P...)>(const_cast<void*>(kernel))(
      *reinterpret_cast<const P*>(base + arg_pack<P...>.info[I].offset)...);
  (void)base;
}
template <class... P, size_t... I>
void store_args(char* base, std::index_sequence<I...>, P&... values) {
  (::new (base + arg_pack<P...>.info[I].offset) P(std::move(values)), ...);
  (void)base;
}
}  // namespace vgpu

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "the kernel takes another number of arguments");
  static_assert((std::is_trivially_destructible_v<P> && ...), "kernel parameters must not own anything");
  return [&](P... values) {
    constexpr auto& pack = vgpu::arg_pack<P...>;
    alignas(64) char buffer[pack.bytes ? pack.bytes : 1];
    vgpu::store_args<P...>(buffer, std::index_sequence_for<P...>(), values...);
    vgpu::LaunchRecord record{
        reinterpret_cast<const void*>(kernel),
        [](const void* k, const void* a) { vgpu::run_kernel<P...>(k, a, std::index_sequence_for<P...>()); },
        buffer,
        pack.bytes,
        pack.info,
        static_cast<int>(sizeof...(P))};
    return vgpu::launch(config, record);
  }(std::forward<A>(args)...);
}

}  // namespace vgpu_abi
