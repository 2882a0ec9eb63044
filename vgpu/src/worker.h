/// A worker stands for one SM: an OS thread with its own scheduler, stacks and shared memory. It runs one block at a
/// time; the block's GPU threads ("lanes") become fibers only when they must wait.
#pragma once
#include "fiber.h"

#include <vgpu/device.h>
#include <vgpu/warp.h>

#include <atomic>
#include <string>
#include <vector>

inline namespace vgpu_abi {
namespace vgpu::rt {

struct Launch;
struct PendingCopy;

struct Site {
  const char* file;
  int line;
};

/// What one GPU thread is doing.
struct Lane {
  void* sp;
  Stack* stack;
  uint3 tid;
  enum State : uint8_t { unstarted, running, at_barrier, at_warp, at_named, exited } state;
  uint8_t barrier_id;
  WarpOp op;
  unsigned mask;
  Site site;
  uint64_t result;
  PendingCopy *copies, *copies_tail;  ///< cp.async not yet performed, oldest first
  int group;                          ///< cp.async groups committed so far
};

struct alignas(64) Rendezvous {
  struct Slot {
    uint64_t value;
    int arg, width;
    void* spare[2];
  };
  unsigned mask, arrived;
  WarpOp op;
  Site site;
  unsigned phase;
  char edges[8];  ///< addresses for the race checker, one per meeting in turn
  Slot slots[32];
};

struct NamedBarrier {
  int expected, arrived;
  uint16_t waiting[1024];
  int waiters;
};

struct alignas(128) Worker {
  static constexpr int max_lanes = 1024, max_open = 40;

  void run_block(Launch& launch, uint64_t block);
  int barrier(Barrier kind, int predicate, Site site);
  void named(int id, int threads, bool wait, Site site);
  uint64_t collective(WarpOp op, unsigned mask, uint64_t value, int arg, int width, Site site);
  /// Ends the block, and with it the launch, with an error; never returns.
  template <class Text>
  [[noreturn]] void fault(int error, Text text) {
    record_fault(error, text());  // everything it allocates is gone before the fiber is abandoned
    leave();
  }
  void record_fault(int error, const std::string& text);
  /// Leaves the block from the current fiber without unwinding it.
  [[noreturn]] void leave();
  void lane_loop();

  // Scheduling state of the running block
  Lane* current = nullptr;
  Launch* launch = nullptr;
  int lanes_count = 0, alive = 0, next_start = 0, warps = 0;
  int ready_head = 0, ready_count = 0;
  uint64_t random_state = 0;
  bool shuffled = false;
  bool faulted = false;               ///< the block was left in the middle: its stacks must be recovered
  std::atomic<uint64_t> progress{0};  ///< scheduling events, for the watchdog
  unsigned exited[32];
  uint64_t open[32];
  unsigned existing(int warp) const {
    int left = lanes_count - warp * 32;
    return left >= 32 ? 0xffffffffu : (1u << left) - 1u;
  }

  // The block's barrier 0
  Barrier barrier_kind = Barrier::plain;
  int barrier_arrived = 0, barrier_count = 0, barrier_result = 0;
  unsigned barrier_phase = 0;
  Site barrier_site{};
  uint16_t barrier_waiting[max_lanes];

  void *main_sp = nullptr, *main_fake = nullptr, *main_tsan = nullptr;
  const void* main_bottom = nullptr;
  size_t main_size = 0;
  StackPool stacks;
  char* smem = nullptr;  ///< dynamic shared memory, 256 KiB
  int index = 0;
  const void* tls_of = nullptr;  ///< the module whose TLS block of this thread is at tls_base
  char* tls_base = nullptr;
  char sync_start = 0, sync_end = 0, sync_barrier[2] = {0, 0}, sync_warp[32];  ///< addresses for the race checker
  PendingCopy* free_copies = nullptr;
  int signal = 0, frame_count = 0;  ///< of the fault that a signal handler saw
  void *signal_address = nullptr, *frames[32];

  uint16_t order[max_lanes];
  uint16_t ready[max_lanes];
  Lane lanes[max_lanes];
  NamedBarrier named_barriers[16];
  Rendezvous rendezvous[32][max_open];

 private:
  friend void copy_async_checks(Worker&);
  void begin_lane(int position);
  void end_lane();
  void complete_barrier(Lane* self);
  bool try_complete(int warp, int slot, Lane* self);
  void push_ready(int lane) { ready[(ready_head + ready_count++) & (max_lanes - 1)] = static_cast<uint16_t>(lane); }
  Lane* pop_ready();
  bool prefer_start();
  void suspend();
  void enter(Lane* lane, void** save, bool dying);
  void start_fiber(void** save);
  std::string deadlock_text() const;
  uint64_t random();
};

extern constinit thread_local Worker* tl_worker __attribute__((tls_model("initial-exec")));

/// "file.cu:41", without the folders.
std::string place(Site site);
const char* op_name(WarpOp op);
/// Computes every lane's result of a complete rendezvous.
void compute_collective(Rendezvous& r, Lane* lanes);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
