#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

/// Elements as unsigned keys that sort as they do, each with its place in the line, so that no two are equal.
namespace tantu::cpu {

/// NaN becomes the highest key, -0 the key of +0.
inline uint32_t key_of(float v) {
  if (v != v) return 0xffffffffu;
  const uint32_t bits = std::bit_cast<uint32_t>(v + 0.0f);  // -0 + 0 = +0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
inline uint64_t key_of(double v) {
  if (v != v) return ~uint64_t{0};
  const uint64_t bits = std::bit_cast<uint64_t>(v + 0.0);
  return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
}
inline uint32_t key_of(int32_t v) {
  return static_cast<uint32_t>(v) ^ 0x80000000u;
}
inline uint64_t key_of(int64_t v) {
  return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63);
}

/// A 32-bit key and a place below 2^32 in one number.
struct NarrowItem {
  uint64_t bits;
  NarrowItem() = default;
  NarrowItem(uint64_t key, int64_t place) : bits(key << 32 | static_cast<uint64_t>(place)) {}
  int64_t place() const { return static_cast<int64_t>(bits & 0xffffffffu); }
  uint64_t key() const { return bits >> 32; }
  bool operator<(const NarrowItem& b) const { return bits < b.bits; }
  static constexpr int kKeyBits = 32;
};
struct WideItem {
  uint64_t key_;
  int64_t place_;
  WideItem() = default;
  WideItem(uint64_t key, int64_t place) : key_(key), place_(place) {}
  int64_t place() const { return place_; }
  uint64_t key() const { return key_; }
  bool operator<(const WideItem& b) const { return key_ != b.key_ ? key_ < b.key_ : place_ < b.place_; }
  static constexpr int kKeyBits = 64;
};

/// Sorts items that are in order of their places by key: least significant digit first, skipping digits that all share.
template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch) {
  constexpr int kDigit = 11, kBuckets = 1 << kDigit, kPasses = (Item::kKeyBits + kDigit - 1) / kDigit;
  std::vector<uint64_t> counts(static_cast<size_t>(kPasses) * kBuckets, 0);
  for (const Item& item : items)
    for (int pass = 0; pass < kPasses; ++pass)
      ++counts[static_cast<size_t>(pass * kBuckets) + ((item.key() >> (pass * kDigit)) & (kBuckets - 1))];
  scratch.resize(items.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    uint64_t* start = counts.data() + pass * kBuckets;
    const auto digit = [&](const Item& item) { return (item.key() >> (pass * kDigit)) & (kBuckets - 1); };
    if (start[digit(items[0])] == items.size()) continue;
    uint64_t before = 0;
    for (int i = 0; i < kBuckets; ++i) before += std::exchange(start[i], before);
    for (const Item& item : items) scratch[start[digit(item)]++] = item;
    items.swap(scratch);
  }
}

template <class Item>
void sort_items(std::vector<Item>& items, std::vector<Item>& scratch) {
  if (items.size() < 1024) std::sort(items.begin(), items.end());
  else radix_sort(items, scratch);
}

}  // namespace tantu::cpu
