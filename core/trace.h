#pragma once

#include <tantu/core/device.h>
#include <tantu/core/site.h>

#include <atomic>
#include <cstdint>

/// The one place where what happens is told: ops, launches, copies, allocations. Off by default; a hook then costs one
/// relaxed load and a branch.
namespace tantu::trace {

enum class Kind : uint8_t { Op, Launch, Copy, Alloc, Free, Sync };

struct Event {
  Kind kind;
  const char* name;  ///< op or kernel; lives as long as the program
  Device device;
  int64_t bytes = 0;
  const void* address = nullptr;
  int64_t waited_ns = 0;  ///< Sync: how long the host stood still
  Site site = SiteScope::current();
};

/// Called with each event, on the thread where it happens; must not call tantu.
using Sink = void (*)(const Event&, void* context);

namespace detail {
TANTU_API extern std::atomic<bool> on;
}

inline bool enabled() {
  return __builtin_expect(detail::on.load(std::memory_order_relaxed), false);
}
/// Sets the process-wide sink; null switches tracing off. TANTU_EXPLAIN=1 installs one that prints a line per event to
/// stderr.
void set_sink(Sink sink, void* context = nullptr);
/// Hands an event to the sink. Call it behind `if (trace::enabled())`.
TANTU_API void record(const Event& event);

}  // namespace tantu::trace
