#include <tantu/bench/sampler.h>

#include <tantu/core/gpu.h>
#include <tantu/core/stream.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace bench {

using namespace tantu;

double seconds_of(Device device, int64_t count, const std::function<void()>& call) {
  gpu::synchronize(device);
  if (device.type() == DeviceType::CUDA) {
    const Stream stream = gpu::current_stream(device);
    Event start(true), end(true);
    start.record(stream);
    for (int64_t i = 0; i < count; ++i) call();
    end.record(stream);
    end.synchronize();
    return start.elapsed_time(end) / 1e3;
  }
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) call();
  gpu::synchronize(device);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Timing sample(Device device, double seconds, const std::function<void()>& call) {
  double once = seconds_of(device, 1, call), warm = 0;
  // Clocks rise while a GPU works.
  const double enough = device.type() == DeviceType::CUDA ? std::max(seconds / 4, 0.05) : seconds / 4;
  for (int i = 0; i < 1000 && warm < enough; ++i) {
    const double taken = seconds_of(device, 1, call);
    warm += taken;
    once = std::min(once, taken);
  }
  Timing t;
  t.batch = std::clamp<int64_t>(std::llround((device.is_cpu() ? 1e-3 : 5e-3) / std::max(once, 1e-9)), 1, 512);
  std::vector<double> taken;
  double total = 0;
  while ((total < seconds || taken.size() < 10) && (total < 10 * seconds || taken.empty())) {
    const double batch = seconds_of(device, t.batch, call);
    total += batch;
    taken.push_back(batch / static_cast<double>(t.batch));
  }
  std::sort(taken.begin(), taken.end());
  t.samples = static_cast<int64_t>(taken.size());
  t.p25 = taken[taken.size() / 4];
  t.p50 = taken[taken.size() / 2];
  t.p75 = taken[taken.size() * 3 / 4];
  return t;
}

}  // namespace bench
