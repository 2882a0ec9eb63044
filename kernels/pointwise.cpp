#include <tantu/kernels/pointwise.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/pointwise_loops.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tantu::pointwise {

namespace {

constexpr bool is_g(std::string_view text) { return text == "g"; }

const RowInfo kInfo[] = {
#define TANTU_UNARY(name, PARAMS, rule, saves, forward, da, low, high, smooth) \
  {#name, 1, rule, saves, low, high, smooth, {is_g(#da), false, false}},
#define TANTU_BINARY(name, PARAMS, rule, saves, forward, da, db, low, high, smooth) \
  {#name, 2, rule, saves, low, high, smooth, {is_g(#da), is_g(#db), false}},
#define TANTU_TERNARY(name, PARAMS, rule, saves, forward, da, db, dc, low, high, smooth) \
  {#name, 3, rule, saves, low, high, smooth, {is_g(#da), is_g(#db), is_g(#dc)}},
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY
};

template <int... Shard>
LoopTable make_table(std::integer_sequence<int, Shard...>) {
  LoopTable table;
  (fill_shard<Shard>(table), ...);
  return table;
}

const RowLoops& loops(Row row) {
  static const LoopTable table = make_table(std::make_integer_sequence<int, kShards>{});
  return table[static_cast<size_t>(row)];
}

int compute_index(DType compute) { return compute == kFloat64 ? 1 : is_floating(compute) ? 0 : 2; }
DType compute_dtype(int index) { return index == 0 ? kFloat32 : index == 1 ? kFloat64 : kInt64; }

constexpr int64_t kGrain = 16384;  // elements a thread should have before a second one is worth waking

// Runs `loop` over views of one shape; views[0] is the output. An absent operand (null data) is never read.
void run(Loop loop, const ConstView* views, int count, DType compute, DType out_type, const double* params) {
  ConstView present[cpu::kMaxOperands];
  int slot[cpu::kMaxOperands], used = 0;
  for (int i = 0; i < count; ++i) {
    slot[i] = views[i].data ? used : -1;
    if (views[i].data) present[used++] = views[i];
  }
  if (used == 0) return;
  const cpu::Walk walk(present, used);
  const int64_t size = item_size(compute), out_size = item_size(out_type);

  const auto direct = [&](int i) {
    const cpu::WalkOperand& o = walk.operands[static_cast<size_t>(i)];
    return o.contiguous && o.dtype == (i == 0 ? out_type : compute);
  };
  bool all_direct = true;
  for (int i = 0; i < used; ++i) all_direct &= direct(i);

  parallel_for(0, walk.numel, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) char buffers[cpu::kMaxOperands][cpu::kChunk * 8];
    const int64_t step = all_direct ? end - begin : cpu::kChunk;
    for (int64_t start = begin; start < end; start += step) {
      const int64_t n = std::min(step, end - start);
      const void* in[cpu::kMaxOperands];
      for (int i = 1; i < count; ++i) {
        const int s = slot[i];
        if (s < 0) continue;
        if (direct(s)) {
          in[i - 1] = walk.operands[static_cast<size_t>(s)].data + start * size;
        } else {
          cpu::load(walk, s, start, n, compute, buffers[s]);
          in[i - 1] = buffers[s];
        }
      }
      for (int i = 1; i < count; ++i)
        if (slot[i] < 0) in[i - 1] = in[0];
      void* out = direct(0) ? walk.operands[0].data + start * out_size : buffers[0];
      loop(in, out, n, params);
      if (!direct(0)) cpu::store(walk, 0, start, n, out_type, buffers[0]);
    }
  });
}

}  // namespace

const RowInfo& info(Row row) { return kInfo[static_cast<int>(row)]; }

void pointwise_forward(CpuContext&, Row row, const ConstView* inputs, View y, DType compute, const Params& params) {
  const RowInfo& of = info(row);
  const int type = compute_index(compute);
  ConstView views[4] = {y};
  for (int i = 0; i < of.arity; ++i) views[i + 1] = inputs[i];
  run(loops(row).forward[type], views, of.arity + 1, compute_dtype(type),
      of.rule == kToBool ? kBool : compute_dtype(type), params.values);
}

void pointwise_backward(CpuContext&, Row row, int which, const ConstView* operands, View d, DType compute,
                        const Params& params) {
  const int type = compute == kFloat64 ? 1 : 0;
  ConstView views[6] = {d};
  for (int i = 0; i < 5; ++i) views[i + 1] = operands[i];
  run(loops(row).backward[which][type], views, 6, compute_dtype(type), compute_dtype(type), params.values);
}

}  // namespace tantu::pointwise
