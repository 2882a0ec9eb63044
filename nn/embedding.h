#pragma once

#include <tantu/nn/module.h>

#include <optional>

namespace tantu::nn {

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};  ///< this row is zero and gets no gradient
};

/// Rows of a table: (…) int64 → (…, embedding_dim). Key: weight (num_embeddings, embedding_dim), drawn from N(0, 1).
class Embedding : public Module {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {});
  Tensor forward(const Tensor& indices) override;
  std::string extra_repr() const override;

  Tensor weight;

 private:
  std::optional<int64_t> padding_idx_;
};

}  // namespace tantu::nn
