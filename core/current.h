#pragma once

#include <tantu/core/stream.h>

#include <memory>
#include <optional>
#include <vector>

/// What a thread works on: of each type of device the current one, and of each GPU the current stream. Every thread
/// starts with device 0 and the default streams.
namespace tantu {

namespace gpu {

/// Makes a device the current one of its type on this thread: "cuda" then means it. DeviceError if it is not there.
void set_device(Device device, Site at = Site::here());
/// The current device of a type.
TANTU_API Device current_device(DeviceType type);
/// The GPU that this thread chose last with a guard or `set_device`; if it chose none, the current one of silicon, else
/// of the virtual ones, else the CPU.
TANTU_API Device current_device();

/// The stream that operations on the device go to.
Stream current_stream(Device device);
/// Makes a stream its device's current one on this thread. The device itself does not become current.
void set_stream(const Stream& stream);
/// The streams that this thread has chosen, one for each device that is not on its default one; null if there are none.
using ChosenStreams = std::shared_ptr<const std::vector<Stream>>;
TANTU_API ChosenStreams chosen_streams();
/// `current_stream(device).handle()`, quickly.
TANTU_API void* current_stream_handle(Device device);

}  // namespace gpu

/// A device is current on this thread while it is alive; then the one before is again.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device, Site at = Site::here());
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device before_;
  std::optional<Device> chosen_before_;
};

/// A stream, and its device, are current on this thread while it is alive; then what was before is again.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream, Site at = Site::here());
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  DeviceGuard device_;
  Stream before_;
};

}  // namespace tantu
