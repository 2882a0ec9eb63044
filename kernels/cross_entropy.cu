// loss_p = Σ_c q_c (log Σ_k e^{x_k} - x_c) and its gradient, without the probabilities in between.
//
// A row of up to 1024 classes has a warp, a longer one a block; where neighbouring positions lie together (images),
// each has one thread. Forward reads a row for its largest score and again, from cache, for the sum of exponentials:
// bytes moved, x once. The rows' losses go to scratch and are added in blocks of 8192, until one is left: one order,
// whatever the schedule. Backward: x read and dx written once. Both bound by memory bandwidth; an expf for each
// element.
#include <tantu/kernels/cross_entropy.h>
#include <tantu/kernels/index_report.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/row_group.cuh>
#include <tantu/kernels/strided.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>
#include <utility>

namespace tantu {

namespace {

constexpr int64_t kSumRows = 8192;  // that a block adds

__device__ __forceinline__ float exp_of(float x) {
  return expf(x);
}
__device__ __forceinline__ double exp_of(double x) {
  return exp(x);
}
__device__ __forceinline__ float log_of(float x) {
  return logf(x);
}
__device__ __forceinline__ double log_of(double x) {
  return log(x);
}

struct Larger {  // a NaN shows in the sum of exponentials
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// What forward and backward share. Operands of `rows`: x's, the targets, dx's (backward).
struct Problem {
  Picture<3> rows;
  int64_t count, classes, x_step, dx_step;  // steps from class to class
  const char* weight;                       // or null
  DType dtype;                              // of x, weight, loss, dx
  bool softmax, smooth;
  int64_t ignore_index;
  double hit, spread;  // shares of the target, and per unit of weight of every class
  gpu::IndexReport report;
};

template <class A>
__device__ __forceinline__ A weight_of(const Problem& p, int64_t c) {
  return p.weight ? load_as<A>(p.weight, p.dtype, c) : A(1);
}

// The class wanted of a row, -1 where the row does not count.
template <bool Report>
__device__ __forceinline__ int64_t target_of(const Problem& p, int64_t row) {
  const Strided& targets = p.rows.operands[1];
  const int64_t t = load_as<int64_t>(targets.data, targets.dtype, offset_of(p.rows, 1, row));
  if (t == p.ignore_index) return -1;
  if (t >= 0 && t < p.classes) return t;
  if (Report) report_bad_index(p.report, t, row);
  return -1;
}

// stats (row) = the largest score and the sum of exponentials around it; terms (row) = its loss and weight.
template <class A, class Group>
__global__ void __launch_bounds__(kRowThreads, 2) class_loss_kernel(Problem p, A* stats, A* terms, char* loss) {
  __shared__ A shared[kRowThreads / 32];
  for (int64_t row = Group::first_row(); row < p.count; row += Group::row_step()) {
    const char* x = p.rows.operands[0].data;
    const int64_t start = offset_of(p.rows, 0, row), t = target_of<true>(p, row);
    A largest = 0, sum = 1, log_sum = 0, value = 0;
    if (p.softmax && t >= 0) {
      largest = load_as<A>(x, p.dtype, start);
      for (int64_t c = Group::lane(); c < p.classes; c += Group::kThreads)
        largest = Larger()(largest, load_as<A>(x, p.dtype, start + c * p.x_step));
      largest = Group::reduce(largest, shared, Larger());
      sum = 0;
      for (int64_t c = Group::lane(); c < p.classes; c += Group::kThreads)
        sum += exp_of(load_as<A>(x, p.dtype, start + c * p.x_step) - largest);
      sum = Group::sum(sum, shared);
      log_sum = log_of(sum);
    }
    if (t >= 0)
      value = static_cast<A>(p.hit) * weight_of<A>(p, t) *
              (log_sum + (largest - load_as<A>(x, p.dtype, start + t * p.x_step)));
    if (p.smooth && t >= 0) {
      A above = 0, weights = 0;
      for (int64_t c = Group::lane(); c < p.classes; c += Group::kThreads) {
        const A w = weight_of<A>(p, c);
        above += w * (largest - load_as<A>(x, p.dtype, start + c * p.x_step));
        weights += w;
      }
      above = Group::sum(above, shared);
      weights = Group::sum(weights, shared);
      value += static_cast<A>(p.spread) * (weights * log_sum + above);
    }
    if (Group::lane() != 0) continue;
    stats[2 * row] = largest;
    stats[2 * row + 1] = sum;
    terms[2 * row] = value;
    terms[2 * row + 1] = t < 0 ? A(0) : weight_of<A>(p, t);
    if (loss) store_as<A>(loss, p.dtype, row, value);
  }
}

// sums (block) = the sum of 8192 pairs of terms.
template <class A>
__global__ void __launch_bounds__(kRowThreads, 2) sum_terms_kernel(const A* terms, int64_t n, A* sums) {
  __shared__ A shared[kRowThreads / 32];
  const int64_t start = blockIdx.x * kSumRows, end = start + kSumRows < n ? start + kSumRows : n;
  A loss = 0, weight = 0;
  for (int64_t i = start + threadIdx.x; i < end; i += kRowThreads) {
    loss += terms[2 * i];
    weight += terms[2 * i + 1];
  }
  using Group = RowGroup<kRowThreads>;
  loss = Group::sum(loss, shared);
  weight = Group::sum(weight, shared);
  if (threadIdx.x != 0) return;
  sums[2 * blockIdx.x] = loss;
  sums[2 * blockIdx.x + 1] = weight;
}

// The last sum: the loss, and the weight that backward divides by.
template <class A>
__global__ void __launch_bounds__(32) finish_kernel(const A* sums, A* weight, char* loss, DType dtype, bool mean) {
  if (threadIdx.x != 0) return;
  *weight = sums[1];
  if (loss) store_as<A>(loss, dtype, 0, mean ? sums[0] / sums[1] : sums[0]);
}

template <class A, class Group>
__global__ void __launch_bounds__(kRowThreads, 2)
    class_loss_gradient_kernel(Problem p, const A* stats, const char* g, bool each, bool mean) {
  __shared__ A shared[kRowThreads / 32];
  A weights = 0;
  if (p.softmax && p.smooth) {
    for (int64_t c = Group::lane(); c < p.classes; c += Group::kThreads) weights += weight_of<A>(p, c);
    weights = Group::sum(weights, shared);
  }
  const char* x = p.rows.operands[0].data;
  char* dx = p.rows.operands[2].data;
  for (int64_t row = Group::first_row(); row < p.count; row += Group::row_step()) {
    const int64_t start = offset_of(p.rows, 0, row), to = offset_of(p.rows, 2, row), t = target_of<false>(p, row);
    A scale = load_as<A>(g, p.dtype, each ? row : 0);
    if (mean) scale /= stats[2 * p.count];
    const A spread = static_cast<A>(p.spread) * scale;
    const A hit = t < 0 ? A(0) : static_cast<A>(p.hit) * weight_of<A>(p, t) * scale;
    const A largest = stats[2 * row], mass = (hit + spread * weights) / stats[2 * row + 1];
    for (int64_t c = Group::lane(); c < p.classes; c += Group::kThreads) {
      A d = 0;
      if (t >= 0) {
        if (p.softmax) d = mass * exp_of(load_as<A>(x, p.dtype, start + c * p.x_step) - largest);
        if (p.smooth) d -= spread * weight_of<A>(p, c);
        if (c == t) d -= hit;
      }
      store_as<A>(dx, p.dtype, to + c * p.dx_step, d);
    }
  }
}

// A view without its last dimension.
ConstView rows_of(const ConstView& x) {
  ConstView rows = x;
  rows.sizes.pop_back();
  rows.strides.pop_back();
  return rows;
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
  return p;
}

int group_of(const Problem& p) {
  return group_for(p.classes, p.x_step != 1 && p.classes > 1);
}

template <class A>
void forward(GpuContext& ctx, const Problem& p, const View& loss, const View& stats, const ClassLoss& rule) {
  char* out = static_cast<char*>(loss.data);
  const bool each = rule.reduction == Reduction::None;
  const int64_t sums = (p.count + kSumRows - 1) / kSumRows;
  const Workspace scratch(ctx, rule.op, 2 * (p.count + 2 * sums + 2) * static_cast<int64_t>(sizeof(A)));
  A *from = scratch.data<A>(), *to = from + 2 * p.count;
  if (p.count > 0)
    visit_group(group_of(p), [&](auto group) {
      using Group = decltype(group);
      launch(ctx, "class_loss_kernel", class_loss_kernel<A, Group>, Group::blocks(p.count), kRowThreads, 0, p,
             stats.as<A>(), from, each ? out : nullptr);
    });
  for (int64_t n = p.count, more = sums; n != 1; n = more, more = (n + kSumRows - 1) / kSumRows) {
    more = std::max<int64_t>(1, more);  // no rows have the sum 0
    launch(ctx, "sum_terms_kernel", sum_terms_kernel<A>, more, kRowThreads, 0, from, n, to);
    from = std::exchange(to, to + 2 * more);
  }
  launch(ctx, "finish_kernel", finish_kernel<A>, 1, 32, 0, from, stats.as<A>() + 2 * p.count, each ? nullptr : out,
         p.dtype, rule.reduction == Reduction::Mean);
}

template <class A>
void backward(GpuContext& ctx, const Problem& p, const ConstView& g, const ConstView& stats, const ClassLoss& rule) {
  visit_group(group_of(p), [&](auto group) {
    using Group = decltype(group);
    launch(ctx, "class_loss_gradient_kernel", class_loss_gradient_kernel<A, Group>, Group::blocks(p.count), kRowThreads,
           0, p, stats.as<A>(), static_cast<const char*>(g.data), rule.reduction == Reduction::None,
           rule.reduction == Reduction::Mean);
  });
}

}  // namespace

void class_loss_forward(GpuContext& ctx, ConstView x, ConstView target, ConstView weight, View loss, View stats,
                        const ClassLoss& rule) {
  const Problem p = problem(ctx, x, target, weight, nullptr, rule);
  if (x.dtype == kFloat64) forward<double>(ctx, p, loss, stats, rule);
  else forward<float>(ctx, p, loss, stats, rule);
}

void class_loss_backward(GpuContext& ctx, ConstView g, ConstView x, ConstView target, ConstView weight, ConstView stats,
                         View dx, const ClassLoss& rule) {
  const ConstView to = dx;
  const Problem p = problem(ctx, x, target, weight, &to, rule);
  if (p.count * p.classes == 0) return;
  if (x.dtype == kFloat64) backward<double>(ctx, p, g, stats, rule);
  else backward<float>(ctx, p, g, stats, rule);
}

}  // namespace tantu
