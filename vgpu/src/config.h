/// The environment variables, read once at first use.
#pragma once
#include <vgpu/control.h>

#include <atomic>
#include <string>
#include <vector>

inline namespace vgpu_abi {
namespace vgpu::rt {

struct Profile {
  const char* name;
  int major, minor;
  size_t shared_optin, shared_sm;
  int threads_sm, blocks_sm;
};

struct Config {
  int devices = 0;
  std::vector<int> visible;  ///< the machine's numbers of the devices that this process sees, in its order
  size_t memory = size_t{4} << 30;
  std::atomic<uint64_t> seed{0};
  int workers = 0;
  const Profile* profile = nullptr;
  bool peers = true, guard = true, poison = true, abort_on_fault = false, quiet = false;
  double watchdog = 20, nccl_timeout = 30;
  std::string fail, model;
};

constexpr int sm_count = 8;

/// Throws ConfigError on a bad value, at every call until it is mended.
Config& config();

}  // namespace vgpu::rt
}  // namespace vgpu_abi
