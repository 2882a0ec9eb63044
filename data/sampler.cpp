#include <tantu/data/sampler.h>

#include <tantu/autograd/ops.h>

#include <algorithm>
#include <numeric>

namespace tantu::data {

namespace {

std::vector<int64_t> permutation(int64_t n, const Generator& generator) {
  return randperm(n, {}, generator).to_vector<int64_t>();
}

// Batches of indices from `refill` (empty at the end), one index at a time.
Indices one_by_one(std::function<std::vector<int64_t>()> refill) {
  return [refill = std::move(refill), ready = std::vector<int64_t>(), next = size_t{0},
          done = false]() mutable -> std::optional<int64_t> {
    while (!done && next == ready.size()) {
      ready = refill();
      next = 0;
      done = ready.empty();
    }
    if (done) return {};
    return ready[next++];
  };
}

}  // namespace

Sampler::~Sampler() = default;

uint64_t draw_seed(Generator generator) {
  const GeneratorLock lock(generator);
  return generator.random64() & (~uint64_t{0} >> 1);
}

SequentialSampler::SequentialSampler(int64_t n) : n_(n) {
  TANTU_CHECK(n >= 0, ValueError, "SequentialSampler: n must be non-negative, got {}", n);
}

Indices SequentialSampler::pass() {
  return [n = n_, i = int64_t{0}]() mutable { return i < n ? std::optional<int64_t>(i++) : std::nullopt; };
}

RandomSampler::RandomSampler(int64_t n, RandomSamplerOptions options)
    : n_(n), samples_(options.num_samples.value_or(n)), options_(std::move(options)) {
  TANTU_CHECK(n >= 0, ValueError, "RandomSampler: n must be non-negative, got {}", n);
  TANTU_CHECK(!options_.num_samples || samples_ > 0, ValueError,
              "RandomSampler: num_samples should be a positive integer value, but got num_samples={}", samples_);
  TANTU_CHECK(n > 0 || samples_ == 0, ValueError, "RandomSampler: cannot draw {} samples from an empty dataset",
              samples_);
}

Indices RandomSampler::pass() {
  const auto generator = std::make_shared<std::optional<Generator>>(options_.generator);
  const auto start = [generator] {
    if (!*generator) *generator = Generator(draw_seed(default_generator()));
  };
  if (options_.replacement)
    return one_by_one([=, n = n_, left = samples_]() mutable -> std::vector<int64_t> {
      if (left == 0) return {};
      start();
      const int64_t count = std::min<int64_t>(left, 32);
      left -= count;
      return randint(n, {count}, {}, *generator).to_vector<int64_t>();
    });
  return one_by_one([=, n = n_, left = samples_, ended = false]() mutable -> std::vector<int64_t> {
    if (ended) return {};
    start();
    std::vector<int64_t> order = permutation(n, **generator);
    ended = left < n || n == 0;
    order.resize(static_cast<size_t>(std::min(left, n)));
    left -= static_cast<int64_t>(order.size());
    return order;
  });
}

BatchSampler::BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  TANTU_CHECK(sampler_, ValueError, "BatchSampler: the sampler is null");
  TANTU_CHECK(batch_size >= 1, ValueError,
              "BatchSampler: batch_size should be a positive integer value, but got batch_size={}", batch_size);
}

int64_t BatchSampler::size() const {
  const int64_t n = sampler_->size();
  return n / batch_size_ + (!drop_last_ && n % batch_size_ != 0);
}

IndexBatches BatchSampler::pass() {
  Indices indices = sampler_->pass();
  TANTU_CHECK(indices, ValueError, "BatchSampler: the sampler's pass() returned an empty function");
  return [next = std::move(indices), size = batch_size_, drop = drop_last_,
          ended = false]() mutable -> std::optional<std::vector<int64_t>> {
    std::vector<int64_t> batch;
    while (!ended && static_cast<int64_t>(batch.size()) < size) {
      if (const std::optional<int64_t> index = next()) batch.push_back(*index);
      else ended = true;
    }
    if (batch.empty() || (drop && static_cast<int64_t>(batch.size()) < size)) return {};
    return batch;
  };
}

std::vector<int64_t> distributed_indices(int64_t n, const DistributedIndexOptions& options, int64_t epoch) {
  const int64_t ranks = options.num_replicas, rank = options.rank;
  TANTU_CHECK(ranks >= 1, ValueError, "DistributedSampler: num_replicas must be at least 1, got {}", ranks);
  TANTU_CHECK(rank >= 0 && rank < ranks, ValueError,
              "DistributedSampler: Invalid rank {}, rank should be in the interval [0, {}]", rank, ranks - 1);
  TANTU_CHECK(n >= 0 && epoch >= 0, ValueError, "DistributedSampler: {} samples, epoch {}: neither may be negative", n,
              epoch);
  std::vector<int64_t> all(static_cast<size_t>(n));
  if (options.shuffle) all = permutation(n, Generator(options.seed + static_cast<uint64_t>(epoch)));
  else std::iota(all.begin(), all.end(), 0);
  const int64_t each = n / ranks + (!options.drop_last && n % ranks != 0);
  std::vector<int64_t> mine;
  for (int64_t k = 0; k < each; ++k) mine.push_back(all[static_cast<size_t>((rank + k * ranks) % n)]);
  return mine;
}

}  // namespace tantu::data
