/// The model of a device's speed that event times come from: for teaching, no measurement of anything. It never changes
/// what runs first.
#pragma once

#include <string>

inline namespace vgpu_abi {
namespace vgpu::rt {

/// A made-up product by default.
struct TimeModel {
  double bandwidth = 500;      ///< device memory, GB/s
  double flops = 10000;        ///< GFLOP/s
  double link = 12;            ///< to the host and between devices, GB/s
  double kernel_start = 2000;  ///< ns from a launch to the first thread
  double copy_start = 8000;    ///< ns
  double hop = 5000;           ///< ns for each step of a collective
};

/// From a JSON object with any of bandwidth_gbps, gflops, link_gbps, kernel_start_ns, copy_start_ns, hop_ns (numbers
/// above 0). Throws ConfigError naming `source`, the place and what is allowed.
TimeModel parse_model(const std::string& source, const std::string& json);
/// The file that TANTU_VGPU_MODEL names, at most 64 KiB.
TimeModel read_model(const std::string& path);

/// Reads the file now, so that a bad one is refused before anything runs.
void load_model();
/// Nanoseconds. A kernel whose cost nobody declared takes 1 ns for each thread of an SM that has 64 lanes.
double model_kernel(double bytes, double flops, double threads);
double model_copy(double bytes);
/// A ring's: `steps` messages, `bytes` in all over the link.
double model_collective(double steps, double bytes);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
