#include <tantu/core/error.h>
#include <tantu/core/generator.h>
#include <tantu/tests/catch.h>

#include <cstring>
#include <random>
#include <thread>

using namespace tantu;

namespace {

std::vector<uint32_t> next_words(Generator& g, int64_t n) {
  std::vector<uint32_t> words(static_cast<size_t>(n));
  g.random(words.data(), n);
  return words;
}

}  // namespace

TEST_CASE("generator: equals std::mt19937, singly and in runs of any length") {
  for (const uint64_t seed : {0ull, 1ull, 123ull, (1ull << 40) + 7, ~0ull}) {
    Generator g(seed);
    std::mt19937 reference(static_cast<uint32_t>(seed));
    CHECK(g.initial_seed() == seed);
    int64_t mistakes = 0;
    for (int64_t n = 0; n < 1400; n += 37) {
      for (const uint32_t word : next_words(g, n)) mistakes += word != reference();
      mistakes += g.random() != reference();
      const uint64_t high = reference();
      mistakes += g.random64() != (high << 32 | reference());
    }
    CHECK(mistakes == 0);
  }
}

TEST_CASE("generator: a fresh one has PyTorch's seed; copies share, clones do not") {
  Generator g;
  CHECK(g.initial_seed() == 67280421310721u);
  Generator same = g, clone = g.clone();
  const uint32_t first = g.random();
  CHECK(clone.random() == first);
  CHECK(same.random() == clone.random());
  g.manual_seed(static_cast<uint64_t>(-1));
  CHECK(same.initial_seed() == ~uint64_t{0});
}

TEST_CASE("generator: state saved and restored at every place of the block") {
  for (const int64_t drawn : {0, 1, 2, 622, 623, 624, 625, 1248, 1249}) {
    for (const bool spare : {false, true}) {
      CAPTURE(drawn, spare);
      Generator g(99);
      next_words(g, drawn);
      if (spare) g.next_double() = 0.1 + 0.2;
      const std::vector<uint8_t> state = g.get_state();
      REQUIRE(state.size() == 5056);
      Generator other(5);
      other.next_double() = 1.0;
      other.set_state(state);
      CHECK(other.get_state() == state);
      CHECK(other.next_double() == g.next_double());
      CHECK(other.initial_seed() == 99);
      CHECK(next_words(g, 2000) == next_words(other, 2000));
    }
  }
}

TEST_CASE("generator: the blob's layout is PyTorch's") {
  const auto at = [](const std::vector<uint8_t>& blob, size_t offset, auto value) {
    std::memcpy(&value, blob.data() + offset, sizeof value);
    return value;
  };
  Generator g(123);
  CHECK(at(g.get_state(), 0, uint64_t{}) == 123);
  CHECK(at(g.get_state(), 8, int32_t{}) == 1);
  CHECK(at(g.get_state(), 12, int32_t{}) == 1);
  CHECK(at(g.get_state(), 16, uint64_t{}) == 0);
  CHECK(at(g.get_state(), 24, uint64_t{}) == 123);
  g.random();
  CHECK(at(g.get_state(), 8, int32_t{}) == 624);
  CHECK(at(g.get_state(), 16, uint64_t{}) == 1);
  next_words(g, 623);
  CHECK(at(g.get_state(), 8, int32_t{}) == 1);
  CHECK(at(g.get_state(), 16, uint64_t{}) == 624);
  g.next_double() = 0.75;
  CHECK(at(g.get_state(), 24 + 624 * 8 + 8, double{}) == 0.75);
  CHECK(at(g.get_state(), 24 + 624 * 8 + 24, int32_t{}) == 1);
}

TEST_CASE("generator: states of another size or make are refused and change nothing") {
  Generator g(1);
  next_words(g, 10);
  const std::vector<uint8_t> before = g.get_state();
  std::vector<uint8_t> old(before.begin(), before.end() - 8);
  Generator from_old(2);
  from_old.set_state(old);
  CHECK(next_words(from_old, 700) == next_words(g, 700));
  g.set_state(before);

  for (const size_t size : {0u, 1u, 5047u, 5049u, 5055u, 5057u, 10112u}) {
    std::vector<uint8_t> wrong = before;
    wrong.resize(size);
    CHECK_THROWS_AS(g.set_state(wrong), FormatError);
  }
  const std::pair<size_t, uint8_t> lies[] = {{8, 0},    {9, 200},    {11, 0x80},           {12, 0}, {16, 200}, {17, 9},
                                             {23, 255}, {24 + 4, 1}, {24 + 623 * 8 + 7, 1}};
  for (const auto& [offset, value] : lies) {
    CAPTURE(offset);
    std::vector<uint8_t> wrong = before;
    wrong[offset] = value;
    CHECK_THROWS_AS(g.set_state(wrong), FormatError);
  }
  CHECK(g.get_state() == before);
}

TEST_CASE("generator: seeds from the system differ; seeding clears the spare value") {
  Generator g;
  g.next_double() = 1.0;
  const uint64_t a = g.seed();
  CHECK(!g.next_double());
  CHECK(g.initial_seed() == a);
  CHECK(g.seed() != a);
}

TEST_CASE("generator: one default for the process, another under a guard") {
  manual_seed(11);
  const uint32_t first = Generator(11).random();
  uint32_t elsewhere = 0, guarded = 0;
  std::thread([&] { elsewhere = default_generator().random(); }).join();
  CHECK(elsewhere == first);
  std::thread([&] {
    const GeneratorGuard own(Generator(3));
    {
      const GeneratorGuard inner(Generator(4));
      manual_seed(77);
    }
    guarded = default_generator().random();
  }).join();
  CHECK(guarded == Generator(3).random());
  Generator expected(11);
  expected.random();
  CHECK(default_generator().random() == expected.random());
}

TEST_CASE("generator: a held one keeps others out") {
  Generator g(1);
  int64_t words = 0;
  const auto draw = [&] {
    for (int i = 0; i < 2000; ++i) {
      const GeneratorLock lock(g);
      g.random();
      ++words;
    }
  };
  std::thread a(draw), b(draw);
  a.join();
  b.join();
  Generator expected(1);
  next_words(expected, 4000);
  CHECK(words == 4000);
  CHECK(g.random() == expected.random());
}

TEST_CASE("generator: device generators") {
  CHECK_THROWS_AS(Generator(Device(DeviceType::VGPU, 99)), DeviceError);
  Generator g;
  CHECK(g.device() == kCPU);
  CHECK_THROWS_AS(g.next_offset(4), DeviceError);
}
