// y[p] = weight[index[p]]; dweight[v] = the sum of the g[p] with index[p] = v.
//
// Forward is index_take of whole rows; backward is index_put's sorted sum (index.cu has the mapping), which leaves out
// the padding row and may divide by the number of terms. Bytes moved forward: twice the rows named; backward: g once,
// the rows named once, and the sort.
#include <tantu/kernels/embedding.h>
#include <tantu/kernels/fill.h>
#include <tantu/kernels/index_plan.cuh>

namespace tantu {

namespace {

// Rows of a (V, D) table, one for each position.
IndexPlan row_plan(const ConstView& index, int64_t rows, int64_t width) {
  IndexPlan plan{
      .op = "embedding", .text = kEmbeddingOutOfRange, .sizes = index.sizes, .base = Dims::filled(index.rank(), 0)};
  plan.add(index, rows, width, 0);
  return plan;
}

template <class V>
V row_of(V table) {
  table.sizes.erase(0);
  table.strides.erase(0);
  return table;
}

}  // namespace

void embedding_forward(GpuContext& ctx, ConstView index, ConstView weight, View y) {
  index_take(ctx, row_plan(index, weight.sizes[0], weight.sizes[1]), row_of(weight), y);
}

void embedding_backward(GpuContext& ctx, ConstView g, ConstView index, int64_t padding, bool by_frequency,
                        View dweight) {
  const int64_t width = dweight.sizes[1];
  fill(ctx, dweight, 0.0);
  index_accumulate(ctx, row_plan(index, dweight.sizes[0], width), g, row_of(dweight),
                   {padding < 0 ? -1 : padding * width, by_frequency});
}

}  // namespace tantu
