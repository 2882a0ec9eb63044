#pragma once

#include <tantu/core/device.h>
#include <tantu/core/ref.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace tantu {

/// The state of a stream. On the CPU PyTorch's: MT19937 and the spare normal value of the scalar Box-Muller path. On a
/// GPU Philox: (seed, offset) is all there is.
struct GeneratorImpl : RefCounted {
  Device device;
  uint64_t seed = 0;
  uint32_t state[624];
  int left = 1;  ///< words until the next regeneration, as PyTorch counts them
  int next = 0;  ///< words taken from the present block
  std::optional<double> next_double;
  uint64_t offset = 0;  ///< Philox: 4 more after every fill
  std::atomic_flag busy;
};
void destroy(GeneratorImpl* impl);

/// A source of random numbers: a handle; copies share one state. On the CPU the stream is PyTorch's, bit for bit:
/// MT19937 (Matsumoto and Nishimura 1998), equal to std::mt19937 of the seed's low half. Single draws take no lock: see
/// `GeneratorLock`.
class Generator {
 public:
  /// Seed 67280421310721, as PyTorch's `Generator()`. DeviceError for a device that does not exist here.
  explicit Generator(Device device = kCPU);
  explicit Generator(uint64_t seed);

  Device device() const { return impl_->device; }
  /// Starts the stream of `seed` anew. On the CPU only its low 32 bits choose the stream.
  Generator& manual_seed(uint64_t seed);
  /// All 64 bits of the last seed.
  uint64_t initial_seed() const { return impl_->seed; }
  /// Seeds from the operating system and returns that seed.
  uint64_t seed();

  /// The next 32 random bits. CPU generators only, as all draws below.
  uint32_t random() {
    uint32_t word;
    random(&word, 1);
    return word;
  }
  /// The next 64: the first draw is the high half.
  uint64_t random64() {
    uint32_t words[2];
    random(words, 2);
    return static_cast<uint64_t>(words[0]) << 32 | words[1];
  }
  /// The next `count` words, the same as single draws but many times faster.
  void random(uint32_t* words, int64_t count);
  /// The value that `randn` of an odd number of elements left over for the next one.
  std::optional<double>& next_double() { return impl_->next_double; }
  /// GPU generators: the Philox offset of the next fill, which becomes `increment` larger.
  uint64_t next_offset(uint64_t increment);

  /// PyTorch's state blob: 5056 bytes, on a GPU 16.
  std::vector<uint8_t> get_state() const;
  /// Takes a blob of `get_state`, or the older 5048 bytes. FormatError for anything else; the state then stays as it
  /// was.
  void set_state(const std::vector<uint8_t>& blob);
  /// An independent generator that stands at the same place.
  Generator clone() const;

 private:
  friend class GeneratorLock;
  void regenerate();

  Ref<GeneratorImpl> impl_;
};

/// Holds a generator for one whole fill, so that fills of two threads do not mix. It is not recursive.
class GeneratorLock {
 public:
  explicit GeneratorLock(const Generator& generator);
  ~GeneratorLock();
  GeneratorLock(const GeneratorLock&) = delete;
  GeneratorLock& operator=(const GeneratorLock&) = delete;

 private:
  Ref<GeneratorImpl> impl_;
};

/// The generator used where none is given: the thread's own if a `GeneratorGuard` is alive on it, else the one of the
/// process, seeded from the operating system at first use.
Generator& default_generator();
/// The same for any device. DeviceError for one that does not exist here.
Generator& default_generator(Device device);
/// Seeds the default generator and that of every GPU.
Generator& manual_seed(uint64_t seed);

/// Gives this thread default generators of its own while it is alive: `cpu` for the CPU, fresh ones for GPUs. Rank
/// threads and loader workers draw as separate processes would.
class GeneratorGuard {
 public:
  explicit GeneratorGuard(const Generator& cpu);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;
  GeneratorGuard& operator=(const GeneratorGuard&) = delete;

 private:
  void* previous_;
};

}  // namespace tantu
