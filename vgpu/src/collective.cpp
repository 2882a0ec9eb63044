#include "fault.h"
#include "matrix.h"
#include "sanitizers.h"
#include "worker.h"

#include <bit>

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {

const char* op_name(WarpOp op) {
  static const char* const names[] = {
      "syncwarp",   "shfl",      "shfl_up",    "shfl_down",  "shfl_xor",   "ballot",     "all",        "any",
      "match_any",  "match_all", "reduce_add", "reduce_add", "reduce_min", "reduce_min", "reduce_max", "reduce_max",
      "reduce_and", "reduce_or", "reduce_xor", "ldmatrix",   "mma",        "exchange"};
  return names[static_cast<int>(op)];
}

uint64_t Worker::collective(WarpOp op, unsigned mask, uint64_t value, int arg, int width, Site site) {
  Lane* self = current;
  int number = static_cast<int>(self - lanes), warp = number >> 5, lane = number & 31;
  if (!(mask >> lane & 1u))
    fault(719, [&] {
      return std::string("warp collective executed by a lane outside its mask: ") + op_name(op) + " mask " + hex(mask) +
             " by lane " + std::to_string(lane) + " at " + place(site) + " in " + where(*this);
    });
  if (width < 1 || width > 32 || (width & (width - 1)))
    fault(719, [&] {
      return std::string(op_name(op)) + " at " + place(site) + ": width " + std::to_string(width) +
             " is not a power of two up to 32";
    });
  mask &= existing(warp);
  int slot = -1;
  for (uint64_t o = open[warp]; o; o &= o - 1)
    if (int i = std::countr_zero(o); rendezvous[warp][i].mask == mask) {
      slot = i;
      break;
    }
  if (slot < 0) {
    slot = std::countr_one(open[warp]);
    if (slot >= max_open)
      fault(719, [&] {
        return "too many pending warp collectives (" + std::to_string(max_open) + " masks) at " + place(site);
      });
    open[warp] |= 1ull << slot;
    Rendezvous& r = rendezvous[warp][slot];
    r.mask = mask;
    r.arrived = 0;
    r.op = op;
    r.site = site;
    ++r.phase;
  }
  Rendezvous& r = rendezvous[warp][slot];
  if (r.op != op)
    fault(719, [&] {
      return std::string("different warp collectives meet on one mask (") + op_name(r.op) + " at " + place(r.site) +
             ", " + op_name(op) + " at " + place(site) + ") in " + where(*this);
    });
  r.slots[lane] = {value, arg, width, {nullptr, nullptr}};
  r.arrived |= 1u << lane;
  char* edge = nullptr;
  if (op == WarpOp::sync && tsan()) {
    edge = &r.edges[r.phase & 7];
    __tsan_release(edge);
  }
  if (!try_complete(warp, slot, self)) {
    self->state = Lane::at_warp;
    self->op = op;
    self->mask = mask;
    self->site = site;
    suspend();
  }
  if (edge) __tsan_acquire(edge);
  return self->result;
}

/// If every named lane that still runs has arrived: computes the results and wakes all but `self`.
bool Worker::try_complete(int warp, int slot, Lane* self) {
  Rendezvous& r = rendezvous[warp][slot];
  if (r.arrived != (r.mask & ~exited[warp])) return false;
  Lane* base = &lanes[warp * 32];
  compute_collective(r, base);
  open[warp] &= ~(1ull << slot);
  for (unsigned left = r.arrived; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    if (base + lane != self) push_ready(warp * 32 + lane);
  }
  return true;
}

namespace {

void shuffle_results(const Rendezvous& r, Lane* lanes) {
  for (unsigned left = r.arrived; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    const auto& s = r.slots[lane];
    long long first = lane & ~(s.width - 1), last = first + s.width - 1, from = lane;
    switch (r.op) {
      case WarpOp::shfl_idx: from = first + (s.arg & (s.width - 1)); break;
      case WarpOp::shfl_up: from = lane - static_cast<long long>(static_cast<unsigned>(s.arg)); break;
      case WarpOp::shfl_down: from = lane + static_cast<long long>(static_cast<unsigned>(s.arg)); break;
      default: from = static_cast<long long>(static_cast<unsigned>(lane) ^ static_cast<unsigned>(s.arg)); break;
    }
    if (from > last || (r.op == WarpOp::shfl_up && from < first)) from = lane;
    lanes[lane].result = (r.arrived >> from & 1u) ? r.slots[from].value : ~0ull;
  }
}

unsigned fold(WarpOp op, unsigned a, unsigned b) {
  int sa = static_cast<int>(a), sb = static_cast<int>(b);
  switch (op) {
    case WarpOp::min_u: return a < b ? a : b;
    case WarpOp::min_s: return sa < sb ? a : b;
    case WarpOp::max_u: return a > b ? a : b;
    case WarpOp::max_s: return sa > sb ? a : b;
    case WarpOp::and_b: return a & b;
    case WarpOp::or_b: return a | b;
    case WarpOp::xor_b: return a ^ b;
    default: return a + b;
  }
}

uint64_t common_result(const Rendezvous& r) {
  unsigned votes = 0;
  bool equal = true;
  const uint64_t first = r.slots[std::countr_zero(r.arrived)].value;
  unsigned total = static_cast<unsigned>(first);
  for (unsigned left = r.arrived; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    uint64_t v = r.slots[lane].value;
    if (v) votes |= 1u << lane;
    equal = equal && v == first;
    if (lane != std::countr_zero(r.arrived)) total = fold(r.op, total, static_cast<unsigned>(v));
  }
  switch (r.op) {
    case WarpOp::ballot: return votes;
    case WarpOp::all: return votes == r.arrived;
    case WarpOp::any: return votes != 0;
    case WarpOp::match_all: return equal ? r.arrived : 0;
    default: return total;
  }
}

}  // namespace

void compute_collective(Rendezvous& r, Lane* lanes) {
  if (r.op == WarpOp::sync) return;
  if (r.op >= WarpOp::shfl_idx && r.op <= WarpOp::shfl_xor) return shuffle_results(r, lanes);
  if (r.op >= WarpOp::ldmatrix) return compute_matrix(r);
  uint64_t common = r.op == WarpOp::match_any ? 0 : common_result(r);
  for (unsigned left = r.arrived; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    uint64_t result = common;
    if (r.op == WarpOp::match_any)
      for (unsigned other = r.arrived; other; other &= other - 1)
        if (int o = std::countr_zero(other); r.slots[o].value == r.slots[lane].value) result |= 1u << o;
    lanes[lane].result = result;
  }
}

}  // namespace rt

uint64_t warp_collective(WarpOp op, unsigned mask, uint64_t value, int arg, int width, const char* file, int line) {
  return rt::tl_worker->collective(op, mask, value, arg, width, {file, line});
}

}  // namespace vgpu
}  // namespace vgpu_abi
