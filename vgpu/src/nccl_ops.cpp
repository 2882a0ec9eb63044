#include <algorithm>
#include <chrono>

#include "model.h"
#include "nccl.h"
#include "pool.h"

inline namespace vgpu_abi {
namespace vgpu::rt {
namespace {

bool at_head(const Call& c) {
  auto& queue = c.holder->stream->queue;
  return !queue.empty() && queue.front().get() == c.holder;
}

std::string table(const std::vector<Call*>& met) {
  std::string text = "\n  rank  seq  operation  count  dtype  op  root/peer  call site";
  for (Call* c : met)
    text += "\n  " + std::to_string(c->comm->rank) + "  " + std::to_string(c->seq) + "  " + nccl_name(c->kind) + "  " +
            std::to_string(c->count) + "  " + std::to_string(c->type) + "  " + std::to_string(c->op) + "  " +
            std::to_string(c->peer) + "  " + place(c->site);
  return text;
}

bool agree(const std::vector<Call*>& met) {
  const Call& a = *met[0];
  for (Call* c : met) {
    if (c->count != a.count || c->type != a.type) return false;
    if (a.is_collective() && (c->kind != a.kind || c->op != a.op || c->peer != a.peer)) return false;
  }
  return true;
}

}  // namespace

const char* nccl_name(Call::Kind kind) {
  static const char* const names[] = {"AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce", "Send", "Recv"};
  return names[kind];
}

std::vector<Call*> partners(const Clique& clique, const Call& call) {
  std::vector<Call*> met;
  if (call.is_collective()) {
    met.assign(static_cast<size_t>(clique.nranks), nullptr);
    for (auto& c : clique.pending)
      if (c->is_collective() && c->seq == call.seq) met[static_cast<size_t>(c->comm->rank)] = c.get();
  } else {
    met.assign(2, nullptr);
    int from = call.kind == Call::send ? call.comm->rank : call.peer;
    int to = call.kind == Call::send ? call.peer : call.comm->rank;
    for (auto& c : clique.pending) {
      if (c->seq != call.seq) continue;
      if (c->kind == Call::send && c->comm->rank == from && c->peer == to) met[0] = c.get();
      if (c->kind == Call::recv && c->comm->rank == to && c->peer == from) met[1] = c.get();
    }
  }
  if (std::find(met.begin(), met.end(), nullptr) != met.end()) met.clear();
  return met;
}

void fail_clique(Clique& clique, ncclResult_t result, const std::string& why) {
  if (clique.failed != ncclSuccess) return;
  clique.failed = result;
  clique.why = why;
  report(why, true);
  for (ncclComm_t c : clique.ranks)
    if (c && c->error == ncclSuccess) c->error = result;
  runtime().queued.notify_all();
}

bool NcclOp::ready() {
  if (clique->failed || comm->aborted) return true;
  if (hung) return false;
  if (comm->delayed > 0) return --comm->delayed, false;
  for (auto& c : calls) {
    if (c->done) continue;
    auto met = partners(*clique, *c);
    if (met.empty()) return false;
    if (!agree(met)) {
      fail_clique(*clique, ncclInvalidUsage, "NCCL mismatch:" + table(met));
      return true;
    }
    for (Call* other : met) {
      if (!at_head(*other) || other->holder->hung) return false;
      if (other->comm->delayed > 0) return --other->comm->delayed, false;
    }
  }
  return true;
}

Stream* NcclOp::waits_for() {
  for (auto& c : calls) {
    if (c->done) continue;
    for (Call* other : partners(*clique, *c))
      if (!at_head(*other)) return other->holder->stream;
  }
  return nullptr;
}

cudaError_t NcclOp::run() {
  if (clique->failed || comm->aborted) return comm->aborted ? cudaSuccess : cudaErrorLaunchFailure;
  for (auto& c : calls) {
    if (c->done) continue;
    Lock lock(runtime().mutex);
    auto met = partners(*clique, *c);
    lock.unlock();
    for (Call* other : met) other->comm->device->arena.open();
    transfer(met);
    for (Call* other : met) other->comm->device->arena.close();
    lock.lock();
    for (Call* other : met) other->done = true;
    std::erase_if(clique->pending, [](auto& p) { return p->done; });
  }
  return cudaSuccess;
}

void NcclOp::finished() {
  for (auto& c : calls) {
    c->done = true;
    std::erase(clique->pending, c);
  }
  runtime().queued.notify_all();
}

/// The ring formula.
double NcclOp::cost() {
  double total = 0, n = clique->nranks;
  for (auto& c : calls) {
    double bytes = static_cast<double>(c->count * nccl_bytes(c->type));
    total += c->kind == Call::all_reduce ? model_collective(2 * (n - 1), 2 * (n - 1) / n * bytes)
                                         : model_collective(n - 1, bytes);
  }
  return total;
}

namespace {

/// Who waits for whom, over the heads of all streams. Fails the cliques that cannot go on.
bool report_deadlock() {
  std::set<Clique*> stuck;
  std::string text;
  for (auto& d : runtime().devices)
    for (Stream* s : d->streams) {
      auto* op = s->queue.empty() ? nullptr : dynamic_cast<NcclOp*>(s->queue.front().get());
      if (!op) continue;
      for (auto& c : op->calls) {
        if (c->done) continue;
        stuck.insert(op->clique);
        text +=
            "\n  rank " + std::to_string(op->comm->rank) + " waits in " + nccl_name(c->kind) + " at " + place(c->site);
        auto met = partners(*op->clique, *c);
        if (c->is_collective() && met.empty()) {
          for (int r = 0; r < op->clique->nranks; ++r)
            if (std::none_of(op->clique->pending.begin(), op->clique->pending.end(),
                             [&](auto& p) { return p->is_collective() && p->seq == c->seq && p->comm->rank == r; }))
              text += ", for rank " + std::to_string(r);
        } else if (!c->is_collective()) {
          text += ", for rank " + std::to_string(c->peer);
        }
      }
    }
  for (Clique* c : stuck) fail_clique(*c, ncclRemoteError, "NCCL deadlock: nobody can proceed" + text);
  return !stuck.empty();
}

/// Whether some host thread other than this one could still set a stuck communicator free.
bool others_may_help(std::thread::id self, const std::set<std::thread::id>& stuck_threads) {
  for (auto& d : runtime().devices)
    for (Stream* s : d->streams)
      if (auto* op = s->queue.empty() ? nullptr : dynamic_cast<NcclOp*>(s->queue.front().get()))
        for (auto& user : op->clique->users)
          if (user != self && !stuck_threads.count(user)) return true;
  return false;
}

}  // namespace

void stalled(Lock& lock, const std::function<void()>& session, const bool& met) {
  static auto* waiting = new std::set<std::thread::id>;  // threads that found nothing to run
  const auto self = std::this_thread::get_id();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(config().nccl_timeout);
  int idle = 0;  // rounds in which nobody could help: twice, so that late arrivals are seen
  while (!met) {
    waiting->insert(self);
    const uint64_t before = runtime().next_seq;
    runtime().queued.wait_for(lock, std::chrono::milliseconds(5));
    const bool hopeless = !others_may_help(self, *waiting) && runtime().next_seq == before;
    idle = hopeless ? idle + 1 : 0;
    const bool late = std::chrono::steady_clock::now() > deadline;
    if ((idle > 3 && !any_delay()) || late) {
      if (!report_deadlock() && late) break;
      idle = 0;
    }
    waiting->erase(self);
    lock.unlock();
    on_worker0(session);
    lock.lock();
  }
  waiting->erase(self);
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
