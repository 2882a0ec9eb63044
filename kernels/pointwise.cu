// The launch of pointwise rows; the kernels are in pointwise_gpu.cuh, instantiated in generated shards of 8 rows.
#include <tantu/kernels/pointwise_gpu.cuh>

#include <utility>

namespace tantu::pointwise {

namespace {

constexpr int kRowsPerShard = 8;
constexpr int kShards = (kRows + kRowsPerShard - 1) / kRowsPerShard;

struct Table {
  GpuRow rows[kRows];
};

template <int... Shard>
Table make_table(std::integer_sequence<int, Shard...>) {
  Table table;
  (fill_gpu_shard<Shard>(static_cast<GpuContext*>(nullptr), table.rows), ...);
  return table;
}

const GpuRow& gpu_row_of(Row row) {
  static const Table table = make_table(std::make_integer_sequence<int, kShards>{});
  return table.rows[static_cast<int>(row)];
}

int compute_index(DType compute) {
  return compute == kFloat64 ? 1 : is_floating(compute) ? 0 : 2;
}

}  // namespace

void pointwise_forward(GpuContext& ctx, Row row, const ConstView* inputs, View y, DType compute, const Params& params) {
  const int64_t n = y.numel();
  if (n == 0) return;
  ConstView views[4] = {y};
  for (int i = 0; i < gpu_row_of(row).arity; ++i) views[i + 1] = inputs[i];
  gpu_row_of(row).forward[compute_index(compute)](ctx, views, n, params);
}

void pointwise_backward(GpuContext& ctx, Row row, int which, const ConstView* operands, View d, DType compute,
                        const Params& params) {
  const int64_t n = d.numel();
  if (n == 0) return;
  ConstView views[6] = {d};
  for (int i = 0; i < 5; ++i) views[i + 1] = operands[i];
  gpu_row_of(row).backward[which][compute == kFloat64 ? 1 : 0](ctx, views, n, params);
}

}  // namespace tantu::pointwise
