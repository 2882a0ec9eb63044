#include <tantu/tests/golden/rng_json.h>

#include <functional>
#include <set>

// Every call recorded in rng.json: its values in bits, and the word that follows, which proves the number of draws.

using namespace tantu;
using golden::Tensors;

namespace {

using Case = std::function<Tensor()>;

Tensor weights() { return tensor({0.1, 0.2, 0.3, 0.4}); }

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
      {"randn3_then_randn3", [] {
         Tensor y = empty({6});
         y.slice(0, 0, 3).copy_(randn({3}));
         y.slice(0, 3, 6).copy_(randn({3}));
         return y;
       }},
      {"randn3_then_randn16_then_randn3", [] {
         Tensor y = empty({22});
         y.slice(0, 0, 3).copy_(randn({3}));
         y.slice(0, 3, 19).copy_(randn({16}));
         y.slice(0, 19, 22).copy_(randn({3}));
         return y;
       }},
      {"randn_noncontig_4x8T", [] { return empty({8, 4}).t().normal_(); }},
      {"rand_noncontig_4x3T", [] { return empty({3, 4}).t().uniform_(); }},
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
  };
  return table;
}

struct Outcome {
  int64_t differing;
  uint32_t next;
};

Outcome outcome(const std::string& name, const Case& call) {
  const nlohmann::json& entry = golden::rng().at(name);
  manual_seed(entry.at("seed").get<uint64_t>());
  const int64_t differing = golden::differing(Tensors{{"", call()}}, entry);
  return {differing, default_generator().random() & 0x7fffffffu};
}

}  // namespace

TEST_CASE("every recorded fill: bits and draws") {
  for (const auto& [name, call] : cases()) {
    CAPTURE(name);
    const Outcome got = outcome(name, call);
    CHECK(got.differing == 0);
    CHECK(got.next == golden::rng().at(name).at("next_u32_after").get<uint32_t>());
  }
}
