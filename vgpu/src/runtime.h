/// The state behind the API: devices with their arenas, streams of queued operations, events. Everything is guarded by
/// one mutex; operations run one at a time on worker 0 without holding it.
#pragma once
#include "config.h"
#include "fault.h"

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

inline namespace vgpu_abi {

namespace vgpu::rt {
struct Device;
struct Op;

/// One recording of an event: the position of a stream.
struct Mark {
  bool done = false;
  CUstream_st* stream = nullptr;
  uint64_t seq = 0;
  double time = 0;  ///< model nanoseconds
};
}  // namespace vgpu::rt

struct CUstream_st {
  vgpu::rt::Device* device = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool is_default = false, dying = false;
  std::deque<std::unique_ptr<vgpu::rt::Op>> queue;
  std::set<std::thread::id> users;  ///< host threads that have enqueued here
  uint64_t last_seq = 0;
  double clock = 0;  ///< model: when its last executed operation ends
};
struct CUevent_st {
  vgpu::rt::Device* device = nullptr;
  unsigned flags = 0;
  std::shared_ptr<vgpu::rt::Mark> mark;
};

namespace vgpu::rt {

using Stream = CUstream_st;
using Event = CUevent_st;
using Lock = std::unique_lock<std::mutex>;

/// A queued operation. `run` executes on worker 0, with the device's arena open, without the state lock.
struct Op {
  uint64_t seq = 0;
  Stream* stream = nullptr;
  const char* name = "";
  virtual ~Op() = default;
  virtual cudaError_t run() = 0;
  /// Under the lock: whether it may run now, as far as it alone knows.
  virtual bool ready() { return true; }
  /// Under the lock: if not ready, another stream whose progress would help (null: only other host threads can).
  virtual Stream* waits_for() { return nullptr; }
  /// Under the lock, after run (or instead of it, when the device has failed).
  virtual void finished() {}
  virtual bool on_host() const { return false; }
  /// Model time: earliest start given by dependencies, and duration.
  virtual double not_before() { return 0; }
  virtual double cost() { return 0; }
};

struct FunctionOp final : Op {
  std::function<cudaError_t()> body;
  std::function<void()> after;
  double nanoseconds = 0;
  bool host = false;
  cudaError_t run() override { return body ? body() : cudaSuccess; }
  void finished() override {
    if (after) after();
  }
  bool on_host() const override { return host; }
  double cost() override { return nanoseconds; }
};

constexpr size_t vm_page = 2 << 20;  ///< granularity of the virtual-memory calls

struct Allocation {
  size_t bytes, span;
  bool freed = false;  ///< cudaFreeAsync has been queued
};

/// One device's memory: an address range, its live blocks and its holes.
class Arena {
 public:
  void create(Device* device, size_t capacity);
  /// Null when the device is full.
  void* allocate(size_t bytes);
  void release(uint64_t address);
  /// The live allocation that holds the address, or null.
  const std::pair<const uint64_t, Allocation>* find(const void* p) const;
  Allocation* exact(const void* p);
  bool contains(const void* p) const {
    return (p >= base_ && p < base_ + reserve_) || (!windows_.empty() && in_window(reinterpret_cast<uint64_t>(p)));
  }
  // Virtual-memory calls: address windows, pieces mapped into them, and the bytes that they take.
  void* reserve(size_t bytes);
  bool unreserve(uint64_t at, size_t bytes);
  bool map(uint64_t at, size_t bytes);
  bool unmap(uint64_t at, size_t bytes);
  bool take(size_t bytes) { return bytes <= capacity_ - used_ ? used_ += bytes, true : false; }
  void give(size_t bytes) { used_ -= bytes < used_ ? bytes : used_; }
  void open();
  void close();
  void clear();
  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }
  const std::map<uint64_t, Allocation>& live() const { return live_; }

 private:
  void grow(size_t end);
  void refill(char* p, size_t bytes);
  void add_hole(uint64_t at, size_t span);
  void evict();
  void protect(bool accessible);
  bool in_window(uint64_t at) const;
  void join_extents();
  char* base_ = nullptr;
  size_t reserve_ = 0, capacity_ = 0, bump_ = 0, high_ = 0, used_ = 0;
  int opened_ = 0;
  bool accessible_ = false;
  std::map<uint64_t, Allocation> live_;
  std::map<uint64_t, size_t> holes_;
  std::deque<std::pair<uint64_t, size_t>> quarantine_;
  size_t quarantined_ = 0;
  std::map<uint64_t, size_t> windows_, mapped_;
  std::map<uint64_t, Allocation> extents_;  ///< mapped pieces, neighbours joined
};

struct Device {
  int id = 0;
  int bus = 0;  ///< its number on the machine
  Arena arena;
  Stream* default_stream = nullptr;
  std::vector<Stream*> streams;  ///< live or dying, the default one first
  cudaError_t sticky = cudaSuccess;
  uint64_t peers = 0;  ///< bit i: may touch device i
  double engine[3] = {0, 0, 0};
};

struct Pinned {
  size_t bytes;
  bool owned;
};

struct Runtime {
  std::mutex mutex, executing;
  std::condition_variable queued;
  std::vector<std::unique_ptr<Device>> devices;
  std::set<Stream*> streams;
  std::vector<Stream*> spare_streams;
  std::set<Event*> events;
  std::map<uint64_t, Pinned> pinned;
  std::unordered_map<const void*, int> max_dynamic_smem;
  std::vector<int64_t> only_blocks;
  uint64_t next_seq = 1, launches = 0;
  std::atomic<uint64_t> executed{0};
};
/// Created at first use; throws ConfigError on a bad environment. Never destroyed.
Runtime& runtime();

/// The calling thread's view.
struct ThreadState {
  int device;
  cudaError_t last_error;
  bool in_callback;
};
extern constinit thread_local ThreadState tl_state;

/// Remembers an error for cudaGetLastError, and returns it.
cudaError_t done(cudaError_t error);
/// Counts the call for fault injection; a non-zero answer is what the call must return.
cudaError_t injected_error(const char* call, cudaError_t natural);
void parse_faults(const std::string& spec);

/// First statement of every API function: checks, injection, the current device's sticky error.
struct Entry {
  Entry(const char* call, cudaError_t natural = cudaErrorUnknown, bool needs_device = true);
  cudaError_t error = cudaSuccess;
  Device* device = nullptr;
  explicit operator bool() const { return error != cudaSuccess; }
};

/// Null for a dead handle. 0 and cudaStreamLegacy mean the device's default stream.
Stream* resolve(cudaStream_t stream, Device* device);
Device* device_of(const void* p);
/// Whether the host range lies in page-locked memory.
bool is_pinned(const void* p, size_t bytes);
/// Queues the operation. Runs the stream's oldest half when it has grown to 1024. Returns the queueing error.
cudaError_t enqueue(Lock& lock, Stream* stream, std::unique_ptr<Op> op);
cudaError_t enqueue_function(Lock& lock, Stream* stream, const char* name, std::function<cudaError_t()> body,
                             double cost = 0, std::function<void()> after = {});
/// Runs everything that these need, then returns the device's error.
cudaError_t run_stream(Lock& lock, Stream* stream, uint64_t up_to);
cudaError_t run_device(Lock& lock, Device* device);
cudaError_t run_mark(Lock& lock, const std::shared_ptr<Mark>& mark, Device* device);
/// The goal needs operations that other host threads have yet to queue: waits for them, with a limit.
void stalled(Lock& lock, const std::function<void()>& session, const bool& met);
/// Runs at most one operation that the stream needs.
void run_one(Lock& lock, Stream* stream);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
