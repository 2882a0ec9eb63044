// Norms of many tensors, and one factor for all of them.
//
// norm_each: a block gathers one chunk of a tensor in float64 and leaves a partial; then a block for each tensor
// gathers its partials in order. Bytes moved: each element read once, 8 bytes a chunk. scale_each: each element read
// and written once. Both are bound by the bandwidth.
#include <tantu/kernels/multi_tensor.h>
#include <tantu/kernels/block.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/multi_tensor.cuh>
#include <tantu/kernels/norm_rule.cuh>
#include <tantu/kernels/workspace.cuh>

namespace tantu {

namespace {

constexpr int kAtOnce = 4;  // words that a thread loads before it computes

template <DType D, class Op>
__global__ void __launch_bounds__(kTensorThreads)
    norm_chunks_kernel(const __grid_constant__ TensorBatch<1> batch, Op norm, typename Op::Acc* partials) {
  __shared__ typename Op::Acc shared[kTensorThreads / 32];
  const TensorPart<1> part = my_part(batch);
  const char* x = part.tensor.data[0];
  typename Op::Acc acc = norm.identity();
  const auto* words = reinterpret_cast<const Word<Stored<D>>*>(x) + part.start / kWord;
  for (int64_t w = threadIdx.x; w < part.words; w += kAtOnce * kTensorThreads) {
    Word<Stored<D>> some[kAtOnce];
#pragma unroll
    for (int m = 0; m < kAtOnce; ++m)
      if (w + m * kTensorThreads < part.words) some[m] = words[w + m * kTensorThreads];
#pragma unroll
    for (int m = 0; m < kAtOnce; ++m) {
      if (w + m * kTensorThreads >= part.words) break;
      Compute<D> values[kWord];
#pragma unroll
      for (int e = 0; e < kWord; ++e) values[e] = load_as<Compute<D>>(reinterpret_cast<const char*>(some[m].of), D, e);
      norm.template add_all<kWord>(acc, values, 0, 0);
    }
  }
  for (int64_t i = part.start + part.words * kWord + threadIdx.x; i < part.end; i += kTensorThreads)
    norm.add(acc, load_as<Compute<D>>(x, D, i), 0);
  acc = team_join(acc, kTensorThreads, shared, norm);
  if (threadIdx.x == 0) partials[blockIdx.x] = acc;
}

// A block for each tensor of the batch.
template <class Op>
__global__ void __launch_bounds__(kTensorThreads)
    norm_tensors_kernel(const __grid_constant__ TensorBatch<1> batch, Op norm, const typename Op::Acc* partials) {
  __shared__ typename Op::Acc shared[kTensorThreads / 32];
  const TensorSlot<1>& t = batch.tensors[blockIdx.x];
  const int64_t end = (t.n + kTensorChunk - 1) / kTensorChunk;
  typename Op::Acc acc = norm.identity();
  for (int64_t c = threadIdx.x; c < end; c += kTensorThreads) acc = norm(acc, partials[t.first_chunk + c]);
  acc = team_join(acc, kTensorThreads, shared, norm);
  if (threadIdx.x == 0) norm.store(acc, t.index);
}

template <DType D>
__global__ void __launch_bounds__(kTensorThreads)
    scale_kernel(const __grid_constant__ TensorBatch<1> batch, const char* factor, DType factor_dtype) {
  using A = Compute<D>;
  const A f = load_as<A>(factor, factor_dtype, 0);
  const TensorPart<1> part = my_part(batch);
  char* x = part.tensor.data[0];
  auto* words = reinterpret_cast<Word<Stored<D>>*>(x) + part.start / kWord;
  for (int64_t w = threadIdx.x; w < part.words; w += kAtOnce * kTensorThreads) {
    Word<Stored<D>> some[kAtOnce];
#pragma unroll
    for (int m = 0; m < kAtOnce; ++m)
      if (w + m * kTensorThreads < part.words) some[m] = words[w + m * kTensorThreads];
#pragma unroll
    for (int m = 0; m < kAtOnce; ++m) {
      if (w + m * kTensorThreads >= part.words) break;
#pragma unroll
      for (int e = 0; e < kWord; ++e) {
        const A v = load_as<A>(reinterpret_cast<const char*>(some[m].of), D, e);
        store_as<A>(reinterpret_cast<char*>(some[m].of), D, e, v * f);
      }
      words[w + m * kTensorThreads] = some[m];
    }
  }
  for (int64_t i = part.start + part.words * kWord + threadIdx.x; i < part.end; i += kTensorThreads)
    store_as<A>(x, D, i, load_as<A>(x, D, i) * f);
}

// Calls run<D>(batch) for the tensors of each dtype.
template <class V, class Run>
void for_each_batch(const std::vector<V>& tensors, Run&& run) {
  for (DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    const auto flush = [&](const TensorBatch<1>& batch) { run(dtype, batch); };
    TensorBatches<1, decltype(flush)> batches(item_size(dtype), flush);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].dtype == dtype)
        batches.add(static_cast<int>(i), tensors[i].numel(),
                    {static_cast<char*>(const_cast<void*>(static_cast<const void*>(tensors[i].data)))});
    batches.finish();
  }
}

template <DType D, class Op>
void norms_of(GpuContext& ctx, const TensorBatch<1>& batch, const Op& norm) {
  using Acc = typename Op::Acc;
  const Workspace partials(ctx, "norm_each", batch.chunks * static_cast<int64_t>(sizeof(Acc)));
  if (batch.chunks > 0)
    launch(ctx, "norm_chunks_kernel", norm_chunks_kernel<D, Op>, batch.chunks, kTensorThreads, 0, batch, norm,
           partials.data<Acc>());
  launch(ctx, "norm_tensors_kernel", norm_tensors_kernel<Op>, batch.count, kTensorThreads, 0, batch, norm,
         partials.data<Acc>());
}

}  // namespace

void norm_each(GpuContext& ctx, const std::vector<ConstView>& tensors, double p, View y) {
  char* out = static_cast<char*>(y.data);
  const NormKind kind = kind_of(p);
  for_each_batch(tensors, [&](DType dtype, const TensorBatch<1>& batch) {
    visit_typed(dtype, [&]<DType D>() {
      using A = Compute<D>;
      if (kind == NormKind::Squares) norms_of<D>(ctx, batch, Norm2<A>{out, y.dtype});
      else if (kind == NormKind::Powers) norms_of<D>(ctx, batch, NormPowers<A>{{out, y.dtype}, p});
      else norms_of<D>(ctx, batch, NormEach<A>{out, y.dtype, kind});
    });
  });
}

void scale_each(GpuContext& ctx, const std::vector<View>& tensors, ConstView factor) {
  for_each_batch(tensors, [&](DType dtype, const TensorBatch<1>& batch) {
    if (batch.chunks > 0)
      visit_typed(dtype, [&]<DType D>() {
        launch(ctx, "scale_kernel", scale_kernel<D>, batch.chunks, kTensorThreads, 0, batch,
               static_cast<const char*>(factor.data), factor.dtype);
      });
  });
}

}  // namespace tantu
