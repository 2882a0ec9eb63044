#pragma once

#include <tantu/core/device.h>
#include <tantu/core/site.h>

#include <memory>

namespace tantu {

class Event;
struct StreamImpl;
struct EventImpl;

/// A queue of one GPU's work: what is put into it runs in order, beside the work of other streams. A handle: copies
/// mean the same stream, which ends with its last handle (work already in it still runs). Operations go to the current
/// stream of their device (core/current.h); no order holds between two streams, the default one included, unless one
/// waits for the other. A stream of the CPU is empty at any time.
class TANTU_API Stream {
 public:
  /// A new stream. Lower numbers of `priority` are more urgent; they are cut to what the device has (0 and below).
  explicit Stream(Device device, int priority = 0, Site at = Site::here());
  Stream(const Stream&) = default;  // no move: a handle always means a stream
  Stream& operator=(const Stream&) = default;
  /// The stream that work goes to unless another is chosen.
  static Stream default_stream(Device device);

  Device device() const;
  /// The driver's handle (a `cudaStream_t`); null for the default stream.
  void* handle() const;

  /// Whether all work put into it so far is done. Never waits.
  bool query() const;
  /// The host waits until all work put into it so far is done. Throws what failed on the way.
  void synchronize(Site at = Site::here()) const;
  /// Work put in from now on waits for the event (nothing, if it was never recorded). The host does not wait.
  void wait_event(const Event& event, Site at = Site::here()) const;
  /// Work put in from now on waits for what is in `other` now.
  void wait_stream(const Stream& other, Site at = Site::here()) const;
  /// A fresh event, recorded here.
  Event record_event(Site at = Site::here()) const;

  friend bool operator==(const Stream& a, const Stream& b) {
    return a.device() == b.device() && a.handle() == b.handle();
  }

 private:
  explicit Stream(std::shared_ptr<StreamImpl> impl);
  std::shared_ptr<StreamImpl> impl_;
};

/// A point in a stream's work. A handle, as Stream. It belongs to the device of the stream that records it first.
class TANTU_API Event {
 public:
  explicit Event(bool enable_timing = false);

  /// The point is what `stream` holds now (without an argument: the current stream of the current GPU). Recording again
  /// moves it; who waits already keeps the old point. DeviceError on a stream of another device than before.
  void record(const Stream& stream, Site at = Site::here());
  void record(Site at = Site::here());
  /// Whether the work before the point is done; true if it was never recorded. Never waits.
  bool query() const;
  /// The host waits until the work before the point is done.
  void synchronize(Site at = Site::here()) const;
  /// Milliseconds of the device's time from this point to `end`. Both need timing, and must have been recorded on one
  /// device and be done (ValueError). On a virtual GPU the time comes from its model of a device and is no measurement.
  double elapsed_time(const Event& end, Site at = Site::here()) const;
  /// Whether it has been recorded.
  bool recorded() const;
  Device device() const;

 private:
  friend class Stream;
  std::shared_ptr<EventImpl> impl_;
};

}  // namespace tantu
