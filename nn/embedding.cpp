#include <tantu/nn/embedding.h>

#include <tantu/autograd/ops.h>
#include <tantu/nn/init.h>

namespace tantu::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options) {
  TANTU_CHECK(num_embeddings >= 0 && embedding_dim >= 0, ValueError,
              "Embedding: sizes must not be negative, but got {} and {}", num_embeddings, embedding_dim);
  weight = register_parameter("weight", empty({num_embeddings, embedding_dim}));
  init::normal_(weight);
  if (!options.padding_idx) return;
  const int64_t given = *options.padding_idx, row = given < 0 ? given + num_embeddings : given;
  TANTU_CHECK(row >= 0 && row < num_embeddings, ValueError,
              "Embedding: padding_idx {} must be within num_embeddings {}", given, num_embeddings);
  padding_idx_ = row;
  weight.detach()[row].zero_();
}

Tensor Embedding::forward(const Tensor& indices) {
  return embedding(indices, weight, padding_idx_);
}

std::string Embedding::extra_repr() const {
  std::string text = fmt::format("{}, {}", weight.size(0), weight.size(1));
  if (padding_idx_) text += fmt::format(", padding_idx={}", *padding_idx_);
  return text;
}

}  // namespace tantu::nn
