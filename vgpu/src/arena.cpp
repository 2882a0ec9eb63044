#include "runtime.h"
#include "sanitizers.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <new>

inline namespace vgpu_abi {
namespace vgpu::rt {
namespace {

constexpr size_t huge = 2 << 20, unit = 256;
constexpr size_t fill_limit = 64 << 20;  // larger blocks: only the first and last 2 MiB are filled
size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

void Arena::create(Device*, size_t capacity) {
  capacity_ = capacity;
  bump_ = unit;
  reserve_ = round_up(capacity + capacity / 8, huge);
  // Device addresses begin 1 GiB above a multiple of 4 GiB. A small number in the low half of a word whose high half is
  // a host pointer's remains (padding of an argument struct) then never looks like an address of this device.
  constexpr size_t low = size_t{1} << 30, word = size_t{1} << 32;
  void* map = mmap(nullptr, reserve_ + low + word, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    throw ConfigError("TANTU_VGPU_MEMORY: no address space for " + std::to_string(reserve_) + " bytes");
  base_ = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(map), word) + low);
  static bool noted = false;
  // A device larger than this machine: pages are taken as they are touched, one by one.
  const bool larger =
      capacity / static_cast<size_t>(sysconf(_SC_PAGESIZE)) > static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  if (madvise(base_, reserve_, larger ? MADV_NOHUGEPAGE : MADV_HUGEPAGE) != 0 && !noted && !config().quiet) {
    noted = true;
    std::fprintf(stderr, "vgpu: no huge pages here: protecting device memory will be slow\n");
  }
}

void Arena::protect(bool accessible) {
  if (high_) mprotect(base_, high_, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
  for (auto [at, bytes] : mapped_)
    mprotect(reinterpret_cast<void*>(at), bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
  accessible_ = accessible;
}

void Arena::open() {
  if (opened_++ == 0 && !accessible_) protect(true);
}
void Arena::close() {
  if (--opened_ == 0 && config().guard) protect(false);
}

void Arena::grow(size_t end) {
  if (end <= high_) return;
  size_t high = std::min(round_up(end, huge), reserve_);
  poison_region(base_ + high_, high - high_);
  if (accessible_ || !config().guard) mprotect(base_, high, PROT_READ | PROT_WRITE), accessible_ = true;
  high_ = high;
}

/// Poison, or zeros where that is off; the range must be open.
void Arena::refill(char* p, size_t bytes) {
  const int value = config().poison ? 0xff : 0;
  if (bytes <= fill_limit) return fill(p, bytes, value);
  fill(p, huge, value);
  fill(p + bytes - huge, huge, value);
}

void Arena::add_hole(uint64_t at, size_t span) {
  auto next = holes_.lower_bound(at);
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == at) {
      at = before->first;
      span += before->second;
      holes_.erase(before);
    }
  }
  if (next != holes_.end() && at + span == next->first) {
    span += next->second;
    holes_.erase(next);
  }
  holes_[at] = span;
}

/// The oldest quarantined block becomes a hole; its whole huge pages go back to the system.
void Arena::evict() {
  auto [at, span] = quarantine_.front();
  quarantine_.pop_front();
  quarantined_ -= span;
  uint64_t start = reinterpret_cast<uint64_t>(base_) + at, first = round_up(start, huge),
           last = (start + span) / huge * huge;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  add_hole(at, span);
}

void* Arena::allocate(size_t bytes) {
  if (bytes > capacity_ - used_) return nullptr;
  const size_t span = round_up(bytes, unit) + unit;  // at least one unit stays between neighbours
  for (;;) {
    auto hole = std::find_if(holes_.begin(), holes_.end(), [&](auto& h) { return h.second >= span; });
    uint64_t at = 0;
    if (hole != holes_.end()) {
      at = hole->first;
      size_t rest = hole->second - span;
      holes_.erase(hole);
      if (rest) holes_[at + span] = rest;
    } else if (bump_ + span <= reserve_) {
      at = bump_;
      bump_ += span;
      grow(bump_);
    } else if (!quarantine_.empty()) {
      evict();
      continue;
    } else {
      return nullptr;
    }
    char* p = base_ + at;
    live_[reinterpret_cast<uint64_t>(p)] = {bytes, span, false};
    used_ += bytes;
    open();
    refill(p, bytes);
    close();
    unpoison_region(p, bytes);
    return p;
  }
}

void Arena::release(uint64_t address) {
  auto it = live_.find(address);
  if (it == live_.end()) return;
  auto [bytes, span, freed] = it->second;
  live_.erase(it);
  used_ -= bytes;
  char* p = reinterpret_cast<char*>(address);
  open();
  refill(p, bytes);
  close();
  poison_region(p, span);
  quarantine_.emplace_back(address - reinterpret_cast<uint64_t>(base_), span);
  quarantined_ += span;
  while (quarantine_.size() > 64 || quarantined_ > fill_limit) evict();
}

const std::pair<const uint64_t, Allocation>* Arena::find(const void* p) const {
  uint64_t a = reinterpret_cast<uint64_t>(p);
  for (auto* blocks : {&live_, &extents_}) {
    auto it = blocks->upper_bound(a);
    if (it == blocks->begin()) continue;
    --it;
    if (a < it->first + std::max<size_t>(it->second.bytes, 1)) return &*it;
  }
  return nullptr;
}

Allocation* Arena::exact(const void* p) {
  auto it = live_.find(reinterpret_cast<uint64_t>(p));
  return it == live_.end() ? nullptr : &it->second;
}

void Arena::clear() {
  live_.clear();
  holes_.clear();
  quarantine_.clear();
  quarantined_ = used_ = 0;
  bump_ = unit;  // there is something before the first block, too
  while (!mapped_.empty()) unmap(mapped_.begin()->first, mapped_.begin()->second);
  windows_.clear();
  if (high_) madvise(base_, high_, MADV_DONTNEED);
  poison_region(base_, high_);
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
