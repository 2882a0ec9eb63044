#pragma once

#include <tantu/kernels/cross_entropy.h>
#include <tantu/kernels/index_report.cuh>
#include <tantu/kernels/row_group.cuh>
#include <tantu/kernels/typed.cuh>
#include <tantu/kernels/typed_reader.cuh>
#include <tantu/kernels/walk.cuh>

// What the forward and the backward kernels of cross_entropy share.
namespace tantu {
namespace {

// What forward and backward share. Operands of `rows`: x's, the targets, dx's (backward).
struct Problem {
  Picture<3> rows;
  int64_t count, classes, x_step, dx_step;  // steps from class to class
  const char* weight;                       // or null
  DType dtype;                              // of x, weight, loss, dx
  bool packs;                               // rows of x and dx can be moved in packs
  bool softmax, smooth;
  int64_t ignore_index;
  double hit, spread;  // shares of the target, and per unit of weight of every class
  gpu::IndexReport report;
};

template <DType D>
__device__ __forceinline__ Compute<D> weight_of(const Problem& p, int64_t c) {
  return p.weight ? load_as<Compute<D>>(p.weight, D, c) : Compute<D>(1);
}

template <DType D>
__device__ __forceinline__ Compute<D> score_of(const Problem& p, int64_t start, int64_t c) {
  return load_as<Compute<D>>(p.rows.operands[0].data, D, start + c * p.x_step);
}

// f(c, scores) for this thread's share of a row: V scores of the classes from c on.
template <class Group, DType D, class F>
__device__ __forceinline__ void each_score(const Problem& p, int64_t start, F f) {
  each<Group, D>(p.classes, p.packs, [&](int64_t c, auto count) {
    constexpr int V = decltype(count)::value;
    Compute<D> scores[V];
    if constexpr (V == 1) scores[0] = score_of<D>(p, start, c);
    else load_some(Reader<D>{p.rows.operands[0].data}, start + c, scores);
    f(c, scores);
  });
}

// The class wanted of a row, -1 where the row does not count.
template <bool Report>
__device__ __forceinline__ int64_t target_of(const Problem& p, int64_t row) {
  const Strided& targets = p.rows.operands[1];
  const int64_t t = load_as<int64_t>(targets.data, targets.dtype, place_in(p.rows, 1, row));
  if (t == p.ignore_index) return -1;
  if (t >= 0 && t < p.classes) return t;
  if (Report) report_bad_index(p.report, t, row);
  return -1;
}

// A view without its last dimension.
ConstView rows_of(const ConstView& x) {
  ConstView rows = x;
  rows.sizes.pop_back();
  rows.strides.pop_back();
  return rows;
}

bool can_pack(const Problem& p, const ConstView& x, const ConstView* dx) {
  if (p.x_step != 1 || (dx && p.dx_step != 1)) return false;
  bool fit = true;
  visit_typed(p.dtype, [&]<DType D>() {
    fit = fits_packs<D>(x.data, p.classes) && fits_packs<D>(dx ? dx->data : nullptr, p.classes);
    for (int d = 0; d < p.rows.rank; ++d) {
      fit &= p.rows.operands[0].strides[d] % kPerVector<Stored<D>> == 0;
      if (dx) fit &= p.rows.operands[2].strides[d] % kPerVector<Stored<D>> == 0;
    }
  });
  return fit;
}

Problem problem(const GpuContext& ctx, const ConstView& x, const ConstView& target, const ConstView& weight,
                const ConstView* dx, const ClassLoss& rule) {
  Problem p;
  const ConstView views[] = {rows_of(x), target, dx ? rows_of(*dx) : ConstView()};
  p.rows = make_picture<3>(views, 3);
  p.count = target.numel();
  p.classes = x.sizes.back();
  p.x_step = x.strides.back();
  p.dx_step = dx ? dx->strides.back() : 0;
  p.weight = static_cast<const char*>(weight.data);
  p.dtype = x.dtype;
  p.softmax = rule.softmax;
  p.smooth = rule.smoothing > 0;
  p.ignore_index = rule.ignore_index;
  p.hit = 1 - rule.smoothing;
  p.spread = rule.smoothing / static_cast<double>(p.classes);
  p.report = gpu::index_report(ctx, kTargetOutOfBounds, rule.op, target.sizes, p.classes);
  p.packs = can_pack(p, x, dx);
  return p;
}

int group_of(const Problem& p) {
  return group_for(p.classes, p.x_step != 1 && p.classes > 1);
}

}  // namespace
}  // namespace tantu
