#include <tantu/tests/golden/rng_json.h>

#include <tantu/nn/init.h>

#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

// Every call recorded in rng.json: its values in bits, and the word that follows, which proves the number of draws.
// Layers are their initialisers in the order in which the layer calls them.

using namespace tantu;
using golden::Tensors;
namespace init = nn::init;

namespace {

using Case = std::function<Tensor()>;
using LayerCase = std::function<Tensors()>;

Tensor weights() {
  return tensor({0.1, 0.2, 0.3, 0.4});
}

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> table = {
      {"rand5", [] { return rand({5}); }},
      {"rand1000", [] { return rand({1000}); }},
      {"rand5_seed0", [] { return rand({5}); }},
      {"rand5_seed42", [] { return rand({5}); }},
      {"rand5_seed_big", [] { return rand({5}); }},
      {"rand5_f64", [] { return rand({5}, {.dtype = kFloat64}); }},
      {"rand8_f16", [] { return rand({8}, {.dtype = kFloat16}); }},
      {"rand8_bf16", [] { return rand({8}, {.dtype = kBFloat16}); }},
      {"uniform_m1p3_100", [] { return empty({100}).uniform_(-1.3, 2.7); }},
      {"uniform_f64_20", [] { return empty({20}, {.dtype = kFloat64}).uniform_(-1.3, 2.7); }},
      {"randn1", [] { return randn({1}); }},
      {"randn2", [] { return randn({2}); }},
      {"randn5", [] { return randn({5}); }},
      {"randn15", [] { return randn({15}); }},
      {"randn16", [] { return randn({16}); }},
      {"randn17", [] { return randn({17}); }},
      {"randn31", [] { return randn({31}); }},
      {"randn32", [] { return randn({32}); }},
      {"randn33", [] { return randn({33}); }},
      {"randn1000", [] { return randn({1000}); }},
      {"randn5_f64", [] { return randn({5}, {.dtype = kFloat64}); }},
      {"randn17_f64", [] { return randn({17}, {.dtype = kFloat64}); }},
      {"randn32_f64", [] { return randn({32}, {.dtype = kFloat64}); }},
      {"randn5_f16", [] { return randn({5}, {.dtype = kFloat16}); }},
      {"randn20_bf16", [] { return randn({20}, {.dtype = kBFloat16}); }},
      {"normal_mean1_std2_100", [] { return empty({100}).normal_(1, 2); }},
      {"normal_mean1_std2_5", [] { return empty({5}).normal_(1, 2); }},
      {"randn3_then_randn3",
       [] {
         Tensor y = empty({6});
         y.slice(0, 0, 3).copy_(randn({3}));
         y.slice(0, 3, 6).copy_(randn({3}));
         return y;
       }},
      {"randn3_then_randn16_then_randn3",
       [] {
         Tensor y = empty({22});
         y.slice(0, 0, 3).copy_(randn({3}));
         y.slice(0, 3, 19).copy_(randn({16}));
         y.slice(0, 19, 22).copy_(randn({3}));
         return y;
       }},
      {"randn_noncontig_4x8T",
       [] {
         return empty({8, 4}).t().normal_();
       }},
      {"rand_noncontig_4x3T",
       [] {
         return empty({3, 4}).t().uniform_();
       }},
      {"randint_0_10_20", [] { return randint(0, 10, {20}); }},
      {"randint_m5_1000_20", [] { return randint(-5, 1000, {20}); }},
      {"randint_0_2p40_5", [] { return randint(int64_t{1} << 40, {5}); }},
      {"randint_i32_0_100_10", [] { return randint(0, 100, {10}, {.dtype = kInt32}); }},
      {"random_i64_5", [] { return empty({5}, {.dtype = kInt64}).random_(); }},
      {"random_i32_5", [] { return empty({5}, {.dtype = kInt32}).random_(); }},
      {"random_u8_5", [] { return empty({5}, {.dtype = kUInt8}).random_(); }},
      {"random_f32_5", [] { return empty({5}).random_(); }},
      {"randperm1", [] { return randperm(1); }},
      {"randperm2", [] { return randperm(2); }},
      {"randperm5", [] { return randperm(5); }},
      {"randperm10", [] { return randperm(10); }},
      {"randperm1000", [] { return randperm(1000); }},
      {"bernoulli_scalar_p03_20", [] { return empty({20}).bernoulli_(0.3); }},
      {"bernoulli_tensor_f32_20", [] { return bernoulli(full({20}, 0.3)); }},
      {"bernoulli_tensor_f64_20", [] { return bernoulli(full({20}, 0.3, {.dtype = kFloat64})); }},
      {"exponential_10", [] { return empty({10}).exponential_(); }},
      {"multinomial_noreplace", [] { return multinomial(weights(), 3); }},
      {"multinomial_replace", [] { return multinomial(weights(), 8, true); }},
      {"dropout_p05_ones6x6",
       [] {
         return ones({6, 6}) * empty({6, 6}).bernoulli_(0.5).div_(0.5);
       }},
      {"dropout_p01_ones40", [] { return ones({40}) * empty({40}).bernoulli_(0.9).div_(0.9); }},
      {"dropout2d_p05_2x4x2x2",
       [] {
         return ones({2, 4, 2, 2}) * empty({2, 4, 1, 1}).bernoulli_(0.5).div_(0.5);
       }},
      {"xavier_uniform_5x7",
       [] {
         return init::xavier_uniform_(empty({5, 7}));
       }},
      {"xavier_normal_5x7",
       [] {
         return init::xavier_normal_(empty({5, 7}));
       }},
      {"kaiming_normal_5x7_relu",
       [] {
         return init::kaiming_normal_(empty({5, 7}), 0, "fan_in", "relu");
       }},
      {"kaiming_uniform_5x7_relu_fanout",
       [] {
         return init::kaiming_uniform_(empty({5, 7}), 0, "fan_out", "relu");
       }},
  };
  return table;
}

void linear(Tensors& to, const std::string& prefix, int64_t in, int64_t out, bool bias = true) {
  to[prefix + "weight"] = init::kaiming_uniform_(empty({out, in}), std::sqrt(5.0));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  if (bias) to[prefix + "bias"] = init::uniform_(empty({out}), -bound, bound);
}

void norm(Tensors& to, const std::string& prefix, int64_t features) {
  to[prefix + "weight"] = init::ones_(empty({features}));
  to[prefix + "bias"] = init::zeros_(empty({features}));
}

Tensors convolution(const Shape& weight, int64_t out) {
  Tensors to;
  to["weight"] = init::kaiming_uniform_(empty(weight), std::sqrt(5.0));
  const double bound = 1 / std::sqrt(static_cast<double>(init::calculate_fan_in_and_fan_out(to["weight"]).first));
  to["bias"] = init::uniform_(empty({out}), -bound, bound);
  return to;
}

void attention(Tensors& to, const std::string& prefix, int64_t embed) {
  linear(to, prefix + "out_proj.", embed, embed);
  to[prefix + "in_proj_weight"] = init::xavier_uniform_(empty({3 * embed, embed}));
  to[prefix + "in_proj_bias"] = init::zeros_(empty({3 * embed}));
  init::zeros_(to[prefix + "out_proj.bias"]);
}

Tensors recurrent(int64_t gates, int64_t in, int64_t hidden) {
  Tensors to;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (const auto& [name, sizes] :
       std::vector<std::pair<std::string, Shape>>{{"weight_ih_l0", {gates * hidden, in}},
                                                  {"weight_hh_l0", {gates * hidden, hidden}},
                                                  {"bias_ih_l0", {gates * hidden}},
                                                  {"bias_hh_l0", {gates * hidden}}})
    to[name] = init::uniform_(empty(sizes), -bound, bound);
  return to;
}

Tensors embedding(int64_t count, int64_t dim, std::optional<int64_t> padding) {
  Tensors to{{"weight", init::normal_(empty({count, dim}))}};
  if (padding) to["weight"].select(0, *padding).zero_();
  return to;
}

const std::map<std::string, LayerCase>& layers() {
  static const std::map<std::string, LayerCase> table = {
      {"Linear_2_30",
       [] {
         Tensors to;
         linear(to, "", 2, 30);
         return to;
       }},
      {"Linear_50_3_nobias",
       [] {
         Tensors to;
         linear(to, "", 50, 3, false);
         return to;
       }},
      {"Conv2d_3_4_k3",
       [] {
         return convolution({4, 3, 3, 3}, 4);
       }},
      {"Conv1d_4_4_k3_g2",
       [] {
         return convolution({4, 2, 3}, 4);
       }},
      {"ConvTranspose2d_3_4_k2",
       [] {
         return convolution({3, 4, 2, 2}, 4);
       }},
      {"Embedding_10_4", [] { return embedding(10, 4, {}); }},
      {"Embedding_10_4_pad3", [] { return embedding(10, 4, 3); }},
      {"LayerNorm_4",
       [] {
         Tensors to;
         norm(to, "", 4);
         return to;
       }},
      {"BatchNorm2d_3",
       [] {
         Tensors to{{"running_mean", zeros({3})}, {"running_var", ones({3})}};
         norm(to, "", 3);
         return to;
       }},
      {"MultiheadAttention_8_2",
       [] {
         Tensors to;
         attention(to, "", 8);
         return to;
       }},
      {"MultiheadAttention_8_2_kdim6_vdim4",
       [] {
         Tensors to;
         linear(to, "out_proj.", 8, 8);
         to["q_proj_weight"] = init::xavier_uniform_(empty({8, 8}));
         to["k_proj_weight"] = init::xavier_uniform_(empty({8, 6}));
         to["v_proj_weight"] = init::xavier_uniform_(empty({8, 4}));
         to["in_proj_bias"] = init::zeros_(empty({24}));
         init::zeros_(to["out_proj.bias"]);
         to["bias_k"] = init::xavier_normal_(empty({1, 1, 8}));
         to["bias_v"] = init::xavier_normal_(empty({1, 1, 8}));
         return to;
       }},
      {"TransformerEncoderLayer_4_2_ff8",
       [] {
         Tensors to;
         attention(to, "self_attn.", 4);
         linear(to, "linear1.", 4, 8);
         linear(to, "linear2.", 8, 4);
         norm(to, "norm1.", 4);
         norm(to, "norm2.", 4);
         return to;
       }},
      {"LSTM_3_4", [] { return recurrent(4, 3, 4); }},
      {"GRU_3_4", [] { return recurrent(3, 3, 4); }},
      {"Bilinear_2_3_4",
       [] {
         const double bound = 1 / std::sqrt(2.0);
         Tensors to{{"weight", init::uniform_(empty({4, 2, 3}), -bound, bound)}};
         to["bias"] = init::uniform_(empty({4}), -bound, bound);
         return to;
       }},
      {"PReLU",
       [] {
         return Tensors{{"weight", init::constant_(empty({3}), 0.25)}};
       }},
      {"tutorialA_init_2_30_20_2",
       [] {
         Tensors to;
         linear(to, "layers.0.", 2, 30);
         linear(to, "layers.2.", 30, 20);
         linear(to, "layers.4.", 20, 2);
         return to;
       }},
  };
  return table;
}

// Values within a tolerance, draws exact: the distance from the recording is returned.
double distance(const Tensor& t, const nlohmann::json& entry) {
  double worst = 0;
  const auto values = t.to_vector<double>();
  REQUIRE(values.size() == entry.at("data").size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - golden::number(entry.at("data")[i]));
    worst = difference <= worst ? worst : difference;  // a NaN stays
  }
  return worst;
}

const std::map<std::string, std::pair<Case, double>>& near_cases() {
  static const std::map<std::string, std::pair<Case, double>> table = {
      {"trunc_normal_50", {[] { return init::trunc_normal_(empty({50}), 0, 0.02); }, 1e-6}},
      {"orthogonal_4x4",
       {[] {
          return init::orthogonal_(empty({4, 4}));
        },
        1e-5}},
  };
  return table;
}

struct Outcome {
  Tensors tensors;
  uint32_t next;
};

template <class F>
Outcome outcome(const nlohmann::json& entry, const F& call) {
  manual_seed(entry.at("seed").template get<uint64_t>());
  Outcome got;
  if constexpr (std::is_same_v<F, Case>) got.tensors = {{"", call()}};
  else got.tensors = call();
  got.next = default_generator().random() & 0x7fffffffu;
  return got;
}

template <class F>
void check(const std::string& name, const F& call) {
  CAPTURE(name);
  const nlohmann::json& entry = golden::rng().at(name);
  const Outcome got = outcome(entry, call);
  CHECK(golden::differing(got.tensors, entry) == 0);
  CHECK(got.next == entry.at("next_u32_after").get<uint32_t>());
}

}  // namespace

TEST_CASE("every recorded fill: bits and draws") {
  for (const auto& [name, call] : cases()) check(name, call);
}

TEST_CASE("every recorded layer: initial weights in bits, and draws") {
  for (const auto& [name, call] : layers()) check(name, call);
}

TEST_CASE("initial values that rest on erfinv and QR: near, and draws exact") {
  for (const auto& [name, entry] : near_cases()) {
    CAPTURE(name);
    const nlohmann::json& record = golden::rng().at(name);
    const Outcome got = outcome(record, entry.first);
    const double far = distance(got.tensors.at(""), record);
    CHECK(!(far > entry.second));
    CHECK(far == far);
    CHECK(got.next == record.at("next_u32_after").get<uint32_t>());
  }
}

TEST_CASE("results that have lost a fused step are told apart") {
  int count = 0;
  const nlohmann::json file = golden::read("rng_nofma_differences.json");
  for (const auto& [name, entry] : file.items()) {
    if (name == "_meta" || near_cases().count(name)) continue;
    CAPTURE(name);
    ++count;
    const bool layer = layers().count(name) > 0;
    const Outcome got = layer ? outcome(entry, layers().at(name)) : outcome(entry, cases().at(name));
    const int64_t differing = golden::differing(got.tensors, entry);
    CHECK(differing > 0);
  }
  CHECK(count == 23);
}

TEST_CASE("no recorded call is left out") {
  const std::set<std::string> elsewhere = {// loader_golden_test.cpp, philox_test.cpp
                                           "dataloader_order_seed123_n5_bs2",
                                           "dataloader_order_seed7_n10_bs3",
                                           "dataloader_order_generator42_n10_bs3",
                                           "randomsampler_replacement_seed7_n10_40",
                                           "distributed_sampler",
                                           "cuda_philox",
                                           "_meta",
                                           "mt19937_raw_seed123",
                                           "mkl_build_dropout_p05_ones6x6_seed123"};
  for (const auto& [name, entry] : golden::rng().items()) {
    CAPTURE(name);
    CHECK(cases().count(name) + layers().count(name) + near_cases().count(name) + elsewhere.count(name) == 1);
  }
}

TEST_CASE("raw words of seed 123") {
  const nlohmann::json& raw = golden::rng().at("mt19937_raw_seed123");
  Generator g(123);
  std::vector<uint32_t> words;
  for (int i = 0; i < 630; ++i) words.push_back(g.random());
  CHECK(std::vector<uint32_t>(words.begin(), words.begin() + 10) == raw.at("first10").get<std::vector<uint32_t>>());
  CHECK(std::vector<uint32_t>(words.begin() + 620, words.end()) ==
        raw.at("index_620_to_629").get<std::vector<uint32_t>>());
}

TEST_CASE("the build files keep products and sums apart") {
  const auto text = [](const std::filesystem::path& path) {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  };
  const std::filesystem::path root = TANTU_SOURCE_DIR;
  CHECK(text(root / "cmake/TantuFlags.cmake").find("-ffp-contract=off") != std::string::npos);
  CHECK(text(root / "cmake/TantuLibraries.cmake").find("tantu_flags") != std::string::npos);
  std::vector<std::filesystem::path> files = {root / "CMakeLists.txt"};
  for (const auto& entry : std::filesystem::directory_iterator(root / "cmake")) files.push_back(entry.path());
  for (const auto& path : files) {
    CAPTURE(path.string());
    for (const char* flag : {"-ffast-math", "-Ofast", "-funsafe-math", "-ffp-contract=fast", "-ffp-contract=on"})
      CHECK(text(path).find(flag) == std::string::npos);
  }
}
