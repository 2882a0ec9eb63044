// dx_c = scale (softmax(x)_c Σ q - q_c): the gradient of cross_entropy.cu's loss, in the same mapping.
//
// x is read and dx written once, in packs of 16 bytes where rows allow; bound by memory bandwidth, an expf for each
// element.
#include <tantu/kernels/cross_entropy.cuh>
#include <tantu/kernels/launch.cuh>

namespace tantu {

namespace {

template <DType D, class Group, class A = Compute<D>>
__global__ void __launch_bounds__(kRowThreads, 2)
    class_loss_gradient_kernel(Problem p, const A* stats, const char* g, bool each, bool mean) {
  __shared__ A shared[kRowThreads / 32];
  A weights = 0;
  if (p.softmax && p.smooth) {
    for (int64_t c = Group::lane(); c < p.classes; c += Group::kThreads) weights += weight_of<D>(p, c);
    weights = Group::sum(weights, shared);
  }
  for (int64_t row = Group::first_row(); row < p.count; row += Group::row_step()) {
    const int64_t start = place_in(p.rows, 0, row), to = place_in(p.rows, 2, row), t = target_of<false>(p, row);
    A scale = load_as<A>(g, D, each ? row : 0);
    if (mean) scale /= stats[2 * p.count];
    const A spread = static_cast<A>(p.spread) * scale;
    const A hit = t < 0 ? A(0) : static_cast<A>(p.hit) * weight_of<D>(p, t) * scale;
    const A largest = stats[2 * row], mass = (hit + spread * weights) / stats[2 * row + 1];
    each_score<Group, D>(p, start, [&](int64_t c, const auto& scores) {
      constexpr int V = sizeof(scores) / sizeof(A);
      A d[V] = {};
#pragma unroll
      for (int e = 0; e < V; ++e) {
        if (t < 0) continue;
        if (p.softmax) d[e] = mass * exp_of(scores[e] - largest);
        if (p.smooth) d[e] -= spread * weight_of<D>(p, c + e);
        if (c + e == t) d[e] -= hit;
      }
      store_some<V, D>(p.rows.operands[2].data, V == 1 ? to + c * p.dx_step : to + c, d);
    });
  }
}

template <DType D>
void backward(GpuContext& ctx, const Problem& p, const ConstView& g, const ConstView& stats, const ClassLoss& rule) {
  visit_group(group_of(p), [&](auto group) {
    using Group = decltype(group);
    launch(ctx, "class_loss_gradient_kernel", class_loss_gradient_kernel<D, Group>, Group::blocks(p.count), kRowThreads,
           0, p, stats.as<Compute<D>>(), static_cast<const char*>(g.data), rule.reduction == Reduction::None,
           rule.reduction == Reduction::Mean);
  });
}

}  // namespace

void class_loss_backward(GpuContext& ctx, ConstView g, ConstView x, ConstView target, ConstView weight, ConstView stats,
                         View dx, const ClassLoss& rule) {
  const ConstView to = dx;
  const Problem p = problem(ctx, x, target, weight, &to, rule);
  if (p.count * p.classes == 0) return;
  visit_typed(x.dtype, [&]<DType D>() { backward<D>(ctx, p, g, stats, rule); });
}

}  // namespace tantu
