#include <vgpu/async_copy.h>

#include <sys/mman.h>
#include <time.h>
#include <new>

#include "fault.h"
#include "launch.h"

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {

struct PendingCopy {
  AsyncCopy copy;
  int group;
  PendingCopy* next;
};

namespace {

PendingCopy* take(Worker& w) {
  if (!w.free_copies) {  // straight from the system: no allocator call on a GPU thread
    constexpr size_t bytes = 1 << 20, count = bytes / sizeof(PendingCopy);
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) w.fault(719, [&] { return std::string("no memory for cp.async"); });
    auto* nodes = static_cast<PendingCopy*>(map);
    for (size_t i = 0; i < count; ++i) nodes[i].next = i + 1 < count ? &nodes[i + 1] : nullptr;
    w.free_copies = nodes;
  }
  PendingCopy* node = w.free_copies;
  w.free_copies = node->next;
  return node;
}

}  // namespace

void abandon_copies(Worker& w) {
  Lane& lane = *w.current;
  report("cp.async never waited for in " + where(w) + ", thread (" + std::to_string(threadIdx.x) + "," +
         std::to_string(threadIdx.y) + "," + std::to_string(threadIdx.z) + ")");
  lane.copies_tail->next = w.free_copies;
  w.free_copies = lane.copies;
  lane.copies = lane.copies_tail = nullptr;
}

}  // namespace rt

using namespace rt;

void queue_copy(const AsyncCopy& copy, const char* file, int line) {
  Worker& w = *tl_worker;
  if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16)
    w.fault(719, [&] {
      return "cp.async of " + std::to_string(copy.bytes) + " bytes at " + place({file, line}) + ": 4, 8 or 16";
    });
  if (copy.valid < 0 || copy.valid > copy.bytes)
    w.fault(719, [&] { return "cp.async zero fill outside the copy at " + place({file, line}); });
  check_alignment(copy.dst, static_cast<size_t>(copy.bytes), file, line);
  check_alignment(copy.src, static_cast<size_t>(copy.bytes), file, line);
  PendingCopy* node = take(w);
  Lane& lane = *w.current;
  *node = {copy, lane.group, nullptr};
  if (lane.copies) lane.copies_tail->next = node;
  else lane.copies = node;
  lane.copies_tail = node;
}

void commit_copies() {
  ++tl_worker->current->group;
}

bool next_copy(int pending, AsyncCopy* copy) {
  Worker& w = *tl_worker;
  Lane& lane = *w.current;
  PendingCopy* node = lane.copies;
  if (!node || (pending >= 0 && node->group >= lane.group - pending)) return false;
  *copy = node->copy;
  lane.copies = node->next;
  node->next = w.free_copies;
  w.free_copies = node;
  return true;
}

}  // namespace vgpu

long long clock64() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

}  // namespace vgpu_abi
