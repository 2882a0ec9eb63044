#include <tantu/core/generator.h>

#include <tantu/core/error.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <numbers>
#include <random>

namespace tantu {

namespace {

constexpr uint64_t kDefaultSeed = 67280421310721;
constexpr int kWords = 624, kShift = 397;

uint32_t twist(uint32_t far, uint32_t u, uint32_t v) {
  const uint32_t mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
  return far ^ (mixed >> 1) ^ (-(v & 1u) & 0x9908b0dfu);
}

// PyTorch's blob. Its last eight bytes, a spare float, are unused on the CPU; older versions lack them.
struct Blob {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next;
  uint64_t state[kWords];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid;
  uint8_t pad[4];
  float next_float;
  uint8_t next_float_is_valid;
  uint8_t end_pad[3];
};
static_assert(sizeof(Blob) == 5056 && std::endian::native == std::endian::little, "the blob's layout is PyTorch's");
constexpr size_t kOldBlob = sizeof(Blob) - 8;

struct PhiloxBlob {
  uint64_t seed, offset;
};

void check_cpu(const GeneratorImpl& g) {
  TANTU_CHECK(g.device.is_cpu(), DeviceError, "random: Expected a 'cpu' device type for generator but found '{}'",
              g.device);
}

}  // namespace

void destroy(GeneratorImpl* impl) {
  delete impl;
}

Generator::Generator(Device device) : impl_(make_ref<GeneratorImpl>()) {
  TANTU_CHECK(device.index() >= 0 && device.index() < device_count(device.type()), DeviceError,
              "Generator: there is no device {} here", device);
  impl_->device = device;
  manual_seed(kDefaultSeed);
}

Generator::Generator(uint64_t seed) : impl_(make_ref<GeneratorImpl>()) {
  manual_seed(seed);
}

Generator& Generator::manual_seed(uint64_t seed) {
  GeneratorImpl& g = *impl_;
  g.seed = seed;
  g.offset = 0;
  g.state[0] = static_cast<uint32_t>(seed);
  for (uint32_t j = 1; j < kWords; ++j) g.state[j] = 1812433253u * (g.state[j - 1] ^ (g.state[j - 1] >> 30)) + j;
  g.left = 1;
  g.next = 0;
  g.next_double.reset();
  return *this;
}

uint64_t Generator::seed() {
  std::random_device device;
  const uint64_t high = device();
  manual_seed(high << 32 | device());
  return impl_->seed;
}

void Generator::regenerate() {
  uint32_t* s = impl_->state;
  for (int j = 0; j < kWords - kShift; ++j) s[j] = twist(s[j + kShift], s[j], s[j + 1]);
  for (int j = kWords - kShift; j < kWords - 1; ++j) s[j] = twist(s[j + kShift - kWords], s[j], s[j + 1]);
  s[kWords - 1] = twist(s[kShift - 1], s[kWords - 1], s[0]);
}

void Generator::random(uint32_t* words, int64_t count) {
  GeneratorImpl& g = *impl_;
  check_cpu(g);
  while (count > 0) {
    if (g.left == 1) {
      regenerate();
      g.left = kWords + 1;
      g.next = 0;
    }
    const int n = static_cast<int>(std::min<int64_t>(count, g.left - 1));
    const uint32_t* state = g.state + g.next;
    for (int i = 0; i < n; ++i) {
      uint32_t y = state[i];
      y ^= y >> 11;
      y ^= (y << 7) & 0x9d2c5680u;
      y ^= (y << 15) & 0xefc60000u;
      words[i] = y ^ (y >> 18);
    }
    g.left -= n;
    g.next += n;
    words += n;
    count -= n;
  }
}

uint64_t Generator::next_offset(uint64_t increment) {
  TANTU_CHECK(!impl_->device.is_cpu(), DeviceError, "next_offset: Expected a GPU's generator but found 'cpu'");
  const uint64_t offset = impl_->offset;
  impl_->offset += increment;
  return offset;
}

std::vector<uint8_t> Generator::get_state() const {
  const GeneratorImpl& g = *impl_;
  if (!g.device.is_cpu()) {
    const PhiloxBlob blob{g.seed, g.offset};
    const auto* bytes = reinterpret_cast<const uint8_t*>(&blob);
    return {bytes, bytes + sizeof blob};
  }
  Blob blob{};
  blob.seed = g.seed;
  blob.left = g.left;
  blob.seeded = 1;
  blob.next = static_cast<uint64_t>(g.next);
  std::copy_n(g.state, kWords, blob.state);
  blob.normal_y = g.next_double.value_or(0);
  blob.normal_is_valid = g.next_double.has_value();
  const auto* bytes = reinterpret_cast<const uint8_t*>(&blob);
  return {bytes, bytes + sizeof blob};
}

void Generator::set_state(const std::vector<uint8_t>& bytes) {
  GeneratorImpl& g = *impl_;
  if (!g.device.is_cpu()) {
    PhiloxBlob blob;
    TANTU_CHECK(bytes.size() == sizeof blob, FormatError, "set_state: expected {} bytes for {}, but got {}",
                sizeof blob, g.device, bytes.size());
    std::memcpy(&blob, bytes.data(), sizeof blob);
    TANTU_CHECK(blob.offset % 4 == 0, FormatError, "set_state: offset {} is not a multiple of 4", blob.offset);
    g.seed = blob.seed;
    g.offset = blob.offset;
    return;
  }
  TANTU_CHECK(bytes.size() == sizeof(Blob) || bytes.size() == kOldBlob, FormatError,
              "set_state: expected a state of {} bytes (or the older {}), but got {}", sizeof(Blob), kOldBlob,
              bytes.size());
  Blob blob{};
  std::memcpy(&blob, bytes.data(), bytes.size());
  const bool fresh = blob.left == 1 && (blob.next == 0 || blob.next == kWords);
  TANTU_CHECK(blob.seeded == 1 && blob.left >= 1 && blob.left <= kWords &&
                  (fresh || blob.next + static_cast<uint64_t>(blob.left) == kWords + 1),
              FormatError, "set_state: not a generator's state (seeded {}, left {}, next {})", blob.seeded, blob.left,
              blob.next);
  TANTU_CHECK(std::all_of(blob.state, blob.state + kWords, [](uint64_t word) { return word >> 32 == 0; }), FormatError,
              "set_state: not a generator's state (a word of more than 32 bits)");
  g.seed = blob.seed;
  g.left = blob.left;
  g.next = static_cast<int>(blob.next);
  for (int j = 0; j < kWords; ++j) g.state[j] = static_cast<uint32_t>(blob.state[j]);
  g.next_double.reset();
  if (!blob.normal_is_valid) return;
  const bool old = bytes.size() == kOldBlob;  // kept the two numbers that the spare value comes from
  g.next_double = old ? blob.normal_rho * std::sin(2 * std::numbers::pi * blob.normal_x) : blob.normal_y;
}

Generator Generator::clone() const {
  Generator copy(device());
  copy.set_state(get_state());
  return copy;
}

GeneratorLock::GeneratorLock(const Generator& generator) : impl_(generator.impl_) {
  while (impl_->busy.test_and_set(std::memory_order_acquire)) impl_->busy.wait(true, std::memory_order_relaxed);
}

GeneratorLock::~GeneratorLock() {
  impl_->busy.clear(std::memory_order_release);
  impl_->busy.notify_one();
}

namespace {

/// The default generators of the process, or of one thread.
struct Defaults {
  std::mutex mutex;
  std::deque<Generator> generators;  // references to them stay good

  Generator& of(Device device) {
    std::lock_guard lock(mutex);
    for (Generator& g : generators)
      if (g.device() == device) return g;
    Generator& g = generators.emplace_back(device);
    g.seed();
    return g;
  }
};

Defaults& process_defaults() {
  static auto* defaults = new Defaults;  // outlives every thread
  return *defaults;
}

thread_local Defaults* thread_defaults = nullptr;

Defaults& defaults() {
  return thread_defaults ? *thread_defaults : process_defaults();
}

}  // namespace

Generator& default_generator(Device device) {
  return defaults().of(device);
}

Generator& default_generator() {
  return default_generator(kCPU);
}

Generator& manual_seed(uint64_t seed) {
  for (Device device : devices()) default_generator(device).manual_seed(seed);
  return default_generator();
}

GeneratorGuard::GeneratorGuard(const Generator& cpu) : previous_(thread_defaults) {
  TANTU_CHECK(cpu.device().is_cpu(), DeviceError,
              "GeneratorGuard: Expected a 'cpu' device type for generator but found '{}'", cpu.device());
  auto* own = new Defaults;
  own->generators.push_back(cpu);
  thread_defaults = own;
}

GeneratorGuard::~GeneratorGuard() {
  delete thread_defaults;
  thread_defaults = static_cast<Defaults*>(previous_);
}

}  // namespace tantu
