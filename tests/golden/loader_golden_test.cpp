#include <tantu/data/data.h>
#include <tantu/nn/init.h>
#include <tantu/tests/golden/rng_json.h>

#include <regex>

// Orders of loaders and samplers as recorded, for any number of workers.

using namespace tantu;
using data::DataLoader;
using Order = std::vector<std::vector<int64_t>>;  // one epoch: its batches

namespace {

data::TensorDataset numbers(int64_t n) {
  return data::TensorDataset(arange(n));
}

Order epoch(const DataLoader& loader) {
  Order order;
  for (const data::Batch& batch : loader) order.push_back(batch[0].to_vector<int64_t>());
  return order;
}

std::vector<Order> epochs(const DataLoader& loader, int count) {
  std::vector<Order> all;
  for (int i = 0; i < count; ++i) all.push_back(epoch(loader));
  return all;
}

std::vector<Order> recorded(const nlohmann::json& entry) {
  return entry.get<std::vector<Order>>();
}

void draw_layer(int64_t in, int64_t out) {
  nn::init::kaiming_uniform_(empty({out, in}), std::sqrt(5.0));
  nn::init::uniform_(empty({out}), -1, 1);
}

}  // namespace

TEST_CASE("loader orders, as recorded, with 0, 1 and 4 workers") {
  const nlohmann::json& three = golden::rng().at("dataloader_order_seed123_n5_bs2");
  for (const int workers : {0, 1, 4}) {
    CAPTURE(workers);
    const DataLoader loader(numbers(5), {.batch_size = 2, .shuffle = true, .num_workers = workers});
    const DataLoader dropping(numbers(5),
                              {.batch_size = 2, .shuffle = true, .drop_last = true, .num_workers = workers});
    manual_seed(123);
    CHECK(epochs(loader, 3) == recorded(three.at("after_manual_seed")));
    manual_seed(123);
    CHECK(epochs(dropping, 3) == recorded(three.at("after_manual_seed_droplast")));
    manual_seed(123);
    draw_layer(2, 30);
    draw_layer(30, 20);
    draw_layer(20, 2);
    CHECK(epochs(dropping, 3) == recorded(three.at("after_model_init_droplast")));

    manual_seed(7);
    const DataLoader ten(numbers(10), {.batch_size = 3, .shuffle = true, .num_workers = workers});
    CHECK(epochs(ten, 3) == recorded(golden::rng().at("dataloader_order_seed7_n10_bs3")));

    const DataLoader own(numbers(10),
                         {.batch_size = 3, .shuffle = true, .num_workers = workers, .generator = Generator(42)});
    CHECK(epochs(own, 3) == recorded(golden::rng().at("dataloader_order_generator42_n10_bs3")));
  }
}

TEST_CASE("a sampler with replacement, as recorded") {
  manual_seed(7);
  data::RandomSampler sampler(10, {.replacement = true, .num_samples = 40});
  std::vector<int64_t> got;
  const data::Indices next = sampler.pass();
  while (const auto index = next()) got.push_back(*index);
  CHECK(got == golden::rng().at("randomsampler_replacement_seed7_n10_40").get<std::vector<int64_t>>());
}

TEST_CASE("distributed shares, as recorded") {
  const std::regex shuffled("n(\\d+)_ws(\\d+)_rank(\\d+)_epoch(\\d+)_droplast(\\d)"),
      plain("n(\\d+)_ws(\\d+)_rank(\\d+)_noshuffle");
  int count = 0;
  manual_seed(5);
  const uint32_t first = Generator(5).random();
  for (const auto& [name, indices] : golden::rng().at("distributed_sampler").items()) {
    CAPTURE(name);
    std::smatch m;
    data::DistributedIndexOptions options;
    int64_t epoch = 0;
    if (std::regex_match(name, m, shuffled)) {
      epoch = std::stoll(m[4]);
      options.drop_last = m[5] == "1";
    } else {
      REQUIRE(std::regex_match(name, m, plain));
      options.shuffle = false;
    }
    options.num_replicas = std::stoll(m[2]);
    options.rank = std::stoll(m[3]);
    CHECK(data::distributed_indices(std::stoll(m[1]), options, epoch) == indices.get<std::vector<int64_t>>());
    ++count;
  }
  CHECK(count == 110);
  CHECK(default_generator().random() == first);
}
