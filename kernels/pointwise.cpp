#include <tantu/kernels/pointwise.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/pointwise_loops.h>
#include <tantu/kernels/cpu/strided.h>

#include <algorithm>

namespace tantu::pointwise {

namespace {

const RowInfo kInfo[] = {
#define TANTU_UNARY_OF(function, name, PARAMS, rule, saves, forward, da, low, high, smooth) \
  {#function, #function "_", #name, 1, rule, saves, low, high, smooth, {gradient_of(#da), kZero, kZero}},
#define TANTU_BINARY_OF(function, name, PARAMS, rule, saves, forward, da, db, low, high, smooth) \
  {#function, #function "_", #name, 2, rule, saves, low, high, smooth, {gradient_of(#da), gradient_of(#db), kZero}},
#define TANTU_TERNARY_OF(function, name, PARAMS, rule, saves, forward, da, db, dc, low, high, smooth) \
  {#function, #function "_", #name, 3,      rule,                                                     \
   saves,     low,           high,  smooth, {gradient_of(#da), gradient_of(#db), gradient_of(#dc)}},
#define TANTU_UNARY(name, ...) TANTU_UNARY_OF(name, name, __VA_ARGS__)
#define TANTU_BINARY(name, ...) TANTU_BINARY_OF(name, name, __VA_ARGS__)
#define TANTU_TERNARY(name, ...) TANTU_TERNARY_OF(name, name, __VA_ARGS__)
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

int compute_index(DType compute) {
  return compute == kFloat64 ? 1 : is_floating(compute) ? 0 : 2;
}
DType compute_dtype(int index) {
  return index == 0 ? kFloat32 : index == 1 ? kFloat64 : kInt64;
}

constexpr int64_t kGrain = 16384;  // elements a thread should have before a second one is worth waking

// What a loop works on: views of one shape, some of them absent, walked in chunks.
class Run {
 public:
  // views[0] is the output. An absent operand (null data) is never read.
  Run(const ConstView* views, int count, DType compute, DType out_type)
      : count_(count), compute_(compute), out_type_(out_type), walk_(walk_of(views)) {
    for (int s = 0; s < used_; ++s) {
      const cpu::WalkOperand& o = walk_.operands[static_cast<size_t>(s)];
      direct_[s] = o.contiguous && o.dtype == (s == 0 ? out_type : compute);
      constant_[s] =
          s > 0 && std::all_of(o.strides.begin(), o.strides.end(), [](int64_t stride) { return stride == 0; });
      all_direct_ &= direct_[s];
    }
  }

  void operator()(Loop loop, const double* params) const {
    parallel_for(0, walk_.numel, kGrain, [&](int64_t begin, int64_t end) { range(loop, params, begin, end); });
  }

 private:
  cpu::Walk walk_of(const ConstView* views) {
    ConstView present[cpu::kMaxOperands];
    for (int i = 0; i < count_; ++i) {
      slot_[i] = views[i].data ? used_ : -1;
      if (views[i].data) present[used_++] = views[i];
    }
    return cpu::Walk(present, used_);
  }

  void range(Loop loop, const double* params, int64_t begin, int64_t end) const {
    alignas(64) char buffers[cpu::kMaxOperands][cpu::kChunk * 8];
    const int64_t step = all_direct_ ? end - begin : cpu::kChunk, size = item_size(compute_),
                  out_size = item_size(out_type_);
    for (int64_t start = begin; start < end; start += step) {
      const int64_t n = std::min(step, end - start);
      const void* in[cpu::kMaxOperands];
      for (int i = 1; i < count_; ++i) {
        const int s = slot_[i];
        if (s < 0) continue;
        in[i - 1] = direct_[s] ? data(s) + start * size : buffers[s];
        if (!direct_[s] && (start == begin || !constant_[s])) cpu::load(walk_, s, start, n, compute_, buffers[s]);
      }
      for (int i = 1; i < count_; ++i)
        if (slot_[i] < 0) in[i - 1] = in[0];
      void* out = direct_[0] ? data(0) + start * out_size : buffers[0];
      loop(in, out, n, params);
      if (!direct_[0]) cpu::store(walk_, 0, start, n, out_type_, buffers[0]);
    }
  }

  char* data(int s) const { return walk_.operands[static_cast<size_t>(s)].data; }

  int count_, used_ = 0;
  DType compute_, out_type_;
  int slot_[cpu::kMaxOperands] = {};
  cpu::Walk walk_;
  bool direct_[cpu::kMaxOperands] = {}, constant_[cpu::kMaxOperands] = {}, all_direct_ = true;
};

}  // namespace

const RowInfo& info(Row row) {
  return kInfo[static_cast<int>(row)];
}

void pointwise_forward(CpuContext&, Row row, const ConstView* inputs, View y, DType compute, const Params& params) {
  if (y.numel() == 0) return;
  const RowInfo& of = info(row);
  const int type = compute_index(compute);
  ConstView views[4] = {y};
  for (int i = 0; i < of.arity; ++i) views[i + 1] = inputs[i];
  const Run run(views, of.arity + 1, compute_dtype(type), of.rule == kToBool ? kBool : compute_dtype(type));
  run(loops(row).forward[type], params.values);
}

void pointwise_contiguous(Row row, const void* const* inputs, void* y, int64_t n, DType compute, const Params& params) {
  const RowInfo& of = info(row);
  const Loop loop = loops(row).forward[compute_index(compute)];
  if (n <= kGrain) return loop(inputs, y, n, params.values);
  const int64_t size = item_size(compute), out_size = of.rule == kToBool ? 1 : size;
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    const void* in[3];
    for (int i = 0; i < of.arity; ++i) in[i] = static_cast<const char*>(inputs[i]) + begin * size;
    loop(in, static_cast<char*>(y) + begin * out_size, end - begin, params.values);
  });
}

bool has_zero(const ConstView& x) {
  const cpu::Walk walk(&x, 1);
  int64_t values[cpu::kChunk];
  for (int64_t start = 0; start < walk.numel; start += cpu::kChunk) {
    const int64_t n = std::min(cpu::kChunk, walk.numel - start);
    cpu::load(walk, 0, start, n, kInt64, values);
    if (std::find(values, values + n, 0) != values + n) return true;
  }
  return false;
}

void pointwise_backward(CpuContext&, Row row, int which, const ConstView* operands, View d, DType compute,
                        const Params& params) {
  if (d.numel() == 0) return;
  const int type = compute == kFloat64 ? 1 : 0;
  ConstView views[6] = {d};
  for (int i = 0; i < 5; ++i) views[i + 1] = operands[i];
  const Run run(views, 6, compute_dtype(type), compute_dtype(type));
  run(loops(row).backward[which][type], params.values);
}

}  // namespace tantu::pointwise
