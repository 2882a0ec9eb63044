#include <tantu/autograd/ops.h>
#include <tantu/core/allocator.h>
#include <tantu/core/dispatch.h>
#include <tantu/tests/catch.h>

#include <atomic>
#include <cstdlib>
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
  const int64_t before = cpu_allocator().stats().allocated;
  void* p = cpu_allocator().allocate(1 << 20);
  CHECK(cpu_allocator().stats().allocated == before + (1 << 20));
  CHECK(cpu_allocator().stats().max_allocated >= before + (1 << 20));
  cpu_allocator().deallocate(p, 1 << 20);
  CHECK(cpu_allocator().stats().allocated == before);
  cpu_allocator().reset_peak();
  CHECK(cpu_allocator().stats().max_allocated == before);
  cpu_allocator().empty_cache();
  CHECK(cpu_allocator().stats().reserved >= cpu_allocator().stats().allocated);
}

TEST_CASE("too much memory is an OutOfMemoryError, and the process goes on") {
  CHECK_THROWS_AS(cpu_allocator().allocate(int64_t{1} << 59), OutOfMemoryError);
  CHECK_THROWS_AS(cpu_allocator().allocate((int64_t{1} << 60) + 1), OutOfMemoryError);
  void* p = cpu_allocator().allocate(100);
  CHECK(p);
  cpu_allocator().deallocate(p, 100);
}

TEST_CASE("threads may free each other's blocks") {
  const int64_t before = cpu_allocator().stats().allocated;
  std::vector<void*> blocks(1000);
  std::thread maker([&] {
    for (auto& b : blocks) b = cpu_allocator().allocate(300);
  });
  maker.join();
  std::thread freer([&] {
    for (auto& b : blocks) cpu_allocator().deallocate(b, 300);
  });
  freer.join();
  CHECK(cpu_allocator().stats().allocated == before);
}

TEST_CASE("memory that containers do not find is an OutOfMemoryError that names the operation") {
  const auto start = [](const char* op) { return Catch::StartsWith(fmt::format("{}: CPU out of memory", op)); };
  CHECK_THROWS_WITH(on_device(kCPU, "sum", [](auto&) { throw std::bad_alloc(); }), start("sum"));
  CHECK_THROWS_WITH(on_device(kCPU, "sort", [](auto&) { throw std::length_error("vector"); }), start("sort"));
  CHECK(in_host_memory("split", [] { return 3; }) == 3);
  CHECK_THROWS_WITH(make_tensor("full", {int64_t{1} << 58}, kUInt8, kCPU), start("full"));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("SKIPPED: a sanitizer's operator new ends the program where the real one throws");
  return;
#endif
  const Tensor huge = expand(ones({1}), {int64_t{1} << 62});
  CHECK_THROWS_AS(huge.max(), OutOfMemoryError);
  CHECK_THROWS_AS(huge.argmax(), OutOfMemoryError);
  CHECK_THROWS_AS(huge.var(), OutOfMemoryError);
  CHECK_THROWS_AS(huge.prod(), OutOfMemoryError);
  CHECK_THROWS_AS(huge.nonzero(), OutOfMemoryError);
  CHECK_THROWS_AS(masked_select(huge, huge > 0), Error);
  CHECK_THROWS_AS(huge.split(1), OutOfMemoryError);
  CHECK_THROWS_AS(huge.chunk(INT64_MAX), OutOfMemoryError);
  CHECK_THROWS_AS(zeros({0}).chunk(INT64_MAX), OutOfMemoryError);
  CHECK_THROWS_AS(unbind(huge), OutOfMemoryError);
  CHECK_THROWS_AS(median(huge), Error);
  CHECK_THROWS_AS(huge.sum(0), OutOfMemoryError);
  CHECK_THROWS_AS(huge.mean(), OutOfMemoryError);
  CHECK_THROWS_AS(huge.norm(), OutOfMemoryError);
  CHECK_THROWS_AS(einsum("i->", {huge}), OutOfMemoryError);
}

TEST_CASE("a product packs its panels in the allocator's memory") {
  struct Stingy : Allocator {  // gives the result its memory, and no more
    std::atomic<int> left{1};
    void* allocate(int64_t bytes) override {
      if (left-- > 0) return std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64));
      throw OutOfMemoryError("no more");
    }
    void deallocate(void* block, int64_t) noexcept override { std::free(block); }
  } stingy;
  const Tensor a = ones({130, 140}), b = ones({140, 150});
  const int64_t before = cpu_allocator().stats().allocated;
  CHECK(matmul(a, b).sum().item<double>() == 130.0 * 140 * 150);
  CHECK(cpu_allocator().stats().allocated == before);
  set_cpu_allocator(&stingy);
  try {
    matmul(a, b);
    FAIL("nothing was thrown");
  } catch (const OutOfMemoryError& error) {
    set_cpu_allocator(nullptr);
    CHECK(std::string(error.what()) == "matmul: no more");
  }
  set_cpu_allocator(nullptr);
}
