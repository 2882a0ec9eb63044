#include "pool.h"
#include "runtime.h"
#include "sanitizers.h"

#include <algorithm>

inline namespace vgpu_abi {
namespace vgpu::rt {
namespace {

/// What a synchronising call asks for.
struct Goal {
  Stream* stream = nullptr;  ///< its operations up to `up_to`
  Device* device = nullptr;  ///< or every stream of the device
  uint64_t up_to = 0;
  bool once = false;
};

Op* front(Stream* s) {
  return s->queue.empty() ? nullptr : s->queue.front().get();
}

bool is_blocking(const Stream* s) {
  return !(s->flags & cudaStreamNonBlocking);
}

/// The operation to run so that the stream's first one gets done: that one, or one that it waits for. Null when only
/// another host thread can help.
Op* advance(Stream* s, int depth = 0) {
  Op* op = front(s);
  if (!op || depth > 256) return nullptr;
  Stream* legacy = s->device->default_stream;
  if (s == legacy) {
    for (Stream* t : s->device->streams)
      if (t != s && is_blocking(t) && front(t) && front(t)->seq < op->seq) return advance(t, depth + 1);
  } else if (is_blocking(s) && front(legacy) && front(legacy)->seq < op->seq) {
    return advance(legacy, depth + 1);
  }
  if (op->ready()) return op;
  Stream* other = op->waits_for();
  return other && other != s ? advance(other, depth + 1) : nullptr;
}

uint64_t next_random() {
  static uint64_t state = 0;
  state = state * 6364136223846793005ull + config().seed * 2 + 1442695040888963407ull;
  return state >> 33;
}

/// Streams of the device that still owe operations. In order: the one enqueued to last goes first, so that an order
/// that nothing enforces is not met by luck. With a seed: any.
Op* advance_device(Device* d, uint64_t up_to, bool& left) {
  std::vector<Stream*> owing;
  for (Stream* s : d->streams)
    if (front(s) && front(s)->seq <= up_to) owing.push_back(s);
  left = !owing.empty();
  std::sort(owing.begin(), owing.end(), [](auto* a, auto* b) { return a->last_seq > b->last_seq; });
  if (config().seed && !owing.empty()) std::swap(owing[0], owing[next_random() % owing.size()]);
  for (Stream* s : owing)
    if (Op* op = advance(s)) return op;
  return nullptr;
}

/// Keeps open the arenas that the executing device may touch.
class Opened {
 public:
  void select(Device* d) {
    if (d == device_) return;
    release();
    device_ = d;
    if (!d) return;
    for (auto& other : runtime().devices)
      if (other.get() == d || (d->peers >> other->id & 1u)) {
        other->arena.open();
        open_.push_back(other.get());
      }
  }
  void release() {
    for (Device* d : open_) d->arena.close();
    open_.clear();
    device_ = nullptr;
  }

 private:
  Device* device_ = nullptr;
  std::vector<Device*> open_;
};

void drop_queue(Device* d) {
  for (Stream* s : d->streams)
    while (!s->queue.empty()) {
      auto op = std::move(s->queue.front());
      s->queue.pop_front();
      op->finished();
    }
}

void sweep_dying(Device* d) {
  auto& list = d->streams;
  for (size_t i = 0; i < list.size();)
    if (list[i]->dying && list[i]->queue.empty()) {
      runtime().spare_streams.push_back(list[i]);  // never deleted: another thread may still look at it
      list.erase(list.begin() + static_cast<long>(i));
    } else {
      ++i;
    }
}

void account(Op& op) {
  Stream* s = op.stream;
  double start = std::max({s->clock, op.not_before()});
  if (s == s->device->default_stream)
    for (Stream* t : s->device->streams) start = std::max(start, is_blocking(t) ? t->clock : 0.0);
  else if (is_blocking(s)) start = std::max(start, s->device->default_stream->clock);
  s->clock = start + op.cost();
}

/// Runs on worker 0. Returns false if something is left that only another host thread can set free.
bool run_session(const Goal& goal) {
  Runtime& r = runtime();
  Opened opened;
  Lock lock(r.mutex);
  for (;;) {
    Op* op = nullptr;
    bool left = false;
    if (goal.device) {
      op = advance_device(goal.device, goal.up_to, left);
    } else if (front(goal.stream) && front(goal.stream)->seq <= goal.up_to) {
      left = true;
      op = advance(goal.stream);
    }
    if (!op) {
      opened.release();
      return !left;
    }
    Stream* s = op->stream;
    Device* d = s->device;
    opened.select(op->on_host() ? nullptr : d);
    account(*op);
    lock.unlock();
    cudaError_t error = op->run();
    r.executed.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    std::unique_ptr<Op> owned = std::move(s->queue.front());
    s->queue.pop_front();
    owned->finished();
    owned.reset();
    if (error != cudaSuccess && d->sticky == cudaSuccess) {
      d->sticky = error;
      drop_queue(d);
    }
    if (goal.once) {
      opened.release();
      return true;
    }
  }
}

/// Runs sessions until the goal is met, waiting for other host threads where they alone can help.
void meet(Lock& lock, const Goal& goal) {
  bool met = false;
  std::function<void()> session = [&] { met = run_session(goal); };
  lock.unlock();
  on_worker0(session);
  lock.lock();
  if (!met && !goal.once) stalled(lock, session, met);
}

}  // namespace

cudaError_t run_stream(Lock& lock, Stream* s, uint64_t up_to) {
  Device* d = s->device;
  if (front(s) && front(s)->seq <= up_to) meet(lock, {s, nullptr, up_to, false});
  sweep_dying(d);
  return d->sticky;
}

cudaError_t run_device(Lock& lock, Device* d) {
  uint64_t up_to = runtime().next_seq;
  bool any = std::any_of(d->streams.begin(), d->streams.end(), [](Stream* s) { return front(s) != nullptr; });
  if (any) meet(lock, {nullptr, d, up_to, false});
  sweep_dying(d);
  return d->sticky;
}

cudaError_t run_mark(Lock& lock, const std::shared_ptr<Mark>& mark, Device* device) {
  if (mark && !mark->done) return run_stream(lock, mark->stream, mark->seq);
  return device->sticky;
}

void run_one(Lock& lock, Stream* s) {
  if (front(s)) meet(lock, {s, nullptr, front(s)->seq, true});
}

cudaError_t enqueue(Lock& lock, Stream* s, std::unique_ptr<Op> op) {
  op->seq = s->last_seq = runtime().next_seq++;
  op->stream = s;
  s->users.insert(std::this_thread::get_id());
  s->queue.push_back(std::move(op));
  if (s->queue.size() >= 1024) return run_stream(lock, s, s->queue[511]->seq);
  return cudaSuccess;
}

cudaError_t enqueue_function(Lock& lock, Stream* s, const char* name, std::function<cudaError_t()> body, double cost,
                             std::function<void()> after) {
  auto op = std::make_unique<FunctionOp>();
  op->name = name;
  op->body = std::move(body);
  op->after = std::move(after);
  op->nanoseconds = cost;
  return enqueue(lock, s, std::move(op));
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
