#pragma once

#include <tantu/kernels/packed.cuh>
#include <tantu/kernels/strided.cuh>

namespace tantu {
namespace {

/// The lines of N views of one shape: `places` counts them, `step` is the way from one element of a line to the next.
template <int N>
struct AxisLines {
  Picture<N> places;
  int64_t count = 1, n;
  int64_t step[N];
  bool rows = true;    // of one dtype, without gaps
  bool vector = true;  // and all of them start at multiples of 16 bytes

  AxisLines(const ConstView (&views)[N], int axis) : n(views[0].rank() == 0 ? 1 : views[0].sizes[axis]) {
    ConstView kept[N];
    for (int i = 0; i < N; ++i) {
      kept[i] = views[i];
      step[i] = 1;
      if (views[i].rank() > 0) {
        step[i] = views[i].strides[axis];
        kept[i].sizes.erase(axis);
        kept[i].strides.erase(axis);
      }
      rows &= (step[i] == 1 || n == 1) && views[i].dtype == views[0].dtype;
      vector &= rows_aligned(kept[i].data, kept[i].dtype, kept[i].sizes, kept[i].strides);
    }
    count = kept[0].numel();
    places = make_picture<N>(kept, N);
  }
};

}  // namespace
}  // namespace tantu
