#include <tantu/autograd/ops/embedding.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/embedding.h>

namespace tantu {

namespace {

// How much of a position's gradient reaches its row: 0 for padding, 1 / count by frequency. (P…, 1)
Tensor shares(const Tensor& index, int64_t padding, bool by_frequency, int64_t rows, const Tensor& like) {
  NoGradGuard constant;
  const TensorOptions options{.dtype = like.dtype(), .device = like.device()};
  Tensor share = ones(index.sizes(), options);
  if (by_frequency) {
    Shape one = index.sizes();
    one.push_back(1);
    Tensor counts = make_tensor("embedding", {rows, 1}, like.dtype(), like.device());
    const Tensor each = ones(one, options);
    on_device(index.device(), "embedding",
              [&](auto& ctx) { embedding_backward(ctx, each.in(), index.in(), -1, false, counts.out()); });
    share = share / embedding(index, counts).squeeze(-1);
  }
  if (padding >= 0) share = where(index == padding, 0, share);
  return share.unsqueeze(-1);
}

// The gradient of the weight, itself an operation: linear in g.
Tensor gather_back(const Tensor& g, const Tensor& index, int64_t padding, bool by_frequency, const Shape& sizes) {
  const Tensor packed = g.detach().contiguous();
  Tensor d = make_tensor("embedding", sizes, g.dtype(), g.device());
  on_device(g.device(), "embedding",
            [&](auto& ctx) { embedding_backward(ctx, packed.in(), index.in(), padding, by_frequency, d.out()); });
  if (tape::wants(g))
    tape::record("EmbeddingDenseBackward0", {&d}, {g}, {tape::Saved(index)},
                 [padding, by_frequency, sizes](tape::Backward& b) {
                   const Tensor gg = b.grad(), index = b.saved(0);
                   const Tensor rows = embedding(index, gg);
                   if (padding < 0 && !by_frequency) return TensorList{rows};
                   return TensorList{rows * shares(index, padding, by_frequency, sizes[0], gg)};
                 });
  return d;
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx, bool scale_grad_by_freq,
                 Site at) {
  tape::Op op("embedding", at);
  tape::common_device("embedding", {{"input", &input}, {"weight", &weight}});
  TANTU_CHECK(input.dtype() == kInt64 || input.dtype() == kInt32, DTypeError,
              "embedding: Expected tensor for argument 'indices' to have one of the following scalar types: int64, "
              "int32; but got {}",
              input.dtype());
  TANTU_CHECK(weight.dim() == 2, ShapeError, "embedding: 'weight' must be 2-D, but it has shape {}", weight.sizes());
  const int64_t rows = weight.size(0);
  int64_t padding = -1;
  if (padding_idx) {
    TANTU_CHECK(*padding_idx >= -rows && *padding_idx < rows, ValueError,
                "embedding: Padding_idx must be within num_embeddings: {} of {}", *padding_idx, rows);
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  Shape sizes = input.sizes();
  sizes.push_back(weight.size(1));
  Tensor y = make_tensor("embedding", sizes, weight.dtype(), weight.device());
  const Tensor table = weight.detach().contiguous();
  on_device(weight.device(), "embedding", [&](auto& ctx) { embedding_forward(ctx, input.in(), table.in(), y.out()); });
  if (tape::wants(weight))
    tape::record("EmbeddingBackward0", {&y}, {weight}, {tape::Saved(input)},
                 [padding, scale_grad_by_freq, shape = weight.sizes()](tape::Backward& b) {
                   return TensorList{gather_back(b.grad(), b.saved(0), padding, scale_grad_by_freq, shape)};
                 });
  return y;
}

}  // namespace tantu
