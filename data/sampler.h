#pragma once

#include <tantu/core/generator.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tantu::data {

/// The indices of one pass, one a call; nothing at its end and ever after.
using Indices = std::function<std::optional<int64_t>()>;
/// The same in batches.
using IndexBatches = std::function<std::optional<std::vector<int64_t>>()>;

/// The order in which a loader takes the samples. Making one draws nothing.
class Sampler {
 public:
  virtual ~Sampler();
  /// Indices in a pass.
  virtual int64_t size() const = 0;
  /// Begins a pass. Random numbers are drawn from the first index on, not here. An empty function is a ValueError of
  /// whoever takes the pass.
  virtual Indices pass() = 0;
};

/// 0 … n-1.
class SequentialSampler : public Sampler {
 public:
  /// ValueError for n < 0.
  explicit SequentialSampler(int64_t n);
  int64_t size() const override { return n_; }
  Indices pass() override;

 private:
  int64_t n_;
};

struct RandomSamplerOptions {
  bool replacement = false;
  std::optional<int64_t> num_samples = {};  ///< n when absent
  std::optional<Generator> generator = {};
};

/// 0 … n-1 in random order (for more samples than n, order after order), or any of them again and again. Without a
/// generator a pass draws one 64-bit seed from the default generator and shuffles with that; a given generator shuffles
/// itself and, as in PyTorch, once more than needed when the pass ends. With replacement indices are drawn in chunks
/// of 32.
class RandomSampler : public Sampler {
 public:
  /// ValueError for n < 0, fewer than 1 samples asked for, or samples of nothing.
  explicit RandomSampler(int64_t n, RandomSamplerOptions options = {});
  int64_t size() const override { return samples_; }
  Indices pass() override;

 private:
  int64_t n_, samples_;
  RandomSamplerOptions options_;
};

/// Another sampler's indices in groups of `batch_size`; `drop_last` leaves out a short last group.
class BatchSampler {
 public:
  /// ValueError for a batch size below 1.
  BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last);
  /// Batches in a pass.
  int64_t size() const;
  IndexBatches pass();

 private:
  std::shared_ptr<Sampler> sampler_;
  int64_t batch_size_;
  bool drop_last_;
};

struct DistributedIndexOptions {
  int64_t num_replicas = 1;
  int64_t rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;  ///< the same on all ranks
  bool drop_last = false;
};

/// The share of one rank in the samples 0 … n-1: a shuffle of generator (seed + epoch), padded by its own start (or
/// cut, with drop_last) to a multiple of the ranks, dealt out in turn. Never touches the default generator. ValueError
/// for a rank outside of [0, num_replicas), fewer than one replica, negative n or epoch.
std::vector<int64_t> distributed_indices(int64_t n, const DistributedIndexOptions& options, int64_t epoch);

/// A 64-bit seed as PyTorch draws one: two words, the highest bit cleared.
uint64_t draw_seed(Generator generator);

}  // namespace tantu::data
