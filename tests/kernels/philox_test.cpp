#include <tantu/kernels/philox.h>
#include <tantu/tests/golden/rng_json.h>

// The rule by which a GPU fills, worked out on the host.

using namespace tantu;
using Words = std::vector<uint32_t>;

namespace {
Words words(Philox4 r) {
  return {r.x, r.y, r.z, r.w};
}
}  // namespace

TEST_CASE("philox: published vectors") {
  CHECK(words(philox(0, 0, 0)) == golden::rng().at("cuda_philox").at("kat_zero").get<Words>());
  CHECK(words(philox_rounds({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u)) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(words(philox_rounds({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0)) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  const uint64_t seed = 0x299f31d0a4093822, offset = 0x85a308d3243f6a88 % (uint64_t{1} << 62) * 4,
                 subsequence = 0x0370734413198a2e;
  CHECK(words(philox(seed, offset, subsequence)) ==
        words(philox_rounds({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0)));
}

TEST_CASE("philox: uniform, normal and dropout as recorded") {
  const nlohmann::json& record = golden::rng().at("cuda_philox");
  for (const auto& [text, values] : record.at("rand").items()) {
    const uint64_t seed = std::stoull(text);
    for (size_t i = 0; i < values.size(); ++i) {
      CAPTURE(seed, i);
      CHECK(philox_uniform(philox(seed, 0, i), 0, 1) == values[i].get<float>());
      const double normal = philox_normal(philox(seed, 0, i)), want = record.at("randn_approx").at(text)[i];
      CHECK(std::abs(normal - want) <= 2e-6);
    }
  }
  const nlohmann::json& second = record.at("rand_second_call_seed0_offset4");
  for (size_t i = 0; i < second.size(); ++i)
    CHECK(philox_uniform(philox(0, kPhiloxStep, i), 0, 1) == second[i].get<float>());
  const nlohmann::json& mask = record.at("dropout_keep_mask_vec4_n16_keep0.5_seed123");
  for (size_t i = 0; i < mask.size(); ++i) CHECK(philox_keep(123, 0, i, 0.5f) == (mask[i].get<int>() == 1));
}

TEST_CASE("philox: the ends of the range") {
  CHECK(philox_unit(0) == 0x1p-33f);
  CHECK(philox_unit(0xFFFFFFFFu) == 1.0f);
  CHECK(philox_uniform({0xFFFFFFFFu, 0, 0, 0}, -3, 5) == -3.0f);
  CHECK(std::isfinite(philox_normal({0, 0, 0, 0})));
  CHECK(std::isfinite(philox_normal({0xFFFFFFFFu, 0xFFFFFFFFu, 0, 0})));
  CHECK(philox_integer({7, 9, 0, 0}, -5, 3) == -4);
  CHECK(philox_integer({1, 2, 0, 0}, 0, uint64_t{1} << 32) == 2);
  CHECK(!philox_bernoulli({0xFFFFFFFFu, 0, 0, 0}, 1.0f));
  CHECK(philox_bernoulli({0, 0, 0, 0}, 0.5f));
}
