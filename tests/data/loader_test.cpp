#include <tantu/autograd/ops.h>
#include <tantu/data/data.h>
#include <tantu/tests/catch.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <set>
#include <thread>

#include <pthread.h>

using namespace tantu;
using data::DataLoader;

namespace {

data::TensorDataset numbers(int64_t n) {
  return data::TensorDataset(arange(n), arange(n) * 10);
}

std::vector<int64_t> seen(const DataLoader& loader) {
  std::vector<int64_t> all;
  for (auto [x, y] : loader)
    for (int64_t v : x.to_vector<int64_t>()) all.push_back(v);
  return all;
}

std::vector<int64_t> range(int64_t n) {
  return arange(n).to_vector<int64_t>();
}

/// Counts the calls in flight and the threads they came from; throws at one index.
struct Probe : data::Dataset {
  struct Log {
    std::atomic<int> calls{0}, alive{0};
    std::mutex mutex;
    std::set<std::thread::id> threads;
  };
  int64_t n, bad = -1;
  std::function<void()> fail = [] { throw ShapeError("get: broken"); };
  std::shared_ptr<Log> log = std::make_shared<Log>();
  bool slow = false;

  explicit Probe(int64_t count) : n(count) {}
  int64_t size() const override { return n; }
  data::Sample get(int64_t index) const override {
    ++log->calls;
    {
      std::lock_guard lock(log->mutex);
      log->threads.insert(std::this_thread::get_id());
    }
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(index % 3));
    if (index == bad) fail();
    return {full({2}, static_cast<double>(index)), tensor(NestedList(index))};
  }
};

// The words a call takes from the default generator.
int64_t draws(const std::function<void()>& call) {
  manual_seed(8);
  call();
  const uint32_t here = default_generator().random();
  Generator reference(8);
  for (int64_t n = 0; n < 1000; ++n)
    if (reference.random() == here) return n;
  return -1;
}

}  // namespace

TEST_CASE("loader: batches of a TensorDataset, in pairs and by index") {
  const DataLoader loader(numbers(7), {.batch_size = 3});
  CHECK(loader.size() == 3);
  int64_t batches = 0;
  for (auto [x, y] : loader) {
    CHECK(equal(y, x * 10));
    CHECK(x.size(0) == (batches == 2 ? 1 : 3));
    ++batches;
  }
  CHECK(batches == 3);
  for (const data::Batch& batch : loader) CHECK(equal(batch[1], batch[0] * 10));
  CHECK(DataLoader(numbers(7), {.batch_size = 3, .drop_last = true}).size() == 2);
  CHECK(DataLoader(numbers(6), {.batch_size = 3, .drop_last = true}).size() == 2);
  CHECK(seen(DataLoader(numbers(7), {.batch_size = 3, .drop_last = true})) == range(6));
  CHECK(seen(DataLoader(numbers(0), {.batch_size = 3, .shuffle = true})).empty());
  CHECK(DataLoader(numbers(0)).size() == 0);
}

TEST_CASE("loader: features keep their shape and dtype") {
  const Tensor X = rand({5, 2, 3}), y = tensor({0, 1, 0, 1, 1});
  for (const int workers : {0, 2}) {
    int64_t row = 0;
    for (auto [features, labels] : DataLoader(data::TensorDataset(X, y), {.batch_size = 2, .num_workers = workers})) {
      CHECK(equal(features, X.slice(0, row, row + 2)));
      CHECK(equal(labels, y.slice(0, row, row + 2)));
      row += 2;
    }
  }
}

TEST_CASE("loader: batches that are no pairs") {
  const DataLoader one(data::TensorDataset(arange(3)), {.batch_size = 2});
  CHECK_THROWS_AS(
      [&] {
        for (auto [x, y] : one) (void)x;
      }(),
      ShapeError);
  const DataLoader three(data::TensorDataset(arange(3), arange(3), arange(3) + 5), {.batch_size = 2});
  for (const data::Batch& b : three) {
    CHECK(b.size() == 3);
    CHECK(equal(b[2], b[0] + 5));
    CHECK_THROWS_AS(b[3], IndexError);
  }
}

TEST_CASE("loader: draws") {
  CHECK(draws([] { DataLoader(numbers(9), {.batch_size = 2, .shuffle = true}); }) == 0);
  for (const int workers : {0, 3}) {
    CAPTURE(workers);
    const DataLoader plain(numbers(9), {.batch_size = 2, .num_workers = workers});
    const DataLoader shuffled(numbers(9), {.batch_size = 2, .shuffle = true, .num_workers = workers});
    CHECK(draws([&] { seen(plain); }) == 2);
    CHECK(draws([&] { seen(shuffled); }) == 4);
    CHECK(draws([&] {
            for (auto [x, y] : shuffled) break;
          }) == 4);
    CHECK(draws([&] {
            seen(DataLoader(numbers(9), {.shuffle = true, .num_workers = workers, .generator = Generator(1)}));
          }) == 0);
    CHECK(draws([&] { seen(DataLoader(numbers(0), {.shuffle = true, .num_workers = workers})); }) == 4);
  }
  CHECK(draws([] { data::random_split(numbers(9), {4, 5}); }) == 8);
}

TEST_CASE("loader: an evaluation epoch moves the stream by one seed") {
  const DataLoader train(numbers(20), {.batch_size = 4, .shuffle = true}), test(numbers(3));
  manual_seed(1);
  const auto first = seen(train), second = seen(train);
  manual_seed(1);
  CHECK(seen(train) == first);
  seen(test);
  const auto moved = seen(train);
  CHECK(moved != second);
  manual_seed(1);
  default_generator().random64(), default_generator().random64(), default_generator().random64();
  CHECK(seen(train) == moved);
  CHECK(first != second);
}

TEST_CASE("loader: workers see every sample once, in order, on their own threads") {
  for (const int workers : {0, 1, 4}) {
    for (const int prefetch : {1, 5}) {
      Probe probe(53);
      probe.slow = true;
      const auto log = probe.log;
      std::vector<int64_t> order;
      for (auto [x, y] : DataLoader(probe, {.batch_size = 4, .num_workers = workers, .prefetch = prefetch})) {
        CHECK(equal(x.select(1, 0).to(kInt64), y));
        for (int64_t v : y.to_vector<int64_t>()) order.push_back(v);
      }
      CHECK(order == range(53));
      CHECK(log->calls == 53);
      CHECK((log->threads.count(std::this_thread::get_id()) == 1) == (workers == 0));
      CHECK(static_cast<int>(log->threads.size()) <= std::max(1, workers));
    }
  }
}

TEST_CASE("loader: what a worker throws arrives with its type, the sample, and the original") {
  for (const int workers : {0, 1, 4}) {
    CAPTURE(workers);
    Probe probe(60);
    probe.bad = 37;
    const auto text = [&](const Probe& p) -> std::string {
      int64_t taken = 0;
      try {
        for (auto [x, y] : DataLoader(p, {.batch_size = 5, .num_workers = workers})) taken += y.size(0);
      } catch (const ShapeError& e) {
        CHECK(taken == 35);
        try {
          std::rethrow_if_nested(e);
        } catch (const ShapeError& original) {
          CHECK(std::string(original.what()) == "get: broken");
          return e.what();
        }
      } catch (const Error& e) {
        CHECK(taken == 35);
        return std::string("Error ") + e.what();
      }
      return "nothing";
    };
    CHECK(text(probe) == "DataLoader: sample 37: get: broken");
    probe.fail = [] { throw std::runtime_error("no disk"); };
    CHECK(text(probe) == "Error DataLoader: sample 37: no disk");
    probe.fail = [] { throw 5; };
    CHECK(text(probe) == "Error DataLoader: sample 37: an exception that is no std::exception");
  }
}

TEST_CASE("loader: ragged samples ask for a collate function") {
  struct Ragged : data::Dataset {
    int64_t size() const override { return 6; }
    data::Sample get(int64_t i) const override { return {ones({i < 4 ? 2 : 3}), tensor(NestedList(i))}; }
  };
  for (const int workers : {0, 2}) {
    const auto all = [&](data::Collate collate) {
      int64_t sum = 0;
      for (const data::Batch& b : DataLoader(Ragged(), {.batch_size = 3, .num_workers = workers, .collate = collate}))
        sum += b[0].numel();
      return sum;
    };
    CHECK_THROWS_WITH(all({}),
                      contains("samples 3 … 5") && contains("tensor 0 of sample 1 of the batch is float32 [3]"));
    const auto padded = [](const std::vector<data::Sample>& samples) -> data::Batch {
      Tensor x = zeros({static_cast<int64_t>(samples.size()), 3});
      for (size_t s = 0; s < samples.size(); ++s)
        x.select(0, static_cast<int64_t>(s)).slice(0, 0, samples[s][0].size(0)).copy_(samples[s][0]);
      return std::vector<Tensor>{x};
    };
    CHECK(all(padded) == 18);
    CHECK_THROWS_WITH(all([](const std::vector<data::Sample>&) -> data::Batch { throw ValueError("collate: no"); }),
                      "DataLoader: samples 0 … 2: collate: no");
  }
}

TEST_CASE("loader: leaving early joins the workers") {
  Probe probe(1000);
  probe.slow = true;
  const auto log = probe.log;
  {
    const DataLoader loader(probe, {.batch_size = 2, .num_workers = 4});
    int64_t taken = 0;
    for (auto [x, y] : loader)
      if (++taken == 3) break;
    const int calls = log->calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    CHECK(log->calls == calls);
    CHECK(calls < 60);
    CHECK_THROWS_AS(
        [&] {
          for (auto [x, y] : loader) throw 1;
        }(),
        int);
  }
  auto it = DataLoader(probe, {.num_workers = 2}).begin();  // outlives its loader
  CHECK((*it)[1].item<int64_t>() == 0);
  ++it;
  CHECK((*it)[1].item<int64_t>() == 1);
}

TEST_CASE("loader: epochs may nest") {
  const DataLoader loader(numbers(4), {.batch_size = 2, .num_workers = 2});
  int64_t pairs = 0;
  for (auto [a, b] : loader)
    for (auto [c, d] : loader) pairs += a.size(0) * c.size(0);
  CHECK(pairs == 16);
}

TEST_CASE("loader: workers draw from base seed + their number, not from the caller's stream") {
  struct Noise : data::Dataset {
    int64_t size() const override { return 4; }
    data::Sample get(int64_t) const override { return {rand({3})}; }
  };
  const auto all = [](int workers) {
    manual_seed(6);
    std::vector<Tensor> got;
    for (const data::Batch& b : DataLoader(Noise(), {.num_workers = workers})) got.push_back(b[0]);
    return got;
  };
  const auto one = all(1), again = all(1);
  for (size_t i = 0; i < 4; ++i) CHECK(equal(one[i], again[i]));
  const uint64_t base = data::draw_seed(Generator(6));
  CHECK(equal(one[0], rand({1, 3}, {}, Generator(base))));
  CHECK(draws([] {
          for (const data::Batch& b : DataLoader(Noise(), {.num_workers = 2})) (void)b;
        }) == 2);
  CHECK(draws([] {
          for (const data::Batch& b : DataLoader(Noise())) (void)b;
        }) == 2 + 12);
}

TEST_CASE("loader: bad options") {
  CHECK_THROWS_AS(DataLoader(numbers(3), {.batch_size = 0}), ValueError);
  CHECK_THROWS_AS(DataLoader(numbers(3), {.batch_size = -1}), ValueError);
  CHECK_THROWS_AS(DataLoader(numbers(3), {.num_workers = -1}), ValueError);
  CHECK_THROWS_AS(DataLoader(numbers(3), {.num_workers = 100000}), ValueError);
  CHECK_THROWS_AS(DataLoader(numbers(3), {.prefetch = 0}), ValueError);
  const auto sampler = std::make_shared<data::SequentialSampler>(3);
  CHECK_THROWS_AS(DataLoader(numbers(3), {.shuffle = true, .sampler = sampler}), ValueError);
  CHECK(seen(DataLoader(numbers(9), {.batch_size = 2, .sampler = sampler})) == range(3));
  const auto beyond = std::make_shared<data::SequentialSampler>(4);
  CHECK_THROWS_AS(seen(DataLoader(numbers(3), {.sampler = beyond})), IndexError);
}

TEST_CASE("samplers") {
  const auto all = [](data::Sampler& s) {
    std::vector<int64_t> got;
    const data::Indices next = s.pass();
    while (const auto i = next()) got.push_back(*i);
    CHECK(!next());
    CHECK(static_cast<int64_t>(got.size()) == s.size());
    return got;
  };
  data::SequentialSampler sequential(4);
  CHECK(all(sequential) == range(4));
  data::RandomSampler more(3, {.num_samples = 8, .generator = Generator(2)});
  const auto got = all(more);
  for (const size_t start : {0u, 3u})
    CHECK(std::set<int64_t>(got.begin() + start, got.begin() + start + 3).size() == 3);
  data::RandomSampler fewer(100, {.num_samples = 8});
  CHECK(std::set<int64_t>([&] {
          const auto v = all(fewer);
          return std::set<int64_t>(v.begin(), v.end());
        }())
            .size() == 8);
  CHECK_THROWS_AS(data::SequentialSampler(-1), ValueError);
  CHECK_THROWS_AS(data::RandomSampler(-1), ValueError);
  CHECK_THROWS_AS(data::RandomSampler(3, {.num_samples = 0}), ValueError);
  CHECK_THROWS_AS(data::RandomSampler(0, {.num_samples = 2}), ValueError);
  CHECK_THROWS_AS(data::BatchSampler(nullptr, 2, false), ValueError);
  CHECK_THROWS_AS(data::BatchSampler(std::make_shared<data::SequentialSampler>(2), 0, false), ValueError);
}

TEST_CASE("distributed shares: bad ranks, small sets, no epoch no change") {
  using Options = data::DistributedIndexOptions;
  CHECK_THROWS_AS(data::distributed_indices(5, Options{.num_replicas = 2, .rank = 2}, 0), ValueError);
  CHECK_THROWS_AS(data::distributed_indices(5, Options{.num_replicas = 2, .rank = -1}, 0), ValueError);
  CHECK_THROWS_AS(data::distributed_indices(5, Options{.num_replicas = 0}, 0), ValueError);
  CHECK_THROWS_AS(data::distributed_indices(-1, Options{}, 0), ValueError);
  CHECK(data::distributed_indices(0, Options{.num_replicas = 3}, 0).empty());
  CHECK(data::distributed_indices(2, Options{.num_replicas = 3, .rank = 1, .drop_last = true}, 0).empty());
  CHECK(data::distributed_indices(1, Options{.num_replicas = 7, .rank = 6}, 4) == std::vector<int64_t>{0});
  CHECK(data::distributed_indices(5, Options{}, 2) == data::distributed_indices(5, Options{.seed = 2}, 0));
}

TEST_CASE("datasets: subsets, joined ones, splits") {
  const data::TensorDataset base = numbers(10);
  const data::Subset subset(base, {7, 0, 7});
  CHECK(subset.size() == 3);
  CHECK(subset.get(2)[1].item<int64_t>() == 70);
  CHECK(seen(DataLoader(subset, {.batch_size = 2})) == std::vector<int64_t>{7, 0, 7});
  CHECK_THROWS_AS(subset.get(3), IndexError);
  CHECK_THROWS_AS(data::Subset(base, {10}), IndexError);
  CHECK_THROWS_AS(data::Subset(base, {-1}), IndexError);

  const data::ConcatDataset joined({numbers(2), numbers(0), numbers(3)});
  CHECK(seen(DataLoader(joined, {.batch_size = 2})) == std::vector<int64_t>{0, 1, 0, 1, 2});
  CHECK_THROWS_AS(joined.get(5), IndexError);
  CHECK_THROWS_AS(data::ConcatDataset({}), ValueError);

  manual_seed(3);
  const auto parts = data::random_split(base, {3, 0, 7});
  std::vector<int64_t> order = parts[0].indices();
  order.insert(order.end(), parts[2].indices().begin(), parts[2].indices().end());
  CHECK(order == randperm(10, {}, Generator(3)).to_vector<int64_t>());
  CHECK_THROWS_AS(data::random_split(base, {3, 6}), ValueError);
  CHECK_THROWS_AS(data::random_split(base, {11, -1}), ValueError);

  CHECK_THROWS_AS(data::TensorDataset(ones({3}), ones({4})), ShapeError);
  CHECK_THROWS_AS(data::TensorDataset(tensor(NestedList(1.0))), ShapeError);
  CHECK_THROWS_AS(data::TensorDataset(std::vector<Tensor>{}), ValueError);
  CHECK_THROWS_AS(data::AnyDataset(std::shared_ptr<data::TensorDataset>()), ValueError);
  CHECK_THROWS_AS(base.get(10), IndexError);
  CHECK_THROWS_AS(base.get(-1), IndexError);
}

TEST_CASE("an iterator past its epoch, or moved from, says so") {
  const DataLoader loader(data::TensorDataset(arange(4)), {.batch_size = 4});
  auto it = loader.begin();
  auto moved = std::move(it);
  CHECK_THROWS_AS(*it, Error);
  CHECK_THROWS_AS(++it, Error);
  ++moved;
  CHECK(moved == loader.end());
  CHECK_THROWS_AS(*moved, Error);
}

TEST_CASE("more ranks than samples") {
  const int64_t many = std::numeric_limits<int64_t>::max();
  CHECK(data::distributed_indices(3, {.num_replicas = many, .rank = 4, .shuffle = false}, 0) ==
        std::vector<int64_t>{1});
}

TEST_CASE("loader: what a sampler throws, or leaves empty, is told as the dataset's faults are") {
  struct Odd : data::Sampler {
    std::function<data::Indices()> begin;
    explicit Odd(std::function<data::Indices()> f) : begin(std::move(f)) {}
    int64_t size() const override { return 3; }
    data::Indices pass() override { return begin(); }
  };
  const auto text = [](std::function<data::Indices()> f, int workers) -> std::string {
    try {
      seen(DataLoader(numbers(3), {.num_workers = workers, .sampler = std::make_shared<Odd>(std::move(f))}));
    } catch (const ValueError& e) {
      return std::string("ValueError ") + e.what();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  };
  for (const int workers : {0, 2}) {
    CHECK(text([] { return data::Indices(); }, workers) ==
          "ValueError DataLoader: sampler: BatchSampler: the sampler's pass() returned an empty function");
    CHECK(text([]() -> data::Indices { throw std::runtime_error("lost"); }, workers) == "DataLoader: sampler: lost");
    CHECK(text(
              [] {
                return [i = 0]() mutable -> std::optional<int64_t> {
                  if (i == 2) throw ValueError("next: broken");
                  return i++;
                };
              },
              workers) == "ValueError DataLoader: sampler: next: broken");
  }
}

TEST_CASE("loader: a worker that cannot start is an Error") {
  pthread_attr_t usual, huge;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  REQUIRE(pthread_attr_init(&huge) == 0);
  REQUIRE(pthread_attr_setstacksize(&huge, size_t{1} << 60) == 0);
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  std::string text;
  try {
    seen(DataLoader(numbers(3), {.num_workers = 2}));
  } catch (const Error& e) {
    text = e.what();
  } catch (const std::exception& e) {
    text = std::string("foreign: ") + e.what();
  }
  pthread_setattr_default_np(&usual);
  pthread_attr_destroy(&huge);
  CHECK_THAT(text, Catch::StartsWith("DataLoader: could not start worker 0 of 2: "));
  CHECK(seen(DataLoader(numbers(3), {.num_workers = 2})) == range(3));
}

TEST_CASE("datasets: a number is no dataset") {
  CHECK_THROWS_WITH(data::TensorDataset(tensor(1)), Catch::Contains("TensorDataset: a 0-dim tensor has no samples"));
}
