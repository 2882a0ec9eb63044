#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tantu::tape {

/// From pointers to numbers: open addressing over one array, for the few or the million nodes of one backward.
class PointerMap {
 public:
  /// The number of `key`, which starts as `absent`. The reference lives until the next call.
  int& at(const void* key, int absent) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[place(key)];
    if (!entry.key) {
      entry = {key, absent};
      ++count_;
    }
    return entry.number;
  }
  /// Null where there is none.
  const int* find(const void* key) const {
    const Entry& entry = entries_[place(key)];
    return entry.key ? &entry.number : nullptr;
  }

 private:
  struct Entry {
    const void* key = nullptr;
    int number = 0;
  };

  size_t place(const void* key) const {
    const uint64_t hash = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u;
    size_t i = static_cast<size_t>(hash >> 20) & (entries_.size() - 1);
    while (entries_[i].key && entries_[i].key != key) i = (i + 1) & (entries_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.key) entries_[place(entry.key)] = entry;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(32);
  size_t count_ = 0;
};

}  // namespace tantu::tape
