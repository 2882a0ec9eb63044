#include <tantu/core/error.h>
#include <tantu/core/thread_pool.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace tantu {

namespace {

constexpr int kMaxThreads = 1024;
constexpr std::chrono::microseconds kWorkerSpin{30}, kCallerSpin{100};  // before a thread sleeps

thread_local bool inside_section = false;

int cores() {
  static const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Ready>
bool spin_until(const Ready& ready, std::chrono::microseconds most) {
  const auto limit = std::chrono::steady_clock::now() + most;
  do {
    for (int i = 0; i < 8; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < limit);
  return ready();
}

/// The chunks not yet begun of one participant's share.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

/// One section: its chunks, cut into one share per participant, what they call, what they threw. Everyone works off his
/// own share first (so a thread meets the same part of the data in section after section, in its own cache) and then
/// helps with the others' (so a slow or sleeping thread holds nobody up).
struct Section {
  int64_t begin, end, grain, chunks;
  detail::ChunkFunction run;
  void* context;
  Share* shares = nullptr;
  int participants = 1;
  std::atomic<bool> stop{false};
  std::mutex mutex{};
  int64_t thrower = INT64_MAX;
  std::exception_ptr error{};

  void run_chunk(int64_t index) const {
    const int64_t b = begin + index * grain;
    run(context, b, end - b > grain ? b + grain : end);
  }

  void deal(Share* room, int count) {
    shares = room;
    participants = count;
    for (int i = 0; i < count; ++i) {
      shares[i].next.store(chunks / count * i + std::min<int64_t>(i, chunks % count), std::memory_order_relaxed);
      shares[i].end = chunks / count * (i + 1) + std::min<int64_t>(i + 1, chunks % count);
    }
  }

  void take_part(int self) {
    inside_section = true;
    for (int i = 0; i < participants; ++i) {
      Share& share = shares[(self + i) % participants];
      while (share.next.load(std::memory_order_relaxed) < share.end && !stop.load(std::memory_order_relaxed)) {
        const int64_t index = share.next.fetch_add(1, std::memory_order_relaxed);
        if (index < share.end) try_chunk(index);
      }
    }
    inside_section = false;
  }

  void try_chunk(int64_t index) {
    try {
      run_chunk(index);
    } catch (...) {
      stop.store(true, std::memory_order_relaxed);
      std::lock_guard lock(mutex);
      if (index < thrower) thrower = index, error = std::current_exception();
    }
  }
};

/// Lets sleeping workers wake on any core but the caller's. A virtual machine's kernel takes a halted core for one that
/// is not to be had and wakes a thread on the waker's core instead; there the two would share one core for
/// milliseconds.
void keep_off_this_core([[maybe_unused]] const std::vector<pthread_t>& workers) {
#if defined(__linux__)
  cpu_set_t cores;
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2)
    return;
  CPU_CLR(static_cast<unsigned>(here), &cores);
  for (const pthread_t worker : workers) pthread_setaffinity_np(worker, sizeof cores, &cores);
#endif
}

/// `door_` tells, while a section is open, which workers may enter (those numbered 1 to bits 16-30) and how many are
/// inside (bits 0-15). The caller returns only when the door is shut and nobody is inside: so a worker that wakes late
/// finds a shut door (or the next section's open one) and never a section that has gone, and no section waits for a
/// worker that is still asleep.
class Pool {
 public:
  bool try_acquire() { return !busy_.exchange(true, std::memory_order_acquire); }
  void release() { busy_.store(false, std::memory_order_release); }

  void run(Section& section, int helpers) {
    const bool fresh = prepare(helpers);
    section.deal(shares_.get(), helpers + 1);
    section_ = &section;
    const bool spin = helpers < cores();
    spin_.store(spin, std::memory_order_relaxed);
    if (spin && (fresh || sleepers_.load() > 0)) keep_off_this_core(threads_);
    door_.store(kOpen | static_cast<uint32_t>(helpers) * kWorker, std::memory_order_release);
    wake();
    section.take_part(0);
    door_.fetch_and(kInside);
    wait_until_empty();
  }

 private:
  static constexpr uint32_t kOpen = uint32_t{1} << 31, kWorker = uint32_t{1} << 16, kInside = kWorker - 1;

  /// True if it started workers.
  bool prepare(int helpers) {
    if (helpers >= room_) {
      shares_.reset();
      room_ = 0;
      shares_.reset(new Share[static_cast<size_t>(helpers) + 1]);
      room_ = helpers + 1;
    }
    const size_t before = threads_.size();
    try {
      while (static_cast<int>(threads_.size()) < helpers) {
        threads_.reserve(static_cast<size_t>(helpers));
        std::thread worker([this, self = static_cast<int>(threads_.size()) + 1] { work(self); });
        threads_.push_back(worker.native_handle());
        worker.detach();
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: those there are do the work.
    }
    return threads_.size() > before;
  }

  void wake() {
    calls_.fetch_add(1);
    if (sleepers_.load() == 0) return;
    { std::lock_guard lock(mutex_); }
    called_.notify_all();
  }

  void wait_until_empty() {
    const auto empty = [this] { return door_.load() == 0; };
    if (empty() || (spin_.load(std::memory_order_relaxed) && spin_until(empty, kCallerSpin))) return;
    std::unique_lock lock(mutex_);
    caller_sleeps_.store(true);
    empty_.wait(lock, empty);
    caller_sleeps_.store(false);
  }

  [[noreturn]] void work(int self) {
    for (uint32_t seen = 0;; seen = calls_.load()) {
      if (enter(self)) {
        section_->take_part(self);
        leave();
      }
      const auto called = [&] { return calls_.load() != seen; };
      if (spin_.load(std::memory_order_relaxed) && spin_until(called, kWorkerSpin)) continue;
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      called_.wait(lock, called);
      sleepers_.fetch_sub(1);
    }
  }

  bool enter(int self) {
    uint32_t door = door_.load(std::memory_order_relaxed);
    do {
      if (!(door & kOpen) || (door & ~kOpen) / kWorker < static_cast<uint32_t>(self)) return false;
    } while (!door_.compare_exchange_weak(door, door + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }

  void leave() {
    if (door_.fetch_sub(1) != 1 || !caller_sleeps_.load()) return;
    { std::lock_guard lock(mutex_); }
    empty_.notify_all();
  }

  std::atomic<bool> busy_{false};
  int room_ = 0;  // this and the next two are touched by the holder of busy_ only
  std::vector<pthread_t> threads_;
  std::unique_ptr<Share[]> shares_;
  Section* section_ = nullptr;  // published by door_
  alignas(64) std::atomic<uint32_t> door_{0};
  alignas(64) std::atomic<uint32_t> calls_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false}, spin_{true};
  std::mutex mutex_;
  std::condition_variable called_, empty_;
};

// Never destroyed: workers sleep in it until the process ends. A child of fork() has none of its parent's threads, so
// it begins with a new one.
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
  [[maybe_unused]] static const int once = [] {
    current_pool.store(new Pool);
    return pthread_atfork(nullptr, nullptr, [] { current_pool.store(new Pool); });
  }();
  return *current_pool.load(std::memory_order_acquire);
}

/// The number in environment variable `name`; 0 if it is unset or empty.
int threads_from(const char* name, bool list) {
  const char* set = std::getenv(name);
  if (!set || !*set) return 0;
  std::string_view text = set;
  if (list) text = text.substr(0, text.find(','));
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  const bool good = error == std::errc() && end == text.data() + text.size() && threads >= 1 && threads <= kMaxThreads;
  TANTU_CHECK(good, ValueError, "{}: '{}' is not a number of threads (an integer from 1 to {})", name, set,
              kMaxThreads);
  return threads;
}

std::atomic<int> chosen_threads{0};

struct Release {
  ~Release() { pool().release(); }
};

}  // namespace

int get_num_threads() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  if (chosen) return chosen;
  int threads = threads_from("TANTU_NUM_THREADS", false);
  if (!threads) threads = threads_from("OMP_NUM_THREADS", true);
  if (!threads) threads = std::min(cores(), kMaxThreads);
  int none = 0;
  return chosen_threads.compare_exchange_strong(none, threads) ? threads : none;
}

void set_num_threads(int threads) {
  TANTU_CHECK(threads >= 1 && threads <= kMaxThreads, ValueError,
              "set_num_threads: {} is not a number of threads (an integer from 1 to {})", threads, kMaxThreads);
  chosen_threads.store(threads);
}

bool in_parallel_section() {
  return inside_section;
}

namespace detail {

void run_chunks(int64_t begin, int64_t end, int64_t grain, ChunkFunction run, void* context) {
  TANTU_CHECK(grain >= 1, ValueError, "parallel_for: grain must be at least 1, not {}", grain);
  if (begin >= end) return;
  if (end - begin <= grain) return run(context, begin, end);
  Section section{.begin = begin,
                  .end = end,
                  .grain = grain,
                  .chunks = (end - begin - 1) / grain + 1,
                  .run = run,
                  .context = context};
  const int helpers = static_cast<int>(std::min<int64_t>(section.chunks, get_num_threads())) - 1;
  if (helpers == 0 || inside_section || !pool().try_acquire()) {
    for (int64_t i = 0; i < section.chunks; ++i) section.run_chunk(i);
    return;
  }
  {
    const Release release_at_end;
    pool().run(section, helpers);
  }
  if (section.error) std::rethrow_exception(section.error);
}

}  // namespace detail

}  // namespace tantu
