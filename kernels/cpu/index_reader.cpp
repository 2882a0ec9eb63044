#include <tantu/kernels/cpu/index_reader.h>

#include <tantu/kernels/cpu/strided_copy.h>

namespace tantu::cpu {

IndexReader::IndexReader(const IndexPlan& plan, const Strides& other)
    : plan_(plan), sizes_(plan.sizes), base_(plan.base), other_(other), count_(numel(plan.sizes)) {
  Strides* strides[kMaxDims + 2] = {&base_, &other_};
  for (int i = 0; i < plan.count; ++i) {
    const IndexPlan::Pick& from = plan.picks[static_cast<size_t>(i)];
    picks_[static_cast<size_t>(i)] = {from.index.data, from.index.dtype == kInt64, from.index.strides, from.size, from.stride};
    strides[2 + i] = &picks_[static_cast<size_t>(i)].strides;
    extent_ += std::max<int64_t>(0, from.size - 1) * from.stride;
  }
  for (int d = 0; d < plan.sizes.size(); ++d) extent_ += std::max<int64_t>(0, plan.sizes[d] - 1) * plan.base[d];
  if (count_ > 0) collapse(sizes_, strides, 2 + plan.count);
}

void IndexReader::ramp(const Strides& strides, int64_t start, int64_t n, int64_t* offsets) const {
  const int inner = sizes_.size() - 1;
  const int64_t step = inner < 0 ? 0 : strides[inner];
  for_runs(sizes_, strides, strides, start, n, [&](int64_t first, int64_t, int64_t run) {
    for (int64_t j = 0; j < run; ++j) offsets[j] = first + j * step;
    offsets += run;
  });
}

void IndexReader::others(int64_t start, int64_t n, int64_t* offsets) const { ramp(other_, start, n, offsets); }

void IndexReader::positions(int64_t start, int64_t n, int64_t* offsets) const {
  ramp(base_, start, n, offsets);
  for (int i = 0; i < plan_.count; ++i) {
    const Pick& pick = picks_[static_cast<size_t>(i)];
    if (pick.is_int64) add_pick<int64_t>(pick, start, n, offsets);
    else add_pick<int32_t>(pick, start, n, offsets);
  }
}

template <class T>
void IndexReader::add_pick(const Pick& pick, int64_t start, int64_t n, int64_t* offsets) const {
  const int inner = sizes_.size() - 1;
  const int64_t step = inner < 0 ? 0 : pick.strides[inner], wrap = plan_.wraps ? pick.size : 0;
  int64_t position = start;
  for_runs(sizes_, pick.strides, pick.strides, start, n, [&](int64_t first, int64_t, int64_t run) {
    const T* index = static_cast<const T*>(pick.data) + first;
    bool wrong = false;
    for (int64_t j = 0; j < run; ++j) {
      int64_t i = index[j * step];
      i += i < 0 ? wrap : 0;
      const bool outside = static_cast<uint64_t>(i) >= static_cast<uint64_t>(pick.size);
      wrong |= outside;
      offsets[j] += (outside ? 0 : i) * pick.stride;
    }
    if (wrong)
      for (int64_t j = 0; j < run; ++j) {
        const int64_t i = index[j * step];
        if (i < -wrap || i >= pick.size) fail(pick, position + j, i);
      }
    offsets += run;
    position += run;
  });
}

void IndexReader::fail(const Pick& pick, int64_t position, int64_t value) const {
  // `position` counts in the merged dimensions, which are in the same order as the plan's.
  Dims at = plan_.sizes;
  for (int d = at.size() - 1; d >= 0; --d) {
    at[d] = position % plan_.sizes[d];
    position /= plan_.sizes[d];
  }
  const size_t which = static_cast<size_t>(&pick - picks_.data());
  throw IndexError(fmt::format("{}: index {} is out of bounds for dimension {} with size {} (at position {} of the index)",
                               plan_.op, value, plan_.picks[which].dim, pick.size, at));
}

}  // namespace tantu::cpu
