#include <tantu/kernels/divider32.h>
#include <tantu/kernels/tile_order.h>
#include <tantu/tests/catch.h>

#include <random>
#include <set>
#include <utility>

// The index arithmetic of GPU kernels, at its limits, without a GPU.
using namespace tantu;

TEST_CASE("division by multiplication is exact up to 2^31 - 1") {
  constexpr uint32_t last = 0x7fffffffu;
  std::vector<uint32_t> divisors = {1, 3, 5, 6, 7, 9, 10, 641, 65535, 65536, 65537, 1000000007, last - 1, last};
  for (uint32_t power = 2; power <= 1u << 30; power *= 2)
    for (uint32_t d : {power - 1, power, power + 1}) divisors.push_back(d);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) divisors.push_back(1 + random() % last);
  for (const uint32_t d : divisors) {
    const Divider32 by = divider_of(d);
    std::vector<uint32_t> numbers = {0, 1, last, last - 1};
    for (uint64_t q : {uint64_t{1}, uint64_t{2}, uint64_t{last / d / 2}, uint64_t{last / d}})
      for (int64_t e : {-1, 0, 1})
        if (const int64_t n = static_cast<int64_t>(q * d) + e; n >= 0 && n <= last)
          numbers.push_back(static_cast<uint32_t>(n));
    for (int i = 0; i < 200; ++i) numbers.push_back(random() % (last + 1u));
    for (const uint32_t n : numbers)
      if (divide(n, by) != n / d) FAIL(n << " / " << d << " gave " << divide(n, by));
  }
}

TEST_CASE("the order of tiles visits every tile once") {
  for (int64_t rows : {1, 2, 7, 8, 9, 16, 23})
    for (int64_t columns : {1, 2, 3, 8, 13}) {
      std::set<std::pair<int64_t, int64_t>> seen;
      for (int64_t i = 0; i < rows * columns; ++i) {
        const TilePlace p = tile_place(i, rows, columns);
        REQUIRE((p.row >= 0 && p.row < rows && p.column >= 0 && p.column < columns));
        seen.emplace(p.row, p.column);
      }
      CHECK(static_cast<int64_t>(seen.size()) == rows * columns);
    }
}
