#include <tantu/core/allocator.h>
#include <tantu/tests/catch.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace tantu;

TEST_CASE("blocks are aligned, distinct and reused") {
  Allocator& a = cpu_allocator();
  CHECK(a.allocate(0) == nullptr);
  std::map<char*, int64_t> live;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 50 && random() % 2) {
      const int64_t bytes = int64_t{1} << (random() % 20);
      const int64_t size = bytes + static_cast<int64_t>(random() % static_cast<uint32_t>(bytes));
      char* p = static_cast<char*>(a.allocate(size));
      REQUIRE(reinterpret_cast<uintptr_t>(p) % 64 == 0);
      const auto after = live.lower_bound(p);
      if (after != live.end()) REQUIRE(p + size <= after->first);
      if (after != live.begin()) REQUIRE(std::prev(after)->first + std::prev(after)->second <= p);
      std::memset(p, 1, static_cast<size_t>(size));
      live[p] = size;
    } else if (!live.empty()) {
      auto it = live.begin();
      std::advance(it, random() % live.size());
      a.deallocate(it->first, it->second);
      live.erase(it);
    }
  }
  for (auto& [p, size] : live) a.deallocate(p, size);
}

TEST_CASE("statistics return to where they were") {
  const int64_t before = cpu_memory_stats().allocated;
  void* p = cpu_allocator().allocate(1 << 20);
  CHECK(cpu_memory_stats().allocated == before + (1 << 20));
  CHECK(cpu_memory_stats().max_allocated >= before + (1 << 20));
  cpu_allocator().deallocate(p, 1 << 20);
  CHECK(cpu_memory_stats().allocated == before);
  cpu_reset_peak_memory_stats();
  CHECK(cpu_memory_stats().max_allocated == before);
  cpu_empty_cache();
  CHECK(cpu_memory_stats().reserved >= cpu_memory_stats().allocated);
}

TEST_CASE("too much memory is an OutOfMemoryError, and the process goes on") {
  CHECK_THROWS_AS(cpu_allocator().allocate(int64_t{1} << 59), OutOfMemoryError);
  CHECK_THROWS_AS(cpu_allocator().allocate((int64_t{1} << 60) + 1), OutOfMemoryError);
  void* p = cpu_allocator().allocate(100);
  CHECK(p);
  cpu_allocator().deallocate(p, 100);
}

TEST_CASE("threads may free each other's blocks") {
  const int64_t before = cpu_memory_stats().allocated;
  std::vector<void*> blocks(1000);
  std::thread maker([&] {
    for (auto& b : blocks) b = cpu_allocator().allocate(300);
  });
  maker.join();
  std::thread freer([&] {
    for (auto& b : blocks) cpu_allocator().deallocate(b, 300);
  });
  freer.join();
  CHECK(cpu_memory_stats().allocated == before);
}
