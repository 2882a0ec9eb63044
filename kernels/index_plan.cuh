#pragma once

#include <tantu/kernels/index.h>
#include <tantu/kernels/index_report.cuh>
#include <tantu/kernels/walk.cuh>

#include <numeric>

// An IndexPlan as kernels take it, and the dimensions of the blocks it leads to.
namespace tantu {

/// What embedding asks of `index_accumulate`: positions that lead to offset `skip` do not count; each sum is divided by
/// the number of its terms.
struct AddRule {
  int64_t skip = -1;
  bool by_frequency = false;
};

namespace {

/// A walk through `rank` merged dimensions with two strides: in the indexed tensor and in the other operand.
struct BlockDims {
  int rank = 0;
  int64_t count = 1;
  int64_t sizes[kMaxDims] = {}, tensor[kMaxDims] = {}, other[kMaxDims] = {};

  /// Adds a dimension inside of those before.
  void push(int64_t size, int64_t tensor_stride, int64_t other_stride) {
    count *= size;
    if (size == 1) return;
    const bool merge = rank > 0 && tensor[rank - 1] == tensor_stride * size && other[rank - 1] == other_stride * size;
    if (!merge) sizes[rank++] = 1;
    sizes[rank - 1] *= size;
    tensor[rank - 1] = tensor_stride;
    other[rank - 1] = other_stride;
  }
  bool packed() const { return rank == 0 || (rank == 1 && tensor[0] == 1 && other[0] == 1); }
};

/// The index dimensions, merged where all index tensors allow, and the index tensors.
struct DevicePlan {
  struct Pick {
    const char* data;
    bool is_int64;
    int dim;
    int64_t size, stride;
    int64_t strides[kMaxDims] = {};
  };
  int rank = 0, count = 0;
  bool wraps = false;
  int64_t positions = 1;
  int64_t sizes[kMaxDims] = {}, base[kMaxDims] = {}, other[kMaxDims] = {};
  Pick picks[kMaxDims] = {};
  gpu::IndexReport report;
};
static_assert(sizeof(DevicePlan) + 2 * sizeof(BlockDims) < 4000, "kernel parameters are at most 4 KiB");

/// `other`: the view of the other operand, whose index dimensions stand after `plan.before` of the block's.
inline DevicePlan device_plan(const GpuContext& ctx, const IndexPlan& plan, const ConstView& other) {
  DevicePlan p;
  p.count = plan.count;
  p.wraps = plan.wraps;
  p.report = gpu::index_report(ctx, plan.text, plan.op, plan.sizes, 0);
  for (int i = 0; i < plan.count; ++i) {
    const IndexPlan::Pick& from = plan.picks[static_cast<size_t>(i)];
    p.picks[i] = {
        static_cast<const char*>(from.index.data), from.index.dtype == kInt64, from.dim, from.size, from.stride, {}};
  }
  for (int d = 0; d < plan.sizes.size(); ++d) {
    const int64_t size = plan.sizes[d], outer_stride = other.strides[plan.before + d];
    p.positions *= size;
    if (size == 1) continue;
    const auto stride_of = [&](int i) { return plan.picks[static_cast<size_t>(i)].index.strides[d]; };
    bool merge = p.rank > 0 && p.base[p.rank - 1] == plan.base[d] * size && p.other[p.rank - 1] == outer_stride * size;
    for (int i = 0; merge && i < plan.count; ++i) merge = p.picks[i].strides[p.rank - 1] == stride_of(i) * size;
    if (!merge) p.sizes[p.rank++] = 1;
    p.sizes[p.rank - 1] *= size;
    p.base[p.rank - 1] = plan.base[d];
    p.other[p.rank - 1] = outer_stride;
    for (int i = 0; i < plan.count; ++i) p.picks[i].strides[p.rank - 1] = stride_of(i);
  }
  return p;
}

/// The block's dimensions from `first` to `last` of `tensor`; in `other` they stand `shift` later.
inline void push_dims(BlockDims& dims, const ConstView& tensor, const ConstView& other, int first, int last,
                      int shift) {
  for (int d = first; d < last; ++d) dims.push(tensor.sizes[d], tensor.strides[d], other.strides[d + shift]);
}

/// Where position n leads to in the indexed tensor; -1, and a note for the next synchronising call, for a bad index.
__device__ __forceinline__ int64_t place_of(const DevicePlan& p, int64_t n) {
  int64_t offset = walk(p.rank, p.sizes, p.base, n);
  for (int i = 0; i < p.count; ++i) {
    const DevicePlan::Pick& pick = p.picks[i];
    const int64_t at = walk(p.rank, p.sizes, pick.strides, n);
    const int64_t given = pick.is_int64 ? reinterpret_cast<const int64_t*>(pick.data)[at]
                                        : reinterpret_cast<const int32_t*>(pick.data)[at];
    const int64_t index = p.wraps && given < 0 ? given + pick.size : given;
    if (index < 0 || index >= pick.size) {
      report_bad_index(p.report, given, n, pick.size, pick.dim);
      return -1;
    }
    offset += index * pick.stride;
  }
  return offset;
}

/// The greatest step that all offsets in the indexed tensor are multiples of, at least 1.
inline int64_t common_stride(const DevicePlan& p) {
  int64_t step = 0;
  for (int d = 0; d < p.rank; ++d) step = std::gcd(step, p.base[d]);
  for (int i = 0; i < p.count; ++i) step = std::gcd(step, p.picks[i].stride);
  return step == 0 ? 1 : step;
}

/// The largest offset in the indexed tensor that a right index leads to.
inline int64_t last_offset(const DevicePlan& p) {
  int64_t last = 0;
  for (int d = 0; d < p.rank; ++d) last += (p.sizes[d] - 1) * p.base[d];
  for (int i = 0; i < p.count; ++i)
    if (p.picks[i].size > 0) last += (p.picks[i].size - 1) * p.picks[i].stride;
  return last;
}

}  // namespace

/// `index_put` with accumulate; y may be of a half type: its sums are in float32 and round once.
void index_accumulate(GpuContext& ctx, const IndexPlan& plan, const ConstView& values, const View& y, AddRule rule);

}  // namespace tantu
