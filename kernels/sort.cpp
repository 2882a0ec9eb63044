#include <tantu/kernels/sort.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/axis_loops.h>
#include <tantu/kernels/cpu/sort_keys.h>

namespace tantu {

namespace {

constexpr int64_t kGrain = 4096;

template <class Item, class In>
uint64_t key_as(In v) {
  if constexpr (std::is_same_v<In, int64_t> && Item::kKeyBits == 32) return cpu::key_of(static_cast<int32_t>(v));
  else if constexpr (std::is_same_v<In, float> && Item::kKeyBits == 64) return uint64_t{cpu::key_of(v)};
  else return cpu::key_of(v);
}

// One line and the keys that order it.
template <class In, class Item>
struct Keyed {
  const In* line;
  int64_t n;
  uint64_t flip;  // all bits of a key set: descending

  uint64_t key(int64_t i) const { return key_as<Item>(line[i]) ^ flip; }
  void fill(std::vector<Item>& items) const {
    items.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) items[static_cast<size_t>(i)] = Item(key(i), i);
  }
};

// The first k ≥ 1 of a long line: most elements are behind the last of those seen so far, which one comparison tells.
template <class In, class Item>
void first_few(const Keyed<In, Item>& keys, int64_t k, std::vector<Item>& best) {
  constexpr int64_t kStep = 32;
  best.clear();
  for (int64_t i = 0; i < k; ++i) best.emplace_back(keys.key(i), i);
  std::make_heap(best.begin(), best.end());
  for (int64_t i = k; i < keys.n; i += kStep) {
    const int64_t end = std::min(keys.n, i + kStep);
    const uint64_t last = best.front().key();
    int nearer = 0;
    for (int64_t j = i; j < end; ++j) nearer |= keys.key(j) < last;
    if (!nearer) continue;
    for (int64_t j = i; j < end; ++j) {
      const Item item(keys.key(j), j);
      if (!(item < best.front())) continue;
      std::pop_heap(best.begin(), best.end());
      best.back() = item;
      std::push_heap(best.begin(), best.end());
    }
  }
  std::sort_heap(best.begin(), best.end());
}

// For each line: `order(keys, items, scratch)` makes items whose first `m` are the result.
template <class In, class Item, class Order>
void order_lines(const ConstView& x, const View& values, const View& indices, bool descending, int64_t m,
                 const Order& order) {
  const cpu::AxisPlan plan(x, values, x.rank() - 1);
  if (plan.numel() == 0 || m == 0) return;
  const int64_t n = plan.axis.size;
  const cpu::LineSource<In> from(x);
  const cpu::LineTarget<In> to(values);
  const uint64_t flip = !descending ? 0 : Item::kKeyBits == 32 ? 0xffffffffu : ~uint64_t{0};
  parallel_for(0, plan.lines.numel, std::max<int64_t>(1, kGrain / n), [&](int64_t b, int64_t e) {
    std::vector<Item> items, scratch;
    std::vector<In> in(static_cast<size_t>(n)), out(static_cast<size_t>(m));
    cpu::Cursor at(plan.lines, plan.lines.count, b);
    for (int64_t r = b; r < e; ++r, at.next()) {
      const In* line = from.get(at.x, plan.axis.x, n, in.data());
      order(Keyed<In, Item>{line, n, flip}, items, scratch);
      int64_t* places = indices.as<int64_t>() + at.y;
      for (int64_t i = 0; i < m; ++i) {
        const int64_t place = items[static_cast<size_t>(i)].place();
        places[i * plan.axis.y] = place;
        out[static_cast<size_t>(i)] = line[place];
      }
      to.put(out.data(), at.y, plan.axis.y, m, out.data());
    }
  });
}

template <class Order>
void order_any(const ConstView& x, const View& values, const View& indices, bool descending, int64_t m,
               const Order& order) {
  const bool narrow = x.rank() == 0 || x.sizes.back() <= int64_t{0xffffffff};
  const auto run = [&]<class In, class Item>() { order_lines<In, Item>(x, values, indices, descending, m, order); };
  if (x.dtype == kFloat64) run.template operator()<double, cpu::WideItem>();
  else if (x.dtype == kInt64) run.template operator()<int64_t, cpu::WideItem>();
  else if (is_floating(x.dtype))
    narrow ? run.template operator()<float, cpu::NarrowItem>() : run.template operator()<float, cpu::WideItem>();
  else if (narrow) run.template operator()<int64_t, cpu::NarrowItem>();
  else run.template operator()<int64_t, cpu::WideItem>();
}

}  // namespace

void sort_last(CpuContext&, ConstView x, View values, View indices, bool descending) {
  order_any(x, values, indices, descending, x.rank() == 0 ? 1 : x.sizes.back(),
            [](const auto& keys, auto& items, auto& scratch) {
              keys.fill(items);
              cpu::sort_items(items, scratch);
            });
}

void topk_last(CpuContext&, ConstView x, View values, View indices, bool largest) {
  const int64_t k = values.rank() == 0 ? 1 : values.sizes.back();
  order_any(x, values, indices, largest, k, [k](const auto& keys, auto& items, auto&) {
    if (k * 64 <= keys.n) return first_few(keys, k, items);
    keys.fill(items);
    const auto middle = items.begin() + k;
    if (middle != items.end()) std::nth_element(items.begin(), middle, items.end());
    std::sort(items.begin(), middle);
  });
}

void kth_last(CpuContext&, ConstView x, View value, View index, int64_t k, bool nan_first) {
  order_any(x, value, index, false, 1, [k, nan_first](const auto& keys, auto& items, auto&) {
    const auto *end = keys.line + keys.n,
               *nan = nan_first ? std::find_if(keys.line, end, [](auto v) { return v != v; }) : end;
    if (nan != end) {
      items.assign(1, {0, nan - keys.line});
      return;
    }
    keys.fill(items);
    std::nth_element(items.begin(), items.begin() + k, items.end());
    items[0] = items[static_cast<size_t>(k)];
  });
}

}  // namespace tantu
