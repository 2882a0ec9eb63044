// One optimiser step. Contiguous tensors of SGD and Adam go many to a launch (multi_tensor.cuh). Everything else: a
// launch a tensor, one thread an element, any strides.
//
// Bytes moved for Adam in float32: 16 read and 12 written an element, for SGD with momentum 12 and 8; bound by memory
// bandwidth. Nothing is done while a kernel's bad index waits to be thrown: the gradients may be nonsense.
#include <tantu/core/gpu/index_report.h>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/multi_tensor.cuh>
#include <tantu/kernels/optim_rules.cuh>
#include <tantu/kernels/walk.cuh>

#include <algorithm>

namespace tantu {

namespace {

constexpr int kThreads = 256;
// A parameter's arrays: p, g, the state.
using Slot = TensorSlot<5>;
using Batch = TensorBatch<5>;

__device__ __forceinline__ bool index_is_bad(const gpu::IndexRecord* record) {
  return *static_cast<const volatile unsigned*>(&record->state) != 0;
}

// Elements i … i + kWord - 1.
template <DType D, class Rule>
__device__ __forceinline__ void update_word(const Slot& t, const Rule& rule, int64_t i) {
  using A = Compute<D>;
  using W = Word<Stored<D>>;
  const auto at = [&](int k) { return reinterpret_cast<W*>(t.data[k] + i * static_cast<int64_t>(sizeof(Stored<D>))); };
  W p = *at(0), s[Rule::kStates];
  const W g = *at(1);
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k)
    if (t.data[2 + k]) s[k] = *at(2 + k);
#pragma unroll
  for (int e = 0; e < kWord; ++e) {
    A w = load_as<A>(reinterpret_cast<const char*>(p.of), D, e), state[Rule::kStates] = {};
#pragma unroll
    for (int k = 0; k < Rule::kStates; ++k)
      if (t.data[2 + k]) state[k] = load_as<A>(reinterpret_cast<const char*>(s[k].of), D, e);
    rule(w, load_as<A>(reinterpret_cast<const char*>(g.of), D, e), state);
    store_as<A>(reinterpret_cast<char*>(p.of), D, e, w);
#pragma unroll
    for (int k = 0; k < Rule::kStates; ++k)
      if (t.data[2 + k]) store_as<A>(reinterpret_cast<char*>(s[k].of), D, e, state[k]);
  }
  *at(0) = p;
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k)
    if (t.data[2 + k]) *at(2 + k) = s[k];
}

template <DType D, class Rule>
__device__ __forceinline__ void update_element(const Slot& t, const Rule& rule, int64_t i) {
  using A = Compute<D>;
  A w = load_as<A>(t.data[0], D, i), state[Rule::kStates] = {};
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k)
    if (t.data[2 + k]) state[k] = load_as<A>(t.data[2 + k], D, i);
  rule(w, load_as<A>(t.data[1], D, i), state);
  store_as<A>(t.data[0], D, i, w);
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k)
    if (t.data[2 + k]) store_as<A>(t.data[2 + k], D, i, state[k]);
}

template <DType D, class Rule>
__global__ void __launch_bounds__(kTensorThreads, 2)
    update_many_kernel(const __grid_constant__ Batch batch, Rule rule, const gpu::IndexRecord* record) {
  __shared__ bool bad;
  if (threadIdx.x == 0) bad = index_is_bad(record);
  __syncthreads();
  if (bad) return;
  const auto [t, start, end, words] = my_part(batch);
  for (int64_t w = threadIdx.x; w < words; w += kTensorThreads) update_word<D>(t, rule, start + w * kWord);
  for (int64_t i = start + words * kWord + threadIdx.x; i < end; i += kTensorThreads) update_element<D>(t, rule, i);
}

// Operands: p, g, the state.
template <class A, class Rule>
__global__ void __launch_bounds__(kThreads, 2)
    update_one_kernel(const __grid_constant__ Picture<5> views, int64_t n, Rule rule, const gpu::IndexRecord* record) {
  __shared__ bool bad;
  if (threadIdx.x == 0) bad = index_is_bad(record);
  __syncthreads();
  if (bad) return;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const auto load = [&](int k) {
      return load_as<A>(views.operands[k].data, views.operands[k].dtype, place_in(views, k, i));
    };
    const auto store = [&](int k, A v) {
      store_as<A>(views.operands[k].data, views.operands[k].dtype, place_in(views, k, i), v);
    };
    A w = load(0), state[Rule::kStates] = {};
#pragma unroll
    for (int k = 0; k < Rule::kStates; ++k)
      if (views.operands[2 + k].data) state[k] = load(2 + k);
    rule(w, load(1), state);
    store(0, w);
#pragma unroll
    for (int k = 0; k < Rule::kStates; ++k)
      if (views.operands[2 + k].data) store(2 + k, state[k]);
  }
}

// Rule<float> or Rule<double> of the step `s`, for one tensor of any strides.
template <template <class> class Rule, class Step>
void update_one(GpuContext& ctx, const OptimTensor& t, const Step& s) {
  const ConstView views[] = {t.p, t.g, t.state[0], t.state[1], t.state[2]};
  const int64_t n = t.p.numel();
  if (n == 0) return;
  const auto picture = make_picture<5>(views, 5);
  const auto run = [&](const auto& rule, auto kernel) {
    launch(ctx, "update_one_kernel", kernel, blocks_for(n, kThreads), kThreads, 0, picture, n, rule,
           gpu::index_record(ctx));
  };
  if (t.p.dtype == kFloat64) run(Rule<double>(s), update_one_kernel<double, Rule<double>>);
  else run(Rule<float>(s), update_one_kernel<float, Rule<float>>);
}

bool is_packed(const OptimTensor& t) {
  bool packed = t.p.contiguous() && t.g.contiguous() && t.g.dtype == t.p.dtype;
  for (const View& s : t.state) packed &= !s.data || (s.contiguous() && s.dtype == t.p.dtype);
  return packed;
}

template <template <class> class Rule, class Step>
void update_many(GpuContext& ctx, const std::vector<OptimTensor>& tensors, const Step& s) {
  for (const OptimTensor& t : tensors)
    if (!is_packed(t)) update_one<Rule>(ctx, t, s);
  for (DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    const auto flush = [&](const Batch& batch) {
      visit_typed(dtype, [&]<DType D>() {
        using R = Rule<Compute<D>>;
        launch(ctx, "update_many_kernel", update_many_kernel<D, R>, batch.chunks, kTensorThreads, 0, batch, R(s),
               gpu::index_record(ctx));
      });
    };
    TensorBatches<5, decltype(flush)> batches(item_size(dtype), flush);
    for (const OptimTensor& t : tensors) {
      if (t.p.dtype != dtype || t.p.numel() == 0 || !is_packed(t)) continue;
      const auto address = [](const auto& view) {
        return static_cast<char*>(const_cast<void*>(static_cast<const void*>(view.data)));
      };
      batches.add(0, t.p.numel(),
                  {address(t.p), address(t.g), address(t.state[0]), address(t.state[1]), address(t.state[2])});
    }
    batches.finish();
  }
}

// The views that a step without some of its state does not use are left out.
View used(const View& v, bool needed) {
  return needed ? v : View{};
}

}  // namespace

void sgd_step(GpuContext& ctx, const std::vector<OptimTensor>& tensors, const SgdStep& s) {
  update_many<SgdRule>(ctx, tensors, s);
}

void adam_step(GpuContext& ctx, const std::vector<OptimTensor>& tensors, const AdamStep& s) {
  update_many<AdamRule>(ctx, tensors, s);
}

void rmsprop_step(GpuContext& ctx, View p, ConstView g, View square, View mean, View buffer, const RmspropStep& s) {
  update_one<RmspropRule>(ctx, {p, g, {square, used(mean, s.centered), used(buffer, s.momentum != 0)}}, s);
}

void adagrad_step(GpuContext& ctx, View p, ConstView g, View sum, const AdagradStep& s) {
  update_one<AdagradRule>(ctx, {p, g, {sum}}, s);
}

void adadelta_step(GpuContext& ctx, View p, ConstView g, View square, View delta, const AdadeltaStep& s) {
  update_one<AdadeltaRule>(ctx, {p, g, {square, delta}}, s);
}

void adamax_step(GpuContext& ctx, View p, ConstView g, View m, View u, const AdamaxStep& s) {
  update_one<AdamaxRule>(ctx, {p, g, {m, u}}, s);
}

void nadam_step(GpuContext& ctx, View p, ConstView g, View m, View v, const NadamStep& s) {
  update_one<NadamRule>(ctx, {p, g, {m, v}}, s);
}

}  // namespace tantu
