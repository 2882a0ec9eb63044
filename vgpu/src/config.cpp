#include "config.h"

#include "sanitizers.h"

#include <sched.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>

inline namespace vgpu_abi {
namespace vgpu {

ConfigError::~ConfigError() = default;

namespace rt {
namespace {

const Profile profiles[] = {{"sm80", 8, 0, 163 << 10, 164 << 10, 2048, 32},
                            {"sm89", 8, 9, 99 << 10, 100 << 10, 1536, 24},
                            {"sm90", 9, 0, 227 << 10, 228 << 10, 2048, 32},
                            {"sm120", 12, 0, 99 << 10, 100 << 10, 1536, 24}};

[[noreturn]] void bad(const char* name, const std::string& value, const char* allowed) {
  throw ConfigError(std::string(name) + "=\"" + value + "\": expected " + allowed);
}

uint64_t whole(const char* name, const char* text, uint64_t low, uint64_t high, const char* allowed) {
  char* end = nullptr;
  errno = 0;
  unsigned long long v = *text >= '0' && *text <= '9' ? std::strtoull(text, &end, 10) : 0;
  if (!end || *end || errno || v < low || v > high) bad(name, text, allowed);
  return v;
}

double seconds(const char* name, const char* text) {
  char* end = nullptr;
  double v = std::strtod(text, &end);
  if (end == text || *end || !(v >= 0 && v <= 1e6)) bad(name, text, "seconds, 0 to 1000000");
  return v;
}

bool choice(const char* name, const char* text, const char* yes, const char* no, const char* allowed) {
  if (!std::strcmp(text, yes)) return true;
  if (std::strcmp(text, no)) bad(name, text, allowed);
  return false;
}

size_t bytes(const char* name, const char* text) {
  const char* allowed = "a number of bytes from 1M to 1024G, with K, M or G";
  char* end = nullptr;
  errno = 0;
  unsigned long long v = *text >= '0' && *text <= '9' ? std::strtoull(text, &end, 10) : 0;
  if (!end || errno) bad(name, text, allowed);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (shift) ++end;
  if (*end || v > (1ull << 40 >> shift) || (v << shift) < (1ull << 20)) bad(name, text, allowed);
  return v << shift;
}

/// As CUDA_VISIBLE_DEVICES: what follows the first number that names no device is not seen; nor is anything when a
/// device is named twice.
std::vector<int> visible_devices(const char* name, const char* text, int devices) {
  std::vector<int> seen;
  for (const char* at = text; *at;) {
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(at, &end, 10);
    if (end == at || errno || (*end && *end != ',')) bad(name, text, "device numbers with commas between them");
    if (number < 0 || number >= devices) break;
    if (std::find(seen.begin(), seen.end(), number) != seen.end()) return {};
    seen.push_back(static_cast<int>(number));
    at = *end ? end + 1 : end;
  }
  return seen;
}

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void read_environment(Config& c) {
  auto env = [](const char* name) -> const char* {
    const char* v = std::getenv(name);
    return v && *v ? v : nullptr;
  };
  c.profile = &profiles[0];
  c.workers = asan() ? 1 : std::clamp(std::min(cores(), sm_count), tsan() ? 2 : 1, 64);
  if (tsan()) c.watchdog *= 20;
  if (auto v = env("TANTU_VGPU_DEVICES"))
    c.devices = static_cast<int>(whole("TANTU_VGPU_DEVICES", v, 0, 64, "a number of devices, 0 to 64"));
  if (const char* v = std::getenv("TANTU_VGPU_VISIBLE_DEVICES"))  // empty: none
    c.visible = visible_devices("TANTU_VGPU_VISIBLE_DEVICES", v, c.devices);
  else
    for (int i = 0; i < c.devices; ++i) c.visible.push_back(i);
  if (auto v = env("TANTU_VGPU_MEMORY")) c.memory = bytes("TANTU_VGPU_MEMORY", v);
  if (auto v = env("TANTU_VGPU_WORKERS"))
    c.workers = static_cast<int>(whole("TANTU_VGPU_WORKERS", v, 1, 64, "a number of threads, 1 to 64"));
  if (asan()) c.workers = 1;
  if (auto v = env("TANTU_VGPU_SEED")) {
    if (!std::strcmp(v, "random")) c.seed = std::random_device{}() | 1u;
    else c.seed = whole("TANTU_VGPU_SEED", v, 0, std::numeric_limits<uint64_t>::max(), "a whole number or \"random\"");
  }
  if (auto v = env("TANTU_VGPU_PROFILE")) {
    auto it = std::find_if(std::begin(profiles), std::end(profiles), [&](auto& p) { return !std::strcmp(p.name, v); });
    if (it == std::end(profiles)) bad("TANTU_VGPU_PROFILE", v, "sm80, sm89, sm90 or sm120");
    c.profile = it;
  }
  if (auto v = env("TANTU_VGPU_PEER")) c.peers = choice("TANTU_VGPU_PEER", v, "all", "none", "all or none");
  if (auto v = env("TANTU_VGPU_GUARD")) c.guard = choice("TANTU_VGPU_GUARD", v, "1", "0", "0 or 1");
  if (auto v = env("TANTU_VGPU_POISON")) c.poison = choice("TANTU_VGPU_POISON", v, "1", "0", "0 or 1");
  if (auto v = env("TANTU_VGPU_ON_FAULT"))
    c.abort_on_fault = choice("TANTU_VGPU_ON_FAULT", v, "abort", "error", "error or abort");
  if (auto v = env("TANTU_VGPU_WATCHDOG")) c.watchdog = seconds("TANTU_VGPU_WATCHDOG", v);
  if (auto v = env("TANTU_VGPU_NCCL_TIMEOUT")) c.nccl_timeout = seconds("TANTU_VGPU_NCCL_TIMEOUT", v);
  if (auto v = env("TANTU_VGPU_FAIL")) c.fail = v;
  if (auto v = env("TANTU_VGPU_MODEL")) c.model = v;
  if (auto v = env("TANTU_QUIET")) c.quiet = std::strcmp(v, "0") != 0;
}

}  // namespace

Config& config() {
  static Config* ready = nullptr;
  static std::mutex mutex;
  if (Config* c = __atomic_load_n(&ready, __ATOMIC_ACQUIRE)) return *c;
  std::lock_guard lock(mutex);
  if (!ready) {
    auto* c = new Config;
    try {
      read_environment(*c);
    } catch (...) {
      delete c;
      throw;
    }
    __atomic_store_n(&ready, c, __ATOMIC_RELEASE);
  }
  return *ready;
}

}  // namespace rt
}  // namespace vgpu
}  // namespace vgpu_abi
