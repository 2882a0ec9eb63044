#pragma once

#include <tantu/data/dataset.h>
#include <tantu/data/sampler.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tantu::data {

/// Makes a batch of some samples.
using Collate = std::function<Batch(const std::vector<Sample>& samples)>;

/// Tensor i of the batch is tensor i of every sample, stacked. ShapeError, naming the first sample that does not fit,
/// if they differ in number, shape, dtype or device.
Batch default_collate(const std::vector<Sample>& samples);

/// PyTorch's names and defaults.
struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  ///< leave out a last batch that is shorter
  int num_workers = 0;     ///< threads that fetch ahead; 0: the caller fetches when it asks
  Collate collate = {};
  std::optional<Generator> generator = {};
  std::shared_ptr<Sampler> sampler = {};  ///< the order of the samples, instead of `shuffle`
  int prefetch = 2;                       ///< batches each worker fetches ahead
};

/// Batches of a dataset: `for (auto [features, labels] : loader)`. Every loop is a new epoch; loops may nest.
///
/// Random numbers are taken as PyTorch takes them. Making a loader draws nothing. Beginning an epoch draws one 64-bit
/// base seed from the options' generator, or the default one, even without `shuffle`; then comes what the sampler
/// draws. Worker k's own default generator is seeded with base seed + k. Orders do not depend on the number of workers;
/// batches come in order.
///
/// What a dataset, a collate or a sampler throws reaches the loop with its type, its text led by the index of the
/// sample (of the first and last sample of a batch fetched at once; "sampler"), and the original nested. A worker that
/// cannot be started is an Error. Leaving the loop early ends and joins the workers.
class DataLoader {
 public:
  class Iterator;
  struct End {};

  /// ValueError for a batch size below 1, fewer than 0 workers, a prefetch below 1, `shuffle` together with a sampler.
  DataLoader(AnyDataset dataset, DataLoaderOptions options = {});

  /// Batches in an epoch.
  int64_t size() const;
  const Dataset& dataset() const;
  const DataLoaderOptions& options() const;

  /// Begins an epoch and waits for its first batch.
  Iterator begin() const;
  End end() const { return {}; }

 private:
  struct Plan;
  class Epoch;
  std::shared_ptr<const Plan> plan_;
};

/// Goes through one epoch, once. It may outlive its loader.
class DataLoader::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  /// Error past the end, and of an iterator that was moved from.
  const Batch& operator*() const;
  const Batch* operator->() const { return &**this; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, End) { return !it.batch_; }

 private:
  friend class DataLoader;
  explicit Iterator(std::unique_ptr<Epoch> epoch);

  std::unique_ptr<Epoch> epoch_;
  std::optional<Batch> batch_;
};

}  // namespace tantu::data
