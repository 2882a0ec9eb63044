#pragma once

#include <tantu/core/index.h>

#include <vector>

/// What PyTorch's indexing means, spelt out element by element. Nothing of the library's own indexing is used.
namespace tantu::slow {

/// For every element of the result, in row-major order, the row-major position in x it shows.
struct Indexed {
  Shape sizes;
  std::vector<int64_t> from;
};

/// One dimension of x, or none (`None`, a bool), and how the result walks it.
struct Slot {
  enum Kind { New, Range, Fixed, Listed } kind = Range;
  int source = -1;  ///< dimension of x
  int64_t start = 0, step = 1, length = 1;
  Shape list_sizes = {};  ///< of a Listed slot: an index tensor, or one column of a mask's positions
  std::vector<int64_t> list = {};
};

inline std::vector<int64_t> values(const Tensor& t) {
  return t.to_vector<int64_t>();
}

inline Slot range(int source, int64_t n, const Slice& s) {
  const auto clip = [n](int64_t i) { return i < 0 ? std::max<int64_t>(0, i + n) : std::min(i, n); };
  Slot slot{.kind = Slot::Range, .source = source};
  slot.start = clip(s.start().value_or(0));
  slot.step = s.step();
  slot.length = 0;
  for (int64_t i = slot.start; i < clip(s.stop().value_or(n)); i += slot.step) ++slot.length;
  return slot;
}

inline Slot listed(int source, int64_t n, const Shape& sizes, std::vector<int64_t> list) {
  for (int64_t& i : list)
    if (i < 0) i += n;
  Slot slot{.kind = Slot::Listed, .source = source};
  slot.list_sizes = sizes;
  slot.list = std::move(list);
  return slot;
}

/// The slots of an index, ellipsis and missing dimensions filled in.
inline std::vector<Slot> slots_of(const Shape& x, const IndexList& indices) {
  int named = 0;
  for (const Index& e : indices) {
    const bool is_mask =
        e.kind() == Index::Kind::Tensor && (e.tensor().dtype() == kBool || e.tensor().dtype() == kUInt8);
    if (is_mask) named += static_cast<int>(e.tensor().dim());
    else if (e.kind() != Index::Kind::None && e.kind() != Index::Kind::Ellipsis && e.kind() != Index::Kind::Bool)
      ++named;
  }
  std::vector<Slot> slots;
  int d = 0;
  const auto whole = [&] {
    slots.push_back({.kind = Slot::Range, .source = d, .start = 0, .step = 1, .length = x[d]});
    ++d;
  };
  const auto flag = [&](bool on) { slots.push_back(listed(-1, 1, {on ? 1 : 0}, std::vector<int64_t>(on ? 1 : 0, 0))); };
  for (const Index& e : indices) {
    if (e.kind() == Index::Kind::None) {
      slots.push_back({.kind = Slot::New});
    } else if (e.kind() == Index::Kind::Bool) {
      flag(e.integer() != 0);
    } else if (e.kind() == Index::Kind::Ellipsis) {
      for (int left = x.size() - named; left > 0; --left) whole();
    } else if (e.kind() == Index::Kind::Integer) {
      slots.push_back({.kind = Slot::Fixed, .source = d, .start = e.integer() < 0 ? e.integer() + x[d] : e.integer()});
      ++d;
    } else if (e.kind() == Index::Kind::Slice) {
      slots.push_back(range(d, x[d], e.slice()));
      ++d;
    } else {
      const Tensor& t = e.tensor();
      const bool is_mask = t.dtype() == kBool || t.dtype() == kUInt8;
      if (is_mask && t.dim() == 0) {
        flag(values(t)[0] != 0);
      } else if (!is_mask && t.dim() == 0) {
        const int64_t i = values(t)[0];
        slots.push_back({.kind = Slot::Fixed, .source = d, .start = i < 0 ? i + x[d] : i});
        ++d;
      } else if (!is_mask) {
        slots.push_back(listed(d, x[d], t.sizes(), values(t)));
        ++d;
      } else {
        const std::vector<int64_t> on = values(t);
        std::vector<std::vector<int64_t>> columns(static_cast<size_t>(t.dim()));
        for (size_t i = 0; i < on.size(); ++i) {
          if (on[i] == 0) continue;
          int64_t rest = static_cast<int64_t>(i);
          for (int k = t.sizes().size() - 1; k >= 0; --k) {
            columns[static_cast<size_t>(k)].push_back(rest % t.sizes()[k]);
            rest /= t.sizes()[k];
          }
        }
        for (const auto& column : columns) {
          slots.push_back(listed(d, x[d], {static_cast<int64_t>(column.size())}, column));
          ++d;
        }
      }
    }
  }
  while (d < x.size()) whole();
  return slots;
}

inline Indexed index(const Shape& x, const IndexList& indices) {
  const std::vector<Slot> slots = slots_of(x, indices);
  // The common shape of the lists, and whether they are neighbours once single positions are gone.
  Shape common;
  int first = -1, last = -1, lists = 0, place = 0;
  for (const Slot& s : slots) {
    if (s.kind == Slot::Fixed) continue;
    if (s.kind == Slot::Listed) {
      while (common.size() < s.list_sizes.size()) common.insert(0, 1);
      for (int k = 1; k <= s.list_sizes.size(); ++k) {
        int64_t& c = common[common.size() - k];
        if (s.list_sizes[s.list_sizes.size() - k] != 1) c = s.list_sizes[s.list_sizes.size() - k];
      }
      if (first < 0) first = place;
      last = place;
      ++lists;
    }
    ++place;
  }
  const int common_at = lists == 0 ? -1 : last - first + 1 == lists ? first : 0;
  // The result's dimensions: slots that are walked, with the common ones let in at their place.
  std::vector<const Slot*> walked;
  Indexed result;
  int common_start = 0;
  const auto let_in = [&] {
    common_start = result.sizes.size();
    for (int64_t c : common) {
      result.sizes.push_back(c);
      walked.push_back(nullptr);
    }
  };
  place = 0;
  if (common_at == 0) let_in();
  for (const Slot& s : slots) {
    if (s.kind == Slot::Fixed) continue;
    if (place != 0 && place == common_at) let_in();
    if (s.kind != Slot::Listed) {
      result.sizes.push_back(s.length);
      walked.push_back(&s);
    }
    ++place;
  }
  const int64_t n = numel(result.sizes);
  for (int64_t i = 0; i < n; ++i) {
    Dims at = result.sizes;
    int64_t rest = i;
    for (int k = at.size() - 1; k >= 0; --k) {
      at[k] = rest % result.sizes[k];
      rest /= result.sizes[k];
    }
    Dims source = Dims::filled(x.size(), 0);
    for (size_t k = 0; k < walked.size(); ++k)
      if (walked[k] && walked[k]->source >= 0)
        source[walked[k]->source] = walked[k]->start + at[static_cast<int>(k)] * walked[k]->step;
    for (const Slot& s : slots) {
      if (s.source < 0) continue;
      if (s.kind == Slot::Fixed) source[s.source] = s.start;
      if (s.kind != Slot::Listed) continue;
      int64_t flat = 0;
      for (int k = 0; k < s.list_sizes.size(); ++k) {
        const int64_t coordinate = at[common_start + common.size() - s.list_sizes.size() + k];
        flat = flat * s.list_sizes[k] + (s.list_sizes[k] == 1 ? 0 : coordinate);
      }
      source[s.source] = s.list[static_cast<size_t>(flat)];
    }
    int64_t flat = 0;
    for (int d = 0; d < x.size(); ++d) flat = flat * x[d] + source[d];
    result.from.push_back(flat);
  }
  return result;
}

}  // namespace tantu::slow
