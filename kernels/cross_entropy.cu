// loss_p = Σ_c q_c (log Σ_k e^{x_k} - x_c) and its gradient, without the probabilities in between.
//
// A row of up to 1024 classes has a warp, a longer one a block; where neighbouring positions lie together (images),
// each has one thread. Forward reads a row for its largest score and again, from cache, for the sum of exponentials:
// bytes moved, x once. The rows' losses go to scratch and are added in blocks of 8192, until one is left: one order,
// whatever the schedule. Packs of 16 bytes are read where rows allow. Bound by memory bandwidth; an expf an element.
#include <tantu/kernels/cross_entropy.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/workspace.cuh>

#include <algorithm>
#include <utility>

namespace tantu {

namespace {

constexpr int64_t kSumRows = 8192;  // that a block adds

struct Larger {  // a NaN shows in the sum of exponentials
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// stats (row) = the largest score and the sum of exponentials around it; terms (row) = its loss and weight.
template <DType D, class Group, class A = Compute<D>>
__global__ void __launch_bounds__(kRowThreads, 2) class_loss_kernel(Problem p, A* stats, A* terms, char* loss) {
  __shared__ A shared[kRowThreads / 32];
  for (int64_t row = Group::first_row(); row < p.count; row += Group::row_step()) {
    const int64_t start = place_in(p.rows, 0, row), t = target_of<true>(p, row);
    A largest = 0, sum = 1, log_sum = 0, value = 0;
    if (p.softmax && t >= 0) {
      largest = score_of<D>(p, start, 0);
      each_score<Group, D>(p, start, [&](int64_t, const auto& scores) {
        for (A score : scores) largest = Larger()(largest, score);
      });
      largest = Group::reduce(largest, shared, Larger());
      sum = 0;
      each_score<Group, D>(p, start, [&](int64_t, const auto& scores) {
        for (A score : scores) sum += exp_of(score - largest);
      });
      sum = Group::sum(sum, shared);
      log_sum = log_of(sum);
    }
    if (t >= 0) value = static_cast<A>(p.hit) * weight_of<D>(p, t) * (log_sum + (largest - score_of<D>(p, start, t)));
    if (p.smooth && t >= 0) {
      A above = 0, weights = 0;
      each_score<Group, D>(p, start, [&](int64_t c, const auto& scores) {
        for (A score : scores) {
          const A w = weight_of<D>(p, c++);
          above += w * (largest - score);
          weights += w;
        }
      });
      above = Group::sum(above, shared);
      weights = Group::sum(weights, shared);
      value += static_cast<A>(p.spread) * (weights * log_sum + above);
    }
    if (Group::lane() != 0) continue;
    stats[2 * row] = largest;
    stats[2 * row + 1] = sum;
    terms[2 * row] = value;
    terms[2 * row + 1] = t < 0 ? A(0) : weight_of<D>(p, t);
    if (loss) store_as<A>(loss, D, row, value);
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

template <DType D>
void forward(GpuContext& ctx, const Problem& p, const View& loss, const View& stats, const ClassLoss& rule) {
  using A = Compute<D>;
  char* out = static_cast<char*>(loss.data);
  const bool each = rule.reduction == Reduction::None;
  const int64_t sums = (p.count + kSumRows - 1) / kSumRows;
  const Workspace scratch(ctx, rule.op, 2 * (p.count + 2 * sums + 2) * static_cast<int64_t>(sizeof(A)));
  A *from = scratch.data<A>(), *to = from + 2 * p.count;
  if (p.count > 0)
    visit_group(group_of(p), [&](auto group) {
      using Group = decltype(group);
      launch(ctx, "class_loss_kernel", class_loss_kernel<D, Group>, Group::blocks(p.count), kRowThreads, 0, p,
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

}  // namespace

void class_loss_forward(GpuContext& ctx, ConstView x, ConstView target, ConstView weight, View loss, View stats,
                        const ClassLoss& rule) {
  const Problem p = problem(ctx, x, target, weight, nullptr, rule);
  visit_typed(x.dtype, [&]<DType D>() { forward<D>(ctx, p, loss, stats, rule); });
}

}  // namespace tantu
