#include <tantu/core/error.h>
#include <tantu/core/thread_pool.h>
#include <tantu/tests/catch.h>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace tantu;

namespace {

using Chunks = std::set<std::pair<int64_t, int64_t>>;

Chunks chunks_of(int64_t begin, int64_t end, int64_t grain) {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> seen;
  parallel_for(begin, end, grain, [&](int64_t b, int64_t e) {
    std::lock_guard lock(mutex);
    seen.emplace_back(b, e);
  });
  Chunks unique(seen.begin(), seen.end());
  REQUIRE(unique.size() == seen.size());  // no chunk ran twice
  return unique;
}

Chunks chunks_promised(int64_t begin, int64_t end, int64_t grain) {
  Chunks chunks;
  for (int64_t b = begin; b<end; b = end - b> grain ? b + grain : end)
    chunks.emplace(b, end - b > grain ? b + grain : end);
  return chunks;
}

struct RestoreThreads {
  int before = get_num_threads();
  ~RestoreThreads() { set_num_threads(before); }
};

struct Child {
  int status;
  std::string output;
};

/// Runs one hidden test of this program in a new process with the environment `settings`.
Child run_self(const std::string& settings, const std::string& test) {
  std::array<char, 4096> self{};
  REQUIRE(readlink("/proc/self/exe", self.data(), self.size() - 1) > 0);
  const std::string command =
      "env -u TANTU_NUM_THREADS -u OMP_NUM_THREADS " + settings + " '" + self.data() + "' '" + test + "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output.push_back(static_cast<char>(c));
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

std::string threads_with(const std::string& settings) {
  const Child child = run_self(settings, "pool helper: print the number of threads");
  CHECK(child.status == 0);
  const size_t begin = child.output.find("<<"), end = child.output.find(">>");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  return child.output.substr(begin + 2, end - begin - 2);
}

}  // namespace

TEST_CASE("a section runs the promised chunks, each once, for any number of threads") {
  RestoreThreads restore;
  for (int threads : {1, 2, 3, 7, 16}) {
    set_num_threads(threads);
    for (int64_t size : {1, 2, 3, 7, 8, 9, 64, 1000})
      for (int64_t grain : {1, 2, 3, 8, 999, 1000, 1001})
        for (int64_t begin : {int64_t{0}, int64_t{-5}, INT64_MAX - 1000})
          REQUIRE(chunks_of(begin, begin + size, grain) == chunks_promised(begin, begin + size, grain));
  }
}

TEST_CASE("an empty range calls nothing and a grain below 1 is an error") {
  int calls = 0;
  parallel_for(0, 0, 1, [&](int64_t, int64_t) { ++calls; });
  parallel_for(5, 3, 1, [&](int64_t, int64_t) { ++calls; });
  CHECK(calls == 0);
  for (int64_t grain : {0, -1}) CHECK_THROWS_AS(parallel_for(0, 9, grain, [](int64_t, int64_t) {}), ValueError);
}

TEST_CASE("two threads work at the same time, again and again, also after they slept") {
  RestoreThreads restore;
  set_num_threads(2);
  for (int round = 0; round < 20; ++round) {
    if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::atomic<int> started{0};
    std::atomic<bool> late{false};
    parallel_for(0, 2, 1, [&](int64_t, int64_t) {
      started.fetch_add(1);
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (started.load() < 2 && !late.load()) {
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > limit) late.store(true);
      }
    });
    REQUIRE(!late.load());
  }
}

TEST_CASE("what a chunk throws reaches the caller, and the pool goes on") {
  RestoreThreads restore;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (int64_t bad : {0, 1, 50, 99}) {
      try {
        parallel_for(0, 100, 1, [&](int64_t b, int64_t) {
          if (b == bad) throw ShapeError("chunk " + std::to_string(b));
        });
        FAIL("nothing was thrown");
      } catch (const ShapeError& error) {
        CHECK(error.what() == "chunk " + std::to_string(bad));
      }
      CHECK(!in_parallel_section());
      CHECK(chunks_of(0, 40, 1).size() == 40);
    }
    CHECK_THROWS_AS(parallel_for(0, 100, 1, [](int64_t, int64_t) { throw 7; }), int);
  }
}

TEST_CASE("a section inside a section runs serially, in order, on the same thread") {
  RestoreThreads restore;
  set_num_threads(3);
  std::atomic<int> wrong{0}, inner{0};
  parallel_for(0, 8, 1, [&](int64_t, int64_t) {
    if (!in_parallel_section()) wrong.fetch_add(1);
    const auto self = std::this_thread::get_id();
    int64_t expected = 0;
    parallel_for(0, 50, 1, [&](int64_t b, int64_t) {
      if (std::this_thread::get_id() != self || b != expected++) wrong.fetch_add(1);
      inner.fetch_add(1);
    });
    if (!in_parallel_section()) wrong.fetch_add(1);
  });
  CHECK(wrong.load() == 0);
  CHECK(inner.load() == 400);
  CHECK(!in_parallel_section());
}

TEST_CASE("several threads may open sections at the same time") {
  RestoreThreads restore;
  set_num_threads(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&wrong, rank] {
      for (int round = 0; round < 2000; ++round) {
        std::atomic<int64_t> sum{0};
        parallel_for(rank, rank + 40, 3, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) sum.fetch_add(i, std::memory_order_relaxed);
        });
        if (sum.load() != 40 * rank + 780) wrong.fetch_add(1);
      }
    });
  for (std::thread& rank : ranks) rank.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("chunks see what the caller wrote, and the caller what they wrote") {
  RestoreThreads restore;
  set_num_threads(3);
  std::vector<int64_t> data(1000, 0);  // plain memory: the race checker proves the ordering
  for (int round = 1; round <= 500; ++round) {
    parallel_for(0, 1000, 50, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) data[static_cast<size_t>(i)] += i;
    });
    data[static_cast<size_t>(round)] += 1;
  }
  for (int64_t i = 0; i < 1000; ++i) REQUIRE(data[static_cast<size_t>(i)] == 500 * i + (i >= 1 && i <= 500));
}

TEST_CASE("set_num_threads refuses what is not a number of threads") {
  RestoreThreads restore;
  for (int bad : {0, -1, 1025, INT_MAX}) {
    try {
      set_num_threads(bad);
      FAIL("accepted " << bad);
    } catch (const ValueError& error) {
      CHECK(error.what() ==
            fmt::format("set_num_threads: {} is not a number of threads (an integer from 1 to 1024)", bad));
    }
  }
  set_num_threads(5);
  CHECK(get_num_threads() == 5);
}

TEST_CASE("pool helper: print the number of threads", "[.helper]") {
  try {
    std::printf("<<%d>>\n", get_num_threads());
  } catch (const ValueError& error) {
    std::printf("<<%s>>\n", error.what());
  }
}

TEST_CASE("the environment sets the number of threads") {
  CHECK(threads_with("TANTU_NUM_THREADS=3") == "3");
  CHECK(threads_with("OMP_NUM_THREADS=5") == "5");
  CHECK(threads_with("OMP_NUM_THREADS=4,2") == "4");
  CHECK(threads_with("TANTU_NUM_THREADS=3 OMP_NUM_THREADS=5") == "3");
  CHECK(threads_with("TANTU_NUM_THREADS= OMP_NUM_THREADS=5") == "5");
  CHECK(std::stoi(threads_with("A=1")) >= 1);
  for (const char* bad : {"0", "-2", "1025", "two", "3x", "1.5", "2,3", "99999999999999999999", "\" 3\""}) {
    const std::string text = threads_with(std::string("TANTU_NUM_THREADS=") + bad);
    const std::string value = bad[0] == '"' ? " 3" : bad;
    CHECK(text == "TANTU_NUM_THREADS: '" + value + "' is not a number of threads (an integer from 1 to 1024)");
  }
  CHECK(threads_with("OMP_NUM_THREADS=x") ==
        "OMP_NUM_THREADS: 'x' is not a number of threads (an integer from 1 to 1024)");
}

TEST_CASE("pool helper: leave with sleeping workers", "[.helper]") {
  set_num_threads(4);
  parallel_for(0, 100, 1, [](int64_t, int64_t) {});
}

TEST_CASE("a process ends with its workers asleep or spinning") {
  for (int i = 0; i < 5; ++i) CHECK(run_self("A=1", "pool helper: leave with sleeping workers").status == 0);
}

// The race checker kills a child that starts threads after fork(), so there this test does not exist.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a child of fork has its own workers") {
  RestoreThreads restore;
  set_num_threads(3);
  CHECK(chunks_of(0, 30, 1).size() == 30);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::atomic<int> started{0};
    parallel_for(0, 2, 1, [&](int64_t, int64_t) {
      started.fetch_add(1);
      for (int i = 0; i < 30000 && started.load() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    _exit(started.load() == 2 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(chunks_of(0, 30, 1).size() == 30);
}
#endif
