#pragma once

#include <tantu/core/device.h>

#include <cstdint>

/// The host waits for a device in few places, and every one of them passes here: so that waiting can be seen, counted
/// and forbidden.
namespace tantu {

/// Why the host waits.
enum class SyncReason : uint8_t {
  Item,            ///< a number read from a device: `item()`
  Print,           ///< a tensor printed
  CopyToHost,      ///< a tensor copied to the host
  CopyToDevice,    ///< pageable host memory copied to a device
  Nonzero,         ///< a result whose shape depends on values: `nonzero`, a mask as an index
  Check,           ///< values that must be in a range before an operation may go on
  Stream,          ///< `Stream::synchronize`
  Event,           ///< `Event::synchronize`
  Device,          ///< `synchronize(device)`
  FreeMemory,      ///< memory given back to the driver
  OutOfMemory,     ///< pending frees, before idle memory is given back and asked for again
  LaunchBlocking,  ///< after each launch, because CUDA_LAUNCH_BLOCKING=1
};
inline constexpr int kSyncReasons = 12;

/// "item", "print", "d2h_copy", "h2d_pageable", "nonzero", "check", "stream", "event", "device", "free_segment",
/// "oom_retry", "launch_blocking".
const char* name(SyncReason reason);

/// What happens when the host is about to wait.
enum class SyncMode : uint8_t {
  Off,    ///< nothing
  Count,  ///< it is counted
  Warn,   ///< and a line on stderr tells why, where and how long
  Error,  ///< instead of waiting an Error is thrown. FreeMemory, OutOfMemory and LaunchBlocking only warn
};

/// For all threads. PyTorch's `torch.cuda.set_sync_debug_mode`.
void set_sync_debug_mode(SyncMode mode);
/// What holds on this thread: its innermost SyncGuard, else the process's mode.
SyncMode get_sync_debug_mode();

/// A mode for this thread while it is alive; guards nest.
class SyncGuard {
 public:
  explicit SyncGuard(SyncMode mode);
  ~SyncGuard();
  SyncGuard(const SyncGuard&) = delete;
  SyncGuard& operator=(const SyncGuard&) = delete;

 private:
  int saved_;
};

/// Waits counted so far in the modes Count, Warn and Error, all threads.
struct SyncCount {
  int64_t calls = 0;
  int64_t bytes = 0;         ///< copied by them
  int64_t microseconds = 0;  ///< that the host stood still
};
SyncCount sync_count(SyncReason reason);
/// Over all reasons.
SyncCount sync_count();
void reset_sync_counts();

/// Stands around one blocking call: asks the mode before, tells afterwards how long it took.
class TANTU_API SyncScope {
 public:
  /// Throws Error in mode Error.
  SyncScope(SyncReason reason, Device device, int64_t bytes = 0);
  ~SyncScope();
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;

 private:
  SyncReason reason_;
  Device device_;
  int64_t bytes_, start_ns_ = -1;
};

/// Every wait inside has this reason, whatever its own: an `item()` is one, though it waits for a copy. The outermost
/// counts.
class SyncReasonScope {
 public:
  explicit SyncReasonScope(SyncReason reason);
  ~SyncReasonScope();
  SyncReasonScope(const SyncReasonScope&) = delete;
  SyncReasonScope& operator=(const SyncReasonScope&) = delete;

 private:
  bool outermost_;
};

}  // namespace tantu
