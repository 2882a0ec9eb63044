#include "fault.h"
#include "launch.h"
#include "sanitizers.h"
#include "worker.h"

#include <bit>

inline namespace vgpu_abi {

constinit thread_local uint3 threadIdx VGPU_TLS = {0, 0, 0};
constinit thread_local uint3 blockIdx VGPU_TLS = {0, 0, 0};
constinit thread_local dim3 blockDim VGPU_TLS = {1, 1, 1};
constinit thread_local dim3 gridDim VGPU_TLS = {1, 1, 1};

namespace vgpu {
constinit thread_local void* tl_dynamic_smem VGPU_TLS = nullptr;

namespace rt {
constinit thread_local Worker* tl_worker = nullptr;

uint64_t Worker::random() {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void Worker::run_block(Launch& l, uint64_t block) {
  launch = &l;
  lanes_count = alive = l.threads;
  warps = (lanes_count + 31) / 32;
  next_start = ready_head = ready_count = 0;
  barrier_arrived = 0;
  faulted = false;
  for (int w = 0; w < warps; ++w) exited[w] = 0, open[w] = 0;
  for (auto& n : named_barriers) n.expected = n.arrived = n.waiters = 0;
  shuffled = l.seed != 0;
  if (shuffled) {
    random_state = l.seed * 0x2545f4914f6cdd1dull + l.number * 0x9e3779b97f4a7c15ull + block * 77 + 1;
    for (int i = 0; i < lanes_count; ++i) order[i] = static_cast<uint16_t>(i);
    for (int i = lanes_count - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  }
  gridDim = l.grid;
  blockDim = l.block;
  blockIdx.x = static_cast<unsigned>(block % l.grid.x);
  blockIdx.y = static_cast<unsigned>(block / l.grid.x % l.grid.y);
  blockIdx.z = static_cast<unsigned>(block / l.grid.x / l.grid.y);
  tl_dynamic_smem = smem;
  poison_shared(l, *this);

  hb_acquire(&sync_end);
  hb_release(&sync_start);
  if (tsan() && !main_tsan) main_tsan = __tsan_get_current_fiber();
  start_fiber(&main_sp);
  if (asan()) __sanitizer_finish_switch_fiber(main_fake, nullptr, nullptr);
  if (tsan() || faulted) stacks.recover(faulted, &sync_end);
  current = nullptr;
  launch = nullptr;
  progress.fetch_add(1, std::memory_order_relaxed);
}

/// Lane number `order[position]` becomes the current one.
void Worker::begin_lane(int position) {
  int i = shuffled ? order[position] : position;
  if (i > 0 && current == &lanes[i - 1]) {  // threadIdx still is the neighbour's
    if (++threadIdx.x == blockDim.x) {
      threadIdx.x = 0;
      if (++threadIdx.y == blockDim.y) threadIdx.y = 0, ++threadIdx.z;
    }
  } else {
    unsigned u = static_cast<unsigned>(i);
    threadIdx = {u % blockDim.x, u / blockDim.x % blockDim.y, u / blockDim.x / blockDim.y};
  }
  current = &lanes[i];
  current->state = Lane::running;
  current->copies = nullptr;
  current->group = 0;
}

static void lane_entry() {
  tl_worker->lane_loop();
}

/// Runs lanes one after another on this stack, as long as unstarted ones are next.
void Worker::lane_loop() {
  if (asan()) {
    const void* bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(current->stack->fake, &bottom, &size);
    if (!main_bottom) main_bottom = bottom, main_size = size;
  }
  for (;;) {
    hb_acquire(&sync_start);
    launch->run(launch->kernel, launch->args);
    hb_release(&sync_end);
    Stack* stack = current->stack;
    end_lane();
    if (ready_count && !prefer_start()) {
      Lane* next = pop_ready();
      if (!tsan()) stacks.give(stack);
      enter(next, nullptr, true);
    } else if (next_start < lanes_count) {
      if (tsan()) {  // one stack and one context each, so that every order stays visible
        void* unused;
        start_fiber(&unused);
      }
      begin_lane(next_start++);
      current->stack = stack;
    } else if (alive == 0) {
      if (!tsan()) stacks.give(stack);
      leave();
    } else {
      fault(719, [&] { return deadlock_text(); });
    }
  }
}

void Worker::end_lane() {
  progress.store(progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (current->copies) abandon_copies(*this);
  int i = static_cast<int>(current - lanes), warp = i >> 5;
  current->state = Lane::exited;
  exited[warp] |= 1u << (i & 31);
  --alive;
  if (barrier_arrived && barrier_arrived == alive) complete_barrier(nullptr);
  for (uint64_t o = open[warp]; o; o &= o - 1) try_complete(warp, std::countr_zero(o), nullptr);
}

bool Worker::prefer_start() {
  if (!shuffled || next_start >= lanes_count) return false;
  int unstarted = lanes_count - next_start;
  return static_cast<int>(random() % static_cast<unsigned>(unstarted + ready_count)) < unstarted;
}

Lane* Worker::pop_ready() {
  if (shuffled) {
    int pick = (ready_head + static_cast<int>(random() % static_cast<unsigned>(ready_count))) & (max_lanes - 1);
    std::swap(ready[pick], ready[ready_head & (max_lanes - 1)]);
  }
  Lane* lane = &lanes[ready[ready_head & (max_lanes - 1)]];
  ready_head = (ready_head + 1) & (max_lanes - 1);
  --ready_count;
  return lane;
}

/// The current lane waits: someone else runs.
void Worker::suspend() {
  Lane* self = current;
  self->tid = threadIdx;
  if (ready_count && !prefer_start()) {
    enter(pop_ready(), &self->sp, false);
  } else if (next_start < lanes_count) {
    start_fiber(&self->sp);
  } else {
    fault(719, [&] { return deadlock_text(); });
  }
  if (asan()) __sanitizer_finish_switch_fiber(current->stack->fake, nullptr, nullptr);
}

void Worker::enter(Lane* lane, void** save, bool dying) {
  Stack* from = current->stack;
  current = lane;
  lane->state = Lane::running;
  threadIdx = lane->tid;
  if (asan()) __sanitizer_start_switch_fiber(&from->fake, lane->stack->base, lane->stack->size);
  if (tsan()) __tsan_switch_to_fiber(lane->stack->tsan, 1);
  void* unused;
  vgpu_switch(dying ? &unused : save, lane->sp);
}

/// The next unstarted lane runs on a stack of its own.
void Worker::start_fiber(void** save) {
  Stack* from = current ? current->stack : nullptr;
  Stack* stack = stacks.take();
  begin_lane(next_start++);
  current->stack = stack;
  void* sp = prepare(*stack, lane_entry);
  if (asan()) __sanitizer_start_switch_fiber(from ? &from->fake : &main_fake, stack->base, stack->size);
  if (tsan()) __tsan_switch_to_fiber(stack->tsan, 1);
  vgpu_switch(save, sp);
}

void Worker::leave() {
  if (asan()) __sanitizer_start_switch_fiber(&current->stack->fake, main_bottom, main_size);
  if (tsan()) __tsan_switch_to_fiber(main_tsan, 1);
  void* unused;
  vgpu_switch(&unused, main_sp);
  __builtin_unreachable();
}

int Worker::barrier(Barrier kind, int predicate, Site site) {
  Lane* self = current;
  if (!barrier_arrived) {
    barrier_site = site;
    barrier_kind = kind;
    barrier_count = 0;
    ++barrier_phase;
  } else if (barrier_site.line != site.line || !same_file(barrier_site.file, site.file) || barrier_kind != kind) {
    fault(719,
          [&] { return "two barriers meet (" + place(barrier_site) + ", " + place(site) + ") in " + where(*this); });
  }
  barrier_count += predicate != 0;
  hb_release(&sync_barrier[barrier_phase & 1]);
  unsigned phase = barrier_phase;
  if (barrier_arrived + 1 == alive) {
    complete_barrier(self);
  } else {
    barrier_waiting[barrier_arrived++] = static_cast<uint16_t>(self - lanes);
    self->state = Lane::at_barrier;
    self->site = site;
    suspend();
  }
  hb_acquire(&sync_barrier[phase & 1]);
  return static_cast<int>(self->result);
}

/// Everyone is here; `self`, if any, goes on without waiting.
void Worker::complete_barrier(Lane* self) {
  int arrived = barrier_arrived + (self != nullptr);
  int result = barrier_kind == Barrier::count ? barrier_count
               : barrier_kind == Barrier::all ? barrier_count == arrived
                                              : barrier_count != 0;
  for (int i = 0; i < barrier_arrived; ++i) {
    lanes[barrier_waiting[i]].result = static_cast<uint64_t>(result);
    push_ready(barrier_waiting[i]);
  }
  if (self) self->result = static_cast<uint64_t>(result);
  barrier_arrived = 0;
}

void Worker::named(int id, int threads, bool wait, Site site) {
  if (id < 1 || id > 15 || threads <= 0 || threads % 32 || threads > 1024)
    fault(719, [&] {
      return "named barrier " + std::to_string(id) + " for " + std::to_string(threads) + " threads at " + place(site) +
             ": ids are 1 to 15 and thread counts multiples of 32";
    });
  NamedBarrier& b = named_barriers[id];
  Lane* self = current;
  if (!b.arrived) b.expected = threads;
  if (b.expected != threads)
    fault(719, [&] {
      return "named barrier " + std::to_string(id) + " at " + place(site) + ": " + std::to_string(threads) +
             " threads expected here, " + std::to_string(b.expected) + " elsewhere";
    });
  hb_release(&b.arrived);
  if (++b.arrived == b.expected) {
    for (int i = 0; i < b.waiters; ++i) push_ready(b.waiting[i]);
    b.arrived = b.waiters = 0;
  } else if (wait) {
    b.waiting[b.waiters++] = static_cast<uint16_t>(self - lanes);
    self->state = Lane::at_named;
    self->barrier_id = static_cast<uint8_t>(id);
    self->site = site;
    suspend();
  }
  if (wait) hb_acquire(&b.arrived);
}

}  // namespace rt

int block_barrier(Barrier kind, int predicate, const char* file, int line) {
  return rt::tl_worker->barrier(kind, predicate, {file, line});
}
void named_barrier(int id, int threads, bool wait, const char* file, int line) {
  rt::tl_worker->named(id, threads, wait, {file, line});
}
void thread_fence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

}  // namespace vgpu
}  // namespace vgpu_abi
