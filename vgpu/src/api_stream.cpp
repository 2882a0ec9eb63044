#include "runtime.h"

#include <algorithm>

inline namespace vgpu_abi {
using namespace vgpu::rt;

namespace {

cudaError_t create_stream(const char* call, cudaStream_t* out, unsigned flags, int priority) {
  Entry entry(call, cudaErrorMemoryAllocation);
  if (entry) return done(entry.error);
  if (!out || flags > cudaStreamNonBlocking) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  Runtime& r = runtime();
  Stream* s = nullptr;
  if (r.spare_streams.empty()) {
    s = new Stream;
  } else {
    s = r.spare_streams.front();
    r.spare_streams.erase(r.spare_streams.begin());
  }
  s->device = entry.device;
  s->flags = flags;
  s->priority = priority;
  s->dying = false;
  s->users.clear();
  s->clock = 0;
  entry.device->streams.push_back(s);
  r.streams.insert(s);
  *out = s;
  return cudaSuccess;
}

cudaError_t query(Lock& lock, Stream* s, bool may_run) {
  if (may_run && s->users.count(std::this_thread::get_id())) run_one(lock, s);
  if (s->device->sticky) return s->device->sticky;
  return s->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

struct WaitOp final : Op {
  std::shared_ptr<Mark> mark;
  cudaError_t run() override { return cudaSuccess; }
  bool ready() override { return mark->done; }
  Stream* waits_for() override { return mark->stream; }
  double not_before() override { return mark->time; }
};

struct RecordOp final : Op {
  std::shared_ptr<Mark> mark;
  cudaError_t run() override { return cudaSuccess; }
  void finished() override {
    mark->done = true;
    mark->time = stream->clock;
  }
};

Event* valid(cudaEvent_t e) {
  return runtime().events.count(e) ? e : nullptr;
}

cudaError_t query_event(Lock& lock, Event* e, bool may_run) {
  if (!e->mark || e->mark->done) return e->device->sticky;
  Stream* s = e->mark->stream;
  if (may_run && s->users.count(std::this_thread::get_id())) run_one(lock, s);
  if (e->device->sticky) return e->device->sticky;
  return e->mark->done ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create_stream("cudaStreamCreate", stream, 0, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream("cudaStreamCreateWithFlags", stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create_stream("cudaStreamCreateWithPriority", stream, flags, std::clamp(priority, -5, 0));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  Entry entry("cudaStreamGetFlags");
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s || !flags) return done(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  *flags = s->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  Entry entry("cudaStreamGetPriority");
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s || !priority) return done(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  *priority = s->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Entry entry("cudaStreamDestroy");
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Runtime& r = runtime();
  if (!r.streams.erase(stream))
    return done(reject(cudaErrorInvalidResourceHandle, "cudaStreamDestroy: no such stream"));
  stream->dying = true;  // what is queued still runs, at the next call that needs it
  if (stream->queue.empty()) {
    std::erase(stream->device->streams, stream);
    r.spare_streams.push_back(stream);
  }
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Entry entry("cudaStreamSynchronize", cudaErrorLaunchFailure);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s) return done(reject(cudaErrorInvalidResourceHandle, "cudaStreamSynchronize: no such stream"));
  return done(run_stream(lock, s, s->last_seq));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Entry entry("cudaStreamQuery", cudaErrorLaunchFailure);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s) return done(reject(cudaErrorInvalidResourceHandle, "cudaStreamQuery: no such stream"));
  return done(query(lock, s, true));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Entry entry("cudaStreamWaitEvent", cudaErrorInvalidResourceHandle);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  Event* e = valid(event);
  if (!s || !e) return done(reject(cudaErrorInvalidResourceHandle, "cudaStreamWaitEvent: no such stream or event"));
  if (!e->mark) return cudaSuccess;
  auto op = std::make_unique<WaitOp>();
  op->name = "cudaStreamWaitEvent";
  op->mark = e->mark;
  return done(enqueue(lock, s, std::move(op)));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user) {
  Entry entry("cudaLaunchHostFunc", cudaErrorInvalidValue);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  if (!s || !fn) return done(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  auto op = std::make_unique<FunctionOp>();
  op->name = "cudaLaunchHostFunc";
  op->host = true;
  op->body = [fn, user] {
    tl_state.in_callback = true;
    fn(user);
    tl_state.in_callback = false;
    return cudaSuccess;
  };
  return done(enqueue(lock, s, std::move(op)));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  Entry entry("cudaEventCreateWithFlags", cudaErrorMemoryAllocation);
  if (entry) return done(entry.error);
  if (!event || flags > 7) return done(cudaErrorInvalidValue);
  Lock lock(runtime().mutex);
  auto* e = new Event;
  e->device = entry.device;
  e->flags = flags;
  runtime().events.insert(e);
  *event = e;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Entry entry("cudaEventDestroy");
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  if (!runtime().events.erase(event))
    return done(reject(cudaErrorInvalidResourceHandle, "cudaEventDestroy: no such event"));
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Entry entry("cudaEventRecord", cudaErrorLaunchFailure);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Stream* s = resolve(stream, entry.device);
  Event* e = valid(event);
  if (!s || !e) return done(reject(cudaErrorInvalidResourceHandle, "cudaEventRecord: no such stream or event"));
  if (s->device != e->device)
    return done(reject(cudaErrorInvalidResourceHandle, "cudaEventRecord: the event belongs to another device"));
  auto op = std::make_unique<RecordOp>();
  op->name = "cudaEventRecord";
  op->mark = e->mark = std::make_shared<Mark>();
  e->mark->stream = s;
  e->mark->seq = runtime().next_seq;
  return done(enqueue(lock, s, std::move(op)));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Entry entry("cudaEventSynchronize", cudaErrorLaunchFailure);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Event* e = valid(event);
  if (!e) return done(reject(cudaErrorInvalidResourceHandle, "cudaEventSynchronize: no such event"));
  return done(run_mark(lock, e->mark, e->device));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Entry entry("cudaEventQuery", cudaErrorLaunchFailure);
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Event* e = valid(event);
  if (!e) return done(reject(cudaErrorInvalidResourceHandle, "cudaEventQuery: no such event"));
  return done(query_event(lock, e, true));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  Entry entry("cudaEventElapsedTime");
  if (entry) return done(entry.error);
  Lock lock(runtime().mutex);
  Event *a = valid(start), *b = valid(end);
  if (!milliseconds) return done(cudaErrorInvalidValue);
  bool fit = a && b && a->mark && b->mark && !((a->flags | b->flags) & cudaEventDisableTiming);
  if (!fit)
    return done(
        reject(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime: an event is not recorded or has no timing"));
  if (!a->mark->done || !b->mark->done) return done(cudaErrorNotReady);
  *milliseconds = static_cast<float>((b->mark->time - a->mark->time) * 1e-6);
  return cudaSuccess;
}

namespace vgpu {
cudaError_t peek_stream(cudaStream_t stream) {
  Lock lock(runtime().mutex);
  if (runtime().devices.empty()) return cudaErrorNoDevice;
  Stream* s = resolve(stream, runtime().devices[static_cast<size_t>(tl_state.device)].get());
  return s ? query(lock, s, false) : cudaErrorInvalidResourceHandle;
}
cudaError_t peek_event(cudaEvent_t event) {
  Lock lock(runtime().mutex);
  Event* e = valid(event);
  return e ? query_event(lock, e, false) : cudaErrorInvalidResourceHandle;
}
}  // namespace vgpu

}  // namespace vgpu_abi
