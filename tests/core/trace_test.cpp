#include <tantu/autograd/ops.h>
#include <tantu/core/trace.h>
#include <tantu/tests/catch.h>

#include <chrono>
#include <vector>

using namespace tantu;

namespace {
std::vector<trace::Event> g_events;
}

TEST_CASE("the trace tells operations and allocations with the caller's line") {
  g_events.clear();
  const Tensor x = ones({4});
  trace::set_sink([](const trace::Event& e, void*) { g_events.push_back(e); });
  const int line = __LINE__ + 1;
  const Tensor y = exp(x);
  trace::set_sink(nullptr);
  bool op = false, alloc = false;
  for (const trace::Event& e : g_events) {
    if (e.kind == trace::Kind::Op && std::string_view(e.name) == "exp") op = true;
    if (e.kind == trace::Kind::Alloc && e.bytes == 16) alloc = true;
    CHECK(e.site.line == line);
    CHECK(std::string_view(e.site.file).find("trace_test.cpp") != std::string_view::npos);
  }
  CHECK(op);
  CHECK(alloc);
}

TEST_CASE("a hook that is off costs less than 2 ns") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("SKIPPED: a sanitizer's build is not timed");
  return;
#endif
  using Clock = std::chrono::steady_clock;
  constexpr int n = 20'000'000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < n; ++i)
      if (trace::enabled()) trace::record({trace::Kind::Op, "never", kCPU});
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / n);
  }
  INFO("ns per hook: " << best);
  CHECK(best < 2.0);
}

TEST_CASE("operators note the line they stand on") {
  g_events.clear();
  const Tensor x = ones({4});
  trace::set_sink([](const trace::Event& e, void*) { g_events.push_back(e); });
  const int line = __LINE__ + 1;
  const Tensor y = x + 2;
  trace::set_sink(nullptr);
  REQUIRE_FALSE(g_events.empty());
  for (const trace::Event& e : g_events) CHECK(e.site.line == line);
}
