#pragma once

#include <tantu/core/export.h>

#include <cstdint>

namespace tantu {

/// Where a kernel runs. Each target has its own type, so that dispatch is ordinary overloading: a kernel that a target
/// lacks is a link error which names it.
struct CpuContext {};

/// What a GPU kernel launcher is given. Work goes to `stream`; scratch comes from `workspace`.
struct GpuContextBase {
  int device = 0;
  void* stream = nullptr;    ///< the target's stream handle; null is the default stream
  const char* op = nullptr;  ///< what errors and traces call this work
};
struct CudaContext : GpuContextBase {};
struct VgpuContext : GpuContextBase {};

}  // namespace tantu

/// Declares a kernel for all three targets: `TANTU_KERNEL(sum_dims, ConstView x, View y, ...)` is one function per
/// context.
#define TANTU_KERNEL(name, ...)                                \
  void name(::tantu::CpuContext& ctx, __VA_ARGS__);            \
  TANTU_API void name(::tantu::CudaContext& ctx, __VA_ARGS__); \
  TANTU_API void name(::tantu::VgpuContext& ctx, __VA_ARGS__)
