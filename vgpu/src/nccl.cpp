#include "nccl.h"

#include <chrono>
#include <cstring>
#include <random>

inline namespace vgpu_abi {
using namespace vgpu::rt;

namespace {

struct Fault {
  int rank;
  uint64_t at;
  bool kill;
};
struct State {
  std::map<std::string, Clique*> cliques;
  std::set<ncclComm_t> live;
  std::vector<Fault> faults;
  std::map<int, int> delays;
  bool hang_abort = false;
};
State& state() {
  static State* s = new State;
  return *s;
}

struct Init {
  ncclComm_t* out;
  int nranks, rank;
  std::string id;
  Device* device;
};
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<std::pair<std::shared_ptr<Call>, cudaStream_t>> calls;
  std::vector<Init> inits;
};
Group& group() {
  static thread_local Group g;
  return g;
}

ncclResult_t refuse(ncclResult_t result, const std::string& text) {
  report(text);
  return result;
}

ncclResult_t join(Lock&, const Init& init) {
  Clique*& slot = state().cliques[init.id];
  if (!slot) slot = new Clique;
  Clique& c = *slot;
  if (!c.nranks) {
    c.nranks = init.nranks;
    c.ranks.assign(static_cast<size_t>(init.nranks), nullptr);
  }
  if (c.nranks != init.nranks || c.ranks[static_cast<size_t>(init.rank)])
    return refuse(ncclInvalidUsage, "ncclCommInitRank: rank " + std::to_string(init.rank) + " of " +
                                        std::to_string(init.nranks) + " does not fit or came twice");
  for (ncclComm_t other : c.ranks)
    if (other && other->device == init.device)
      return refuse(ncclInvalidUsage, "ncclCommInitRank: ranks " + std::to_string(other->rank) + " and " +
                                          std::to_string(init.rank) +
                                          " are both on vgpu:" + std::to_string(init.device->id));
  auto* comm = new ncclComm;
  comm->clique = &c;
  comm->rank = init.rank;
  comm->device = init.device;
  c.ranks[static_cast<size_t>(init.rank)] = comm;
  c.users.insert(std::this_thread::get_id());
  ++c.joined;
  state().live.insert(comm);
  *init.out = comm;
  runtime().queued.notify_all();
  return ncclSuccess;
}

ncclResult_t await(Lock& lock, const Init& init) {
  Clique& c = *state().cliques[init.id];
  auto limit = std::chrono::duration<double>(config().nccl_timeout);
  if (runtime().queued.wait_for(lock, limit, [&] { return c.joined == c.nranks; })) return ncclSuccess;
  return refuse(ncclSystemError, "ncclCommInitRank: " + std::to_string(c.joined) + " of " + std::to_string(c.nranks) +
                                     " ranks came in time (several ranks of one thread need a group)");
}

ncclResult_t init_all(std::vector<Init>& inits) {
  Lock lock(runtime().mutex);
  for (auto& i : inits)
    if (ncclResult_t r = join(lock, i)) return r;
  for (auto& i : inits)
    if (ncclResult_t r = await(lock, i)) return r;
  return ncclSuccess;
}

/// "" if the bytes are a live range of the communicator's device.
std::string check_buffer(const Call& c, const void* p, size_t bytes, const char* name) {
  if (!bytes) return "";
  Device* d = device_of(p);
  if (d != c.comm->device) return std::string(name) + " is not memory of vgpu:" + std::to_string(c.comm->device->id);
  auto* a = d->arena.find(p);
  if (!a || reinterpret_cast<uint64_t>(p) + bytes > a->first + a->second.bytes)
    return std::string(name) + " leaves its allocation";
  return "";
}

std::string check_buffers(const Call& c) {
  const size_t n = static_cast<size_t>(c.comm->clique->nranks), bytes = c.count * nccl_bytes(c.type);
  const bool root = c.comm->rank == c.peer;
  size_t in = 0, out = 0, in_place = 0;  // bytes read and written; distance of the one legal overlap
  switch (c.kind) {
    case Call::all_reduce: in = out = bytes; break;
    case Call::reduce_scatter: in = n * bytes, out = bytes, in_place = static_cast<size_t>(c.comm->rank) * bytes; break;
    case Call::all_gather: in = bytes, out = n * bytes, in_place = static_cast<size_t>(c.comm->rank) * bytes; break;
    case Call::broadcast: in = root ? bytes : 0, out = bytes; break;
    case Call::reduce: in = bytes, out = root ? bytes : 0; break;
    case Call::send: in = bytes; break;
    case Call::recv: out = bytes; break;
  }
  std::string problem = check_buffer(c, c.in, in, "the send buffer");
  if (problem.empty()) problem = check_buffer(c, c.out, out, "the receive buffer");
  auto i = reinterpret_cast<uint64_t>(c.in), o = reinterpret_cast<uint64_t>(c.out);
  bool overlap = in && out && i < o + out && o < i + in;
  bool legal = c.kind == Call::reduce_scatter ? o == i + in_place
               : c.kind == Call::all_gather   ? i == o + in_place
                                              : i == o;
  if (problem.empty() && overlap && !legal) problem = "the buffers overlap in part";
  return problem;
}

void apply_faults(NcclOp& op) {
  for (auto& f : state().faults) {
    if (f.rank != op.comm->rank || op.comm->issued < f.at) continue;
    if (f.kill)
      fail_clique(*op.clique, ncclRemoteError,
                  "NCCL: rank " + std::to_string(f.rank) + " was killed at call " + std::to_string(op.comm->issued));
    else op.hung = true;
  }
  if (auto it = state().delays.find(op.comm->rank); it != state().delays.end()) op.comm->delayed = it->second;
}

ncclResult_t issue(Lock& lock, std::vector<std::shared_ptr<Call>> calls, cudaStream_t stream) {
  ncclComm_t comm = calls[0]->comm;
  Stream* s = resolve(stream, comm->device);
  if (!s || s->device != comm->device)
    return refuse(ncclInvalidArgument, "NCCL: the stream is gone or of another device");
  auto op = std::make_unique<NcclOp>();
  op->name = "nccl";
  op->clique = comm->clique;
  op->comm = comm;
  for (auto& c : calls) {
    c->seq = c->is_collective()      ? comm->collectives++
             : c->kind == Call::send ? comm->sent[c->peer]++
                                     : comm->received[c->peer]++;
    c->holder = op.get();
    comm->clique->pending.push_back(c);
    ++comm->issued;
  }
  op->calls = std::move(calls);
  comm->clique->users.insert(std::this_thread::get_id());
  apply_faults(*op);
  cudaError_t e = enqueue(lock, s, std::move(op));
  runtime().queued.notify_all();
  return e ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t submit(Call call, cudaStream_t stream) {
  Group& g = group();
  auto fail = [&](ncclResult_t r, const std::string& text) {
    if (g.depth && !g.error) g.error = r;
    return refuse(r, std::string("nccl") + nccl_name(call.kind) + " at " + place(call.site) + ": " + text);
  };
  if (injected_error((std::string("nccl") + nccl_name(call.kind)).c_str(), cudaErrorLaunchFailure))
    return fail(ncclSystemError, "injected failure");
  Lock lock(runtime().mutex);
  if (!state().live.count(call.comm)) return fail(ncclInvalidArgument, "no such communicator");
  if (call.comm->aborted) return fail(ncclInvalidUsage, "the communicator was aborted");
  if (call.comm->clique->failed) return fail(ncclRemoteError, call.comm->clique->why);
  if (call.type < 0 || call.type > ncclBfloat16 || call.op < 0 || call.op > ncclAvg)
    return fail(ncclInvalidArgument, "unknown data type or reduction");
  if (call.peer < -1 || call.peer >= call.comm->clique->nranks)
    return fail(ncclInvalidArgument, "no rank " + std::to_string(call.peer));
  std::string problem = check_buffers(call);
  if (!problem.empty()) return fail(ncclInvalidArgument, problem);
  auto shared = std::make_shared<Call>(call);
  if (g.depth) {
    g.calls.emplace_back(shared, stream);
    return ncclSuccess;
  }
  return issue(lock, {shared}, stream);
}

ncclResult_t checked(ncclComm_t comm) {
  return state().live.count(comm) ? ncclSuccess : refuse(ncclInvalidArgument, "NCCL: no such communicator");
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return ncclInvalidArgument;
  static std::atomic<uint64_t> counter{0};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "vgpu-%u-%llu", std::random_device{}(),
                static_cast<unsigned long long>(++counter));
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  static const char* const texts[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error",
                                      "NCCL operation in progress"};
  return result >= 0 && result <= ncclInProgress ? texts[result] : "unknown result code";
}
const char* ncclGetLastError(ncclComm_t) {
  static thread_local std::string text;
  text = vgpu::last_report();
  return text.c_str();
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  Entry entry("ncclCommInitRank");
  if (entry) return ncclUnhandledCudaError;
  if (!comm || nranks < 1 || rank < 0 || rank >= nranks)
    return refuse(ncclInvalidArgument, "ncclCommInitRank: rank or size");
  std::vector<Init> inits{
      {comm, nranks, rank, std::string(id.internal, strnlen(id.internal, sizeof id.internal)), entry.device}};
  if (group().depth) {
    group().inits.push_back(inits[0]);
    return ncclSuccess;
  }
  return init_all(inits);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices) {
  auto& all = runtime().devices;
  if (!comms || ndev < 1 || ndev > static_cast<int>(all.size()))
    return refuse(ncclInvalidArgument, "ncclCommInitAll: device count");
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<Init> inits;
  for (int i = 0; i < ndev; ++i) {
    int d = devices ? devices[i] : i;
    if (d < 0 || d >= static_cast<int>(all.size())) return refuse(ncclInvalidArgument, "ncclCommInitAll: device");
    inits.push_back({&comms[i], ndev, i, id.internal, all[static_cast<size_t>(d)].get()});
  }
  return init_all(inits);
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  *count = comm->clique->nranks;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  *device = comm->device->id;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  *error = comm->error;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  return run_device(lock, comm->device) ? ncclUnhandledCudaError : ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  run_device(lock, comm->device);
  state().live.erase(comm);  // the object stays: other ranks of the clique still look at it
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Lock lock(runtime().mutex);
  if (ncclResult_t r = checked(comm)) return r;
  while (state().hang_abort) runtime().queued.wait_for(lock, std::chrono::milliseconds(10));
  comm->aborted = true;
  fail_clique(*comm->clique, ncclRemoteError, "NCCL: rank " + std::to_string(comm->rank) + " aborted its communicator");
  runtime().queued.notify_all();
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  Group& g = group();
  if (!g.depth) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--g.depth) return ncclSuccess;
  auto calls = std::move(g.calls);
  auto inits = std::move(g.inits);
  ncclResult_t error = g.error;
  g = Group{};
  if (error) return error;
  if (!inits.empty())
    if (ncclResult_t r = init_all(inits)) return r;
  Lock lock(runtime().mutex);
  while (!calls.empty()) {  // one operation for each communicator and stream
    auto [first, stream] = calls[0];
    std::vector<std::shared_ptr<Call>> together;
    std::erase_if(calls, [&, comm = first->comm, on = stream](auto& c) {
      if (c.first->comm != comm || c.second != on) return false;
      together.push_back(c.first);
      return true;
    });
    if (ncclResult_t r = issue(lock, std::move(together), stream)) return r;
  }
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream, const char* file, int line) {
  return submit({Call::all_reduce, send, recv, count, type, op, -1, comm, {file, line}}, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t recvcount, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream, const char* file, int line) {
  return submit({Call::reduce_scatter, send, recv, recvcount, type, op, -1, comm, {file, line}}, stream);
}
ncclResult_t ncclAllGather(const void* send, void* recv, size_t sendcount, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream, const char* file, int line) {
  return submit({Call::all_gather, send, recv, sendcount, type, ncclSum, -1, comm, {file, line}}, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream, const char* file, int line) {
  return submit({Call::broadcast, send, recv, count, type, ncclSum, root, comm, {file, line}}, stream);
}
ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream, const char* file, int line) {
  return submit({Call::reduce, send, recv, count, type, op, root, comm, {file, line}}, stream);
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream, const char* file, int line) {
  return submit({Call::send, send, nullptr, count, type, ncclSum, peer, comm, {file, line}}, stream);
}
ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream,
                      const char* file, int line) {
  return submit({Call::recv, nullptr, recv, count, type, ncclSum, peer, comm, {file, line}}, stream);
}

namespace vgpu {
void nccl_kill(int rank, uint64_t at_seq) {
  Lock lock(runtime().mutex);
  state().faults.push_back({rank, at_seq, true});
}
void nccl_hang(int rank, uint64_t at_seq) {
  Lock lock(runtime().mutex);
  state().faults.push_back({rank, at_seq, false});
}
void nccl_delay(int rank, int polls) {
  Lock lock(runtime().mutex);
  state().delays[rank] = polls;
}
void nccl_hang_abort() {
  Lock lock(runtime().mutex);
  state().hang_abort = true;
}
void nccl_reset_faults() {
  Lock lock(runtime().mutex);
  state().faults.clear();
  state().delays.clear();
  for (ncclComm_t c : state().live) c->delayed = 0;
  state().hang_abort = false;
}
void set_nccl_timeout(double seconds) {
  config().nccl_timeout = seconds;
}

namespace rt {
bool any_delay() {
  for (ncclComm_t c : state().live)
    if (c->delayed > 0) return true;
  return false;
}
}  // namespace rt
}  // namespace vgpu

}  // namespace vgpu_abi
