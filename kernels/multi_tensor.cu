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

template <DType D, bool powers>
__global__ void __launch_bounds__(kTensorThreads)
    norm_chunks_kernel(const __grid_constant__ TensorBatch<1> batch, Norm<Compute<D>, powers> norm, double* partials) {
  __shared__ double shared[kTensorThreads / 32];
  const TensorPart<1> part = my_part(batch);
  const char* x = part.tensor.data[0];
  double acc = norm.identity();
  for (int64_t w = threadIdx.x; w < part.words; w += kTensorThreads) {
    const auto word = reinterpret_cast<const Word<Stored<D>>*>(x)[part.start / kWord + w];
#pragma unroll
    for (int e = 0; e < kWord; ++e) norm.add(acc, load_as<Compute<D>>(reinterpret_cast<const char*>(word.of), D, e), 0);
  }
  for (int64_t i = part.start + part.words * kWord + threadIdx.x; i < part.end; i += kTensorThreads)
    norm.add(acc, load_as<Compute<D>>(x, D, i), 0);
  acc = team_join(acc, kTensorThreads, shared, norm);
  if (threadIdx.x == 0) partials[blockIdx.x] = acc;
}

// A block for each tensor of the batch.
template <bool powers>
__global__ void __launch_bounds__(kTensorThreads)
    norm_tensors_kernel(const __grid_constant__ TensorBatch<1> batch, Norm<float, powers> norm,
                        const double* partials) {
  __shared__ double shared[kTensorThreads / 32];
  const TensorSlot<1>& t = batch.tensors[blockIdx.x];
  const int64_t end = (t.n + kTensorChunk - 1) / kTensorChunk;
  double acc = norm.identity();
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
  for (int64_t w = threadIdx.x; w < part.words; w += kTensorThreads) {
    auto* place = reinterpret_cast<Word<Stored<D>>*>(x) + (part.start / kWord + w);
    Word<Stored<D>> word = *place;
#pragma unroll
    for (int e = 0; e < kWord; ++e) {
      const A v = load_as<A>(reinterpret_cast<const char*>(word.of), D, e);
      store_as<A>(reinterpret_cast<char*>(word.of), D, e, v * f);
    }
    *place = word;
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

template <bool powers>
void norm_all(GpuContext& ctx, const std::vector<ConstView>& tensors, double p, const View& y) {
  char* out = static_cast<char*>(y.data);
  for_each_batch(tensors, [&](DType dtype, const TensorBatch<1>& batch) {
    const Workspace partials(ctx, "norm_each", batch.chunks * static_cast<int64_t>(sizeof(double)));
    if (batch.chunks > 0)
      visit_typed(dtype, [&]<DType D>() {
        launch(ctx, "norm_chunks_kernel", norm_chunks_kernel<D, powers>, batch.chunks, kTensorThreads, 0, batch,
               Norm<Compute<D>, powers>{out, y.dtype, kind_of(p), p}, partials.data<double>());
      });
    launch(ctx, "norm_tensors_kernel", norm_tensors_kernel<powers>, batch.count, kTensorThreads, 0, batch,
           Norm<float, powers>{out, y.dtype, kind_of(p), p}, partials.data<double>());
  });
}

}  // namespace

void norm_each(GpuContext& ctx, const std::vector<ConstView>& tensors, double p, View y) {
  if (kind_of(p) == NormKind::Powers) norm_all<true>(ctx, tensors, p, y);
  else norm_all<false>(ctx, tensors, p, y);
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
