#include <tantu/data/dataloader.h>

#include <tantu/autograd/ops.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace tantu::data {

namespace {

// Throws the exception in flight again, as the first of Types it is (as a plain Error if it is none), with `where`
// before its text and itself nested inside.
template <class First, class... Types>
[[noreturn]] void rethrow_at(const std::string& where) {
  try {
    throw;
  } catch (const First& error) {
    std::throw_with_nested(First(where + error.what()));
  } catch (...) {
    if constexpr (sizeof...(Types) > 0) rethrow_at<Types...>(where);
  }
  std::throw_with_nested(Error(where + "an exception of an unknown type"));
}

[[noreturn]] void rethrow_from(const std::string& where) {
  try {
    throw;
  } catch (const Error&) {
    rethrow_at<ShapeError, DTypeError, DeviceError, ValueError, IndexError, AutogradError, OutOfMemoryError, DistError,
               FormatError, Error>(where);
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(where + error.what()));
  } catch (...) {
    std::throw_with_nested(Error(where + "an exception that is no std::exception"));
  }
}

}  // namespace

Batch default_collate(const std::vector<Sample>& samples) {
  std::vector<Tensor> batch;
  if (samples.empty()) return batch;
  const Sample& first = samples[0];
  for (size_t s = 0; s < samples.size(); ++s) {
    TANTU_CHECK(samples[s].size() == first.size(), ShapeError,
                "collate: sample {} of the batch has {} tensors, the first has {}", s, samples[s].size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) {
      const Tensor &a = first[i], &b = samples[s][i];
      TANTU_CHECK(a.sizes() == b.sizes() && a.dtype() == b.dtype() && a.device() == b.device(), ShapeError,
                  "collate: tensor {} of sample {} of the batch is {} {} on {}, but that of the first is {} {} on {}; "
                  "give the loader a "
                  "collate function that pads or groups them",
                  i, s, b.dtype(), b.sizes(), b.device(), a.dtype(), a.sizes(), a.device());
    }
  }
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Tensor> column;
    for (const Sample& sample : samples) column.push_back(sample[i]);
    batch.push_back(stack(column));
  }
  return batch;
}

struct DataLoader::Plan {
  AnyDataset dataset;
  DataLoaderOptions options;
  std::shared_ptr<BatchSampler> batches{};

  /// A pass of the sampler; what it throws, at any time, is led by "DataLoader: sampler: ".
  IndexBatches begin_pass() const;
  /// One batch; any batch at all once `stop` is set.
  Batch fetch(const std::vector<int64_t>& indices, const std::atomic<bool>& stop) const;
};

IndexBatches DataLoader::Plan::begin_pass() const {
  const auto named = [](const auto& f) {
    try {
      return f();
    } catch (...) {
      rethrow_from("DataLoader: sampler: ");
    }
  };
  return [named, next = named([&] { return batches->pass(); })] { return named(next); };
}

Batch DataLoader::Plan::fetch(const std::vector<int64_t>& indices, const std::atomic<bool>& stop) const {
  const auto span = fmt::format("DataLoader: samples {} … {}: ", indices.front(), indices.back());
  if (!options.collate) {
    try {
      if (std::optional<Batch> batch = dataset->get_batch(indices)) return *std::move(batch);
    } catch (...) {
      rethrow_from(span);
    }
  }
  std::vector<Sample> samples;
  for (const int64_t index : indices) {
    if (stop) return {};
    try {
      samples.push_back(dataset->get(index));
    } catch (...) {
      rethrow_from(fmt::format("DataLoader: sample {}: ", index));
    }
  }
  try {
    return options.collate ? options.collate(samples) : default_collate(samples);
  } catch (...) {
    rethrow_from(span);
  }
}

/// One pass. The caller's thread takes indices from the sampler, so that random numbers are drawn where PyTorch draws
/// them; workers turn them into batches; the caller takes these in order.
class DataLoader::Epoch {
 public:
  explicit Epoch(std::shared_ptr<const Plan> plan);
  ~Epoch();
  std::optional<Batch> next();

 private:
  struct Task {
    std::vector<int64_t> indices;
    std::optional<Batch> batch{};
    std::exception_ptr error{};
    bool done = false;
  };

  void ask_ahead();
  void work(Generator generator);
  void stop();

  std::shared_ptr<const Plan> plan_;
  IndexBatches indices_;
  std::deque<std::shared_ptr<Task>> pending_;  // what the caller has not taken yet, in order
  std::mutex mutex_;
  std::condition_variable asked_, finished_;
  std::deque<std::shared_ptr<Task>> queue_;  // what no worker has begun yet
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

DataLoader::Epoch::Epoch(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), indices_(plan_->begin_pass()) {
  const uint64_t base_seed = draw_seed(plan_->options.generator ? *plan_->options.generator : default_generator());
  try {
    for (int k = 0; k < plan_->options.num_workers; ++k)
      workers_.emplace_back([this, seed = base_seed + static_cast<uint64_t>(k)] { work(Generator(seed)); });
  } catch (const std::system_error& error) {
    const size_t started = workers_.size();
    stop();
    throw Error(fmt::format("DataLoader: could not start worker {} of {}: {}", started, plan_->options.num_workers,
                            error.what()));
  } catch (...) {
    stop();
    throw;
  }
}

DataLoader::Epoch::~Epoch() {
  stop();
}

void DataLoader::Epoch::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void DataLoader::Epoch::ask_ahead() {
  const size_t ahead = workers_.size() * static_cast<size_t>(plan_->options.prefetch);
  while (pending_.size() < ahead) {
    std::optional<std::vector<int64_t>> indices = indices_();
    if (!indices) return;
    const auto task = std::make_shared<Task>(Task{.indices = *std::move(indices)});
    pending_.push_back(task);
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(task);
    }
    asked_.notify_one();
  }
}

std::optional<Batch> DataLoader::Epoch::next() {
  if (workers_.empty()) {
    const std::optional<std::vector<int64_t>> indices = indices_();
    return indices ? std::optional(plan_->fetch(*indices, stop_)) : std::nullopt;
  }
  ask_ahead();
  if (pending_.empty()) return {};
  const std::shared_ptr<Task> task = pending_.front();
  pending_.pop_front();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return task->done; });
  if (task->error) std::rethrow_exception(task->error);
  return std::move(task->batch);
}

void DataLoader::Epoch::work(Generator generator) {
  const GeneratorGuard own(generator);
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const std::shared_ptr<Task> task = queue_.front();
    queue_.pop_front();
    lock.unlock();
    std::optional<Batch> batch;
    std::exception_ptr error;
    try {
      batch = plan_->fetch(task->indices, stop_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    task->batch = std::move(batch);
    task->error = std::move(error);
    task->done = true;
    finished_.notify_one();
  }
}

DataLoader::DataLoader(AnyDataset dataset, DataLoaderOptions options) {
  TANTU_CHECK(options.batch_size >= 1, ValueError,
              "DataLoader: batch_size should be a positive integer value, but got batch_size={}", options.batch_size);
  TANTU_CHECK(options.num_workers >= 0 && options.num_workers <= 1024, ValueError,
              "DataLoader: num_workers must be in [0, 1024], but got {}", options.num_workers);
  TANTU_CHECK(options.prefetch >= 1, ValueError, "DataLoader: prefetch must be at least 1, but got {}",
              options.prefetch);
  TANTU_CHECK(!(options.shuffle && options.sampler), ValueError,
              "DataLoader: sampler option is mutually exclusive with shuffle");
  std::shared_ptr<Sampler> sampler = options.sampler;
  if (!sampler && options.shuffle)
    sampler = std::make_shared<RandomSampler>(dataset->size(), RandomSamplerOptions{.generator = options.generator});
  if (!sampler) sampler = std::make_shared<SequentialSampler>(dataset->size());
  const auto batches = std::make_shared<BatchSampler>(std::move(sampler), options.batch_size, options.drop_last);
  plan_ = std::make_shared<Plan>(Plan{std::move(dataset), std::move(options), batches});
}

int64_t DataLoader::size() const {
  return plan_->batches->size();
}
const Dataset& DataLoader::dataset() const {
  return *plan_->dataset;
}
const DataLoaderOptions& DataLoader::options() const {
  return plan_->options;
}
DataLoader::Iterator DataLoader::begin() const {
  return Iterator(std::make_unique<Epoch>(plan_));
}

DataLoader::Iterator::Iterator(std::unique_ptr<Epoch> epoch) : epoch_(std::move(epoch)) {
  ++*this;
}
DataLoader::Iterator::Iterator(Iterator&&) noexcept = default;
DataLoader::Iterator& DataLoader::Iterator::operator=(Iterator&&) noexcept = default;
DataLoader::Iterator::~Iterator() = default;

const Batch& DataLoader::Iterator::operator*() const {
  TANTU_CHECK(epoch_ && batch_, Error, "DataLoader: the iterator is at the end of its epoch, or was moved from");
  return *batch_;
}

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  TANTU_CHECK(epoch_, Error, "DataLoader: the iterator was moved from");
  batch_ = epoch_->next();
  return *this;
}

}  // namespace tantu::data
