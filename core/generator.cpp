#include <tantu/core/generator.h>

#include <tantu/core/error.h>

#include <random>

namespace tantu {

void destroy(GeneratorImpl* impl) { delete impl; }

Generator::Generator() : Generator(67280421310721u) {}

Generator::Generator(uint64_t seed) : impl_(make_ref<GeneratorImpl>()) { manual_seed(seed); }

Generator& Generator::manual_seed(uint64_t seed) {
  GeneratorImpl& g = *impl_;
  g.seed = seed;
  g.state[0] = static_cast<uint32_t>(seed);
  for (uint32_t j = 1; j < 624; ++j) g.state[j] = 1812433253u * (g.state[j - 1] ^ (g.state[j - 1] >> 30)) + j;
  g.left = 1;
  g.next = 0;
  g.next_double.reset();
  return *this;
}

uint64_t Generator::seed() {
  std::random_device device;
  const uint64_t seed = static_cast<uint64_t>(device()) << 32 | device();
  manual_seed(seed);
  return seed;
}

uint32_t Generator::random() {
  GeneratorImpl& g = *impl_;
  if (--g.left == 0) {
    const auto twist = [](uint32_t u, uint32_t v) {
      return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (v & 1u ? 0x9908b0dfu : 0u);
    };
    for (int j = 0; j < 624; ++j) g.state[j] = g.state[(j + 397) % 624] ^ twist(g.state[j], g.state[(j + 1) % 624]);
    g.left = 624;
    g.next = 0;
  }
  uint32_t y = g.state[g.next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

Generator& default_generator() {
  static auto* generator = [] {
    auto* g = new Generator;
    g->seed();
    return g;
  }();
  return *generator;
}

Generator& manual_seed(uint64_t seed) { return default_generator().manual_seed(seed); }

}  // namespace tantu
