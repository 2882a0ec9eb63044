#include <tantu/kernels/cpu/reduce_plan.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace tantu::cpu {

namespace {

// A dimension that stands still costs nothing wherever it is: it goes outside.
int64_t reach(int64_t stride) {
  return stride == 0 ? std::numeric_limits<int64_t>::max() : std::abs(stride);
}

void tidy(Loops& loops, bool sort) {
  const auto begin = loops.loop.begin();
  if (sort)
    std::stable_sort(begin, begin + loops.count, [](const Loop& a, const Loop& b) { return reach(a.x) > reach(b.x); });
  int last = 0;
  for (int d = 1; d < loops.count; ++d) {
    Loop &outer = begin[last], inner = begin[d];
    if (outer.x == inner.x * inner.size && outer.y == inner.y * inner.size)
      outer = {outer.size * inner.size, inner.x, inner.y};
    else begin[++last] = inner;
  }
  loops.count = std::min(loops.count, last + 1);
  if (loops.count == 0) loops.loop[static_cast<size_t>(loops.count++)] = {};
}

void add(Loops& loops, const Loop& l) {
  loops.numel *= l.size;
  if (l.size != 1) loops.loop[static_cast<size_t>(loops.count++)] = l;
}

}  // namespace

ReducePlan::ReducePlan(const ConstView& x, const View& y, int reduced_dims, bool in_order) {
  const int kept_dims = x.rank() - reduced_dims;
  for (int d = 0; d < kept_dims; ++d) add(kept, {x.sizes[d], x.strides[d], y.strides[d]});
  for (int d = kept_dims; d < x.rank(); ++d) add(reduced, {x.sizes[d], x.strides[d], 0});
  tidy(kept, true);
  tidy(reduced, !in_order);
  const Loop &k = kept.inner(), &r = reduced.inner();
  const bool along_results = k.size > 1 && reach(k.x) < reach(r.size > 1 ? r.x : 0);
  columns = along_results || (reduced.numel < 16 && k.size >= 16 && k.x != 0);
}

}  // namespace tantu::cpu
