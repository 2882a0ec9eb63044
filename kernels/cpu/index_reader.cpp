#include <tantu/kernels/cpu/index_reader.h>

#include <tantu/kernels/cpu/strided_copy.h>

namespace tantu::cpu {

IndexReader::IndexReader(const IndexPlan& plan, const Strides& other)
    : plan_(plan), sizes_(plan.sizes), base_(plan.base), other_(other), count_(numel(plan.sizes)) {
  Strides* strides[kMaxDims + 2] = {&base_, &other_};
  for (int i = 0; i < plan.count; ++i) {
    const IndexPlan::Pick& from = plan.picks[static_cast<size_t>(i)];
    picks_[static_cast<size_t>(i)] = {from.index.data, from.index.dtype == kInt64, from.index.strides, from.size,
                                      from.stride};
    strides[2 + i] = &picks_[static_cast<size_t>(i)].strides;
    extent_ += std::max<int64_t>(0, from.size - 1) * from.stride;
  }
  for (int d = 0; d < plan.sizes.size(); ++d) {
    extent_ += std::max<int64_t>(0, plan.sizes[d] - 1) * plan.base[d];
    has_base_ |= plan.base[d] != 0;
  }
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

void IndexReader::others(int64_t start, int64_t n, int64_t* offsets) const {
  ramp(other_, start, n, offsets);
}

// f(index pointer, step, n, first position) for each run of one index tensor.
template <class F>
void IndexReader::for_pick_runs(const Pick& pick, int64_t start, int64_t n, F f) const {
  const int inner = sizes_.size() - 1;
  const int64_t step = inner < 0 ? 0 : pick.strides[inner];
  int64_t position = start;
  for_runs(sizes_, pick.strides, pick.strides, start, n, [&](int64_t first, int64_t, int64_t run) {
    if (pick.is_int64) f(static_cast<const int64_t*>(pick.data) + first, step, run, position);
    else f(static_cast<const int32_t*>(pick.data) + first, step, run, position);
    position += run;
  });
}

template <class T>
void IndexReader::check_run(const Pick& pick, const T* index, int64_t step, int64_t n, int64_t position) const {
  const int64_t low = plan_.wraps ? -pick.size : 0, high = pick.size;
  bool wrong = false;
  for (int64_t j = 0; j < n; ++j) wrong |= index[j * step] < low || index[j * step] >= high;
  for (int64_t j = 0; wrong && j < n; ++j)
    if (index[j * step] < low || index[j * step] >= high) fail(pick, position + j, index[j * step]);
}

void IndexReader::check(int64_t start, int64_t n) const {
  for (int i = 0; i < plan_.count; ++i) {
    const Pick& pick = picks_[static_cast<size_t>(i)];
    for_pick_runs(pick, start, n, [&](const auto* index, int64_t step, int64_t run, int64_t position) {
      check_run(pick, index, step, run, position);
    });
  }
}

void IndexReader::positions(int64_t start, int64_t n, int64_t* offsets) const {
  if (has_base_ || plan_.count == 0) ramp(base_, start, n, offsets);
  for (int i = 0; i < plan_.count; ++i) {
    const Pick& pick = picks_[static_cast<size_t>(i)];
    const bool adds = i > 0 || has_base_;
    const int64_t wrap = plan_.wraps ? pick.size : 0, stride = pick.stride;
    for_pick_runs(pick, start, n, [&](const auto* index, int64_t step, int64_t run, int64_t position) {
      check_run(pick, index, step, run, position);
      int64_t* to = offsets + (position - start);
      const auto at = [&](int64_t j) {
        const int64_t k = index[j * step];
        return (k + (k < 0 ? wrap : 0)) * stride;
      };
      if (adds)
        for (int64_t j = 0; j < run; ++j) to[j] += at(j);
      else
        for (int64_t j = 0; j < run; ++j) to[j] = at(j);
    });
  }
}

void IndexReader::fail(const Pick& pick, int64_t position, int64_t value) const {
  // `position` counts in the merged dimensions, which are in the same order as the plan's.
  Dims at = plan_.sizes;
  for (int d = at.size() - 1; d >= 0; --d) {
    at[d] = position % plan_.sizes[d];
    position /= plan_.sizes[d];
  }
  const size_t which = static_cast<size_t>(&pick - picks_.data());
  throw IndexError(fmt::format(fmt::runtime(plan_.text), plan_.op, value, at, pick.size, plan_.picks[which].dim));
}

}  // namespace tantu::cpu
