#pragma once

#include <tantu/core/device.h>

#include <cstdint>
#include <functional>

namespace bench {

/// What one row took: quartiles of the seconds of a call.
struct Timing {
  double p25 = 0, p50 = 0, p75 = 0;
  int64_t samples = 0, batch = 1;  ///< how many samples, of how many calls each
};

/// Seconds that `count` calls take on a device, put in one after the other: between two events of the GPU, elsewhere
/// from the first call to the end of a wait for the device. All timing of the bench goes through here.
double seconds_of(tantu::Device device, int64_t count, const std::function<void()>& call);
/// Samples `call` until `seconds` of samples are taken, at least 10 and at most 10 times that long. A sample is a batch
/// of calls that lasts a millisecond on the CPU and five on a GPU. Warms up first: kernels loaded, memory asked for.
Timing sample(tantu::Device device, double seconds, const std::function<void()>& call);

}  // namespace bench
