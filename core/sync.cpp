#include <tantu/core/sync.h>

#include <tantu/core/trace.h>

#include <atomic>
#include <chrono>
#include <cstdio>

namespace tantu {

namespace {

std::atomic<SyncMode> g_mode{SyncMode::Off};
struct Counter {
  std::atomic<int64_t> calls{0}, bytes{0}, nanoseconds{0};
};
Counter g_counters[kSyncReasons];

constexpr int kNone = -1;
thread_local constinit int t_mode = kNone;    // of the innermost guard
thread_local constinit int t_reason = kNone;  // of the outermost reason scope

int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

bool may_throw(SyncReason reason) {
  return reason != SyncReason::FreeMemory && reason != SyncReason::OutOfMemory && reason != SyncReason::LaunchBlocking;
}

}  // namespace

const char* name(SyncReason reason) {
  constexpr const char* names[kSyncReasons] = {"item",    "print",        "d2h_copy",  "h2d_pageable",
                                               "nonzero", "check",        "stream",    "event",
                                               "device",  "free_segment", "oom_retry", "launch_blocking"};
  return names[static_cast<int>(reason)];
}

void set_sync_debug_mode(SyncMode mode) {
  g_mode.store(mode);
}

SyncMode get_sync_debug_mode() {
  return t_mode == kNone ? g_mode.load(std::memory_order_relaxed) : static_cast<SyncMode>(t_mode);
}

SyncGuard::SyncGuard(SyncMode mode) : saved_(t_mode) {
  t_mode = static_cast<int>(mode);
}

SyncGuard::~SyncGuard() {
  t_mode = saved_;
}

SyncCount sync_count(SyncReason reason) {
  const Counter& c = g_counters[static_cast<int>(reason)];
  return {c.calls.load(), c.bytes.load(), c.nanoseconds.load() / 1000};
}

SyncCount sync_count() {
  SyncCount all;
  for (int i = 0; i < kSyncReasons; ++i) {
    const SyncCount one = sync_count(static_cast<SyncReason>(i));
    all.calls += one.calls;
    all.bytes += one.bytes;
    all.microseconds += one.microseconds;
  }
  return all;
}

void reset_sync_counts() {
  for (Counter& c : g_counters) c.calls = c.bytes = c.nanoseconds = 0;
}

SyncScope::SyncScope(SyncReason reason, Device device, int64_t bytes)
    : reason_(t_reason != kNone && may_throw(reason) ? static_cast<SyncReason>(t_reason) : reason),
      device_(device),
      bytes_(bytes) {
  const SyncMode mode = get_sync_debug_mode();
  if (mode == SyncMode::Error && may_throw(reason_))
    throw Error(fmt::format("{}: called a synchronizing CUDA operation ({}, {} bytes){}", name(reason_), device, bytes,
                            called_at()));
  if (mode != SyncMode::Off || trace::enabled()) start_ns_ = now_ns();
}

SyncScope::~SyncScope() {
  if (start_ns_ < 0) return;
  const int64_t waited = now_ns() - start_ns_;
  if (trace::enabled()) trace::record({trace::Kind::Sync, name(reason_), device_, bytes_, nullptr, waited});
  const SyncMode mode = get_sync_debug_mode();
  if (mode == SyncMode::Off) return;
  Counter& c = g_counters[static_cast<int>(reason_)];
  c.calls.fetch_add(1, std::memory_order_relaxed);
  c.bytes.fetch_add(bytes_, std::memory_order_relaxed);
  c.nanoseconds.fetch_add(waited, std::memory_order_relaxed);
  if (mode == SyncMode::Count) return;
  std::fprintf(stderr, "tantu: %s: the host waited %.1f us for %s:%d (%lld bytes)", name(reason_),
               static_cast<double>(waited) / 1000, name(device_.type()).data(), device_.index(),
               static_cast<long long>(bytes_));
  if (const Site at = SiteScope::current()) std::fprintf(stderr, ", called at %s:%d", at.file, at.line);
  std::fputc('\n', stderr);
}

SyncReasonScope::SyncReasonScope(SyncReason reason) : outermost_(t_reason == kNone) {
  if (outermost_) t_reason = static_cast<int>(reason);
}

SyncReasonScope::~SyncReasonScope() {
  if (outermost_) t_reason = kNone;
}

}  // namespace tantu
