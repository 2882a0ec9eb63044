#include "pool.h"

#include "config.h"
#include "fault.h"
#include "immortal.h"
#include "sanitizers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>

inline namespace vgpu_abi {
namespace vgpu::rt {
namespace {

void futex_wait(std::atomic<uint32_t>& word, uint32_t value, long milliseconds) {
  timespec t{milliseconds / 1000, milliseconds % 1000 * 1000000};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, milliseconds ? &t : nullptr,
          nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// A counter that one side bumps and the other waits for; spins a little, then sleeps.
struct alignas(64) Signal {
  std::atomic<uint32_t> value{0}, sleepers{0};
  void bump() {
    value.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst)) futex_wake(value);
  }
  /// Waits until value != seen; at most `milliseconds` when not 0. Returns whether it changed.
  bool wait_change(uint32_t seen, int spins, long milliseconds = 0) {
    for (int i = 0; i < spins; ++i) {
      if (value.load(std::memory_order_acquire) != seen) return true;
      if (i % 32 == 31) sched_yield();  // the other side may be waiting for this very core
      else relax();
    }
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    while (value.load(std::memory_order_seq_cst) == seen) {
      futex_wait(value, seen, milliseconds);
      if (milliseconds) break;
    }
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
    return value.load(std::memory_order_acquire) != seen;
  }
};

constexpr int spins = 640;  // of the order of 10 microseconds

struct Pool {
  std::mutex mutex;  ///< one session at a time
  int count = 0;
  Worker* workers[64] = {};
  pthread_t threads[64] = {};
  Signal session_posted, session_done, blocks_posted, blocks_done;
  const std::function<void()>* session = nullptr;
  std::atomic<Launch*> launch{nullptr};
  std::atomic<uint64_t> deal{0};  ///< which posting the launch belongs to, and among how many workers it is dealt
  bool dead = false;
};
Pool& pool() {
  return immortal<Pool>();
}

uint64_t gcd_step(uint64_t blocks, uint64_t random) {
  if (blocks < 3) return 1;
  uint64_t step = random % (blocks - 1) + 1;
  while (std::gcd(step, blocks) != 1) step = step % (blocks - 1) + 1;
  return step;
}

void run_share(Worker& w, Launch& l) {
  w.stacks.reserve(static_cast<size_t>(l.threads) + 1);
  for (uint64_t i = static_cast<uint64_t>(w.index); i < l.blocks; i += static_cast<uint64_t>(l.share)) {
    if (l.error.load(std::memory_order_relaxed)) break;
    uint64_t block =
        l.seed ? static_cast<uint64_t>((static_cast<unsigned __int128>(i) * l.stride + l.offset) % l.blocks) : i;
    w.run_block(l, l.chosen ? l.choice[block] : block);
  }
  hb_acquire(&w.sync_end);
}

void work(int index) {
  Pool& p = pool();
  Worker& w = *p.workers[index];
  tl_worker = &w;
  use_signal_stack();
  if (index == 0) {
    for (uint32_t seen = 0;; ++seen) {
      p.session_posted.wait_change(seen, spins);
      hb_acquire(&p.session);
      (*p.session)();
      hb_release(&p.session_done);
      p.session_done.bump();
    }
  }
  for (uint32_t seen = p.blocks_posted.value.load();;) {
    p.blocks_posted.wait_change(seen, spins);
    seen = p.blocks_posted.value.load(std::memory_order_acquire);
    uint64_t deal = p.deal.load(std::memory_order_acquire);
    if (deal >> 32 != seen || static_cast<uint64_t>(index) >= (deal & 0xffffffffu)) continue;
    hb_acquire(&p.launch);
    run_share(w, *p.launch.load(std::memory_order_acquire));
    hb_release(&p.blocks_done);
    p.blocks_done.bump();
  }
}

void start_worker(int index) {
  Pool& p = pool();
  void* map = mmap(nullptr, sizeof(Worker) + (256 << 10) + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  char* smem = static_cast<char*>(map);
  Worker* w = ::new (smem + (256 << 10) + 4096) Worker;
  w->smem = smem;
  w->index = index;
  p.workers[index] = w;
  if (index) ++p.count;
  std::thread t([index] { work(index); });
  p.threads[index] = t.native_handle();
  t.detach();
  if (!index) ++p.count;
}

void start_pool() {
  Pool& p = pool();
  install_handlers();
  pthread_atfork(nullptr, nullptr, [] { pool().dead = true; });
  int count = config().workers;
  while (p.count < count) start_worker(p.count);
}

}  // namespace

bool pool_alive() {
  return !pool().dead;
}

void resize_pool(int workers) {
  std::lock_guard lock(pool().mutex);
  if (asan()) workers = 1;
  config().workers = workers;
  if (pool().count)
    while (pool().count < workers) start_worker(pool().count);
}

void on_worker0(const std::function<void()>& session) {
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  if (!p.count) start_pool();
  install_handlers();
  uint32_t seen = p.session_done.value.load();
  p.session = &session;
  hb_release(&p.session);
  p.session_posted.bump();
  const double limit = config().watchdog;
  double still = 0;
  uint64_t last[64] = {};
  bool first = true;
  while (!p.session_done.wait_change(seen, spins, 100)) {
    if (limit <= 0) continue;
    Launch* l = p.launch.load(std::memory_order_acquire);
    still += 0.1;
    for (int i = 0; i < p.count; ++i) {
      uint64_t now = p.workers[i]->progress.load(std::memory_order_relaxed);
      if (now != last[i] || first) still = 0;
      last[i] = now;
    }
    first = false;
    if (!l || still < limit) continue;
    still = 0;
    for (int i = 0; i < p.count; ++i)
      if (p.workers[i]->current) interrupt(p.threads[i]);
  }
  hb_acquire(&p.session_done);
}

void run_blocks(Launch& l) {
  Pool& p = pool();
  Worker& w = *p.workers[0];
  l.blocks = l.chosen ? l.choice.size() : static_cast<uint64_t>(l.grid.x) * l.grid.y * l.grid.z;
  if (l.seed && l.blocks) {
    uint64_t mix = l.seed * 0x9e3779b97f4a7c15ull + l.number * 0xbf58476d1ce4e5b9ull;
    mix ^= mix >> 29;
    l.stride = gcd_step(l.blocks, mix);
    l.offset = (mix >> 7) % l.blocks;
  }
  int wanted = p.count < config().workers ? p.count : config().workers;
  bool worth = tsan() || l.blocks * static_cast<uint64_t>(l.threads) >= 4096;
  l.share = worth && l.blocks > 1 ? static_cast<int>(l.blocks < static_cast<uint64_t>(wanted) ? l.blocks : wanted) : 1;
  uint32_t done = p.blocks_done.value.load();
  p.launch.store(&l, std::memory_order_release);
  hb_release(&p.launch);
  if (l.share > 1) {
    uint64_t ticket = p.blocks_posted.value.load() + 1u;
    p.deal.store((ticket & 0xffffffffu) << 32 | static_cast<uint64_t>(l.share), std::memory_order_release);
    p.blocks_posted.bump();
  }
  run_share(w, l);
  for (;;) {
    uint32_t now = p.blocks_done.value.load(std::memory_order_acquire);
    if (now - done == static_cast<uint32_t>(l.share - 1)) break;
    p.blocks_done.wait_change(now, spins);
  }
  hb_acquire(&p.blocks_done);
  p.launch.store(nullptr, std::memory_order_release);
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
