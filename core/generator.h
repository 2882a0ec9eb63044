#pragma once

#include <tantu/core/ref.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tantu {

/// The state of PyTorch's CPU stream: MT19937 and the spare normal value of the scalar Box-Muller path.
struct GeneratorImpl : RefCounted {
  uint64_t seed = 0;
  uint32_t state[624];
  int left = 1;             ///< words until the next regeneration, as PyTorch counts them
  int next = 0;             ///< words taken from the present block
  std::optional<double> next_double;
};
void destroy(GeneratorImpl* impl);

/// A source of random numbers: a handle; copies share one state. Same seed, same numbers as PyTorch on the CPU.
class Generator {
 public:
  /// Seed 67280421310721, as PyTorch's `Generator()`.
  Generator();
  explicit Generator(uint64_t seed);

  /// Starts the stream of `seed` anew. Only its low 32 bits choose the stream.
  Generator& manual_seed(uint64_t seed);
  uint64_t initial_seed() const { return impl_->seed; }
  /// Seeds from the operating system and returns that seed.
  uint64_t seed();

  /// The next 32 random bits.
  uint32_t random();
  /// The next 64: the first draw is the high half.
  uint64_t random64() {
    const uint64_t high = random();
    return high << 32 | random();
  }
  std::optional<double>& next_double() { return impl_->next_double; }

  /// PyTorch's state blob, 5056 bytes.
  std::vector<uint8_t> get_state() const;
  /// Takes a blob of `get_state`, or the older 5048 bytes. FormatError for anything else; the state then stays as it was.
  void set_state(const std::vector<uint8_t>& blob);
  Generator clone() const;

 private:
  Ref<GeneratorImpl> impl_;
};

/// The generator used where none is given; one per process, seeded from the operating system at first use.
Generator& default_generator();
/// Seeds the default generator (and every device's).
Generator& manual_seed(uint64_t seed);

}  // namespace tantu
