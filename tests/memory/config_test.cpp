#include <tantu/tests/catch.h>

#include <tantu/core/error.h>
#include <tantu/core/memory/config.h>

#include <random>

using namespace tantu;
using memory::parse_config;

TEST_CASE("a configuration is read whole or refused with its place") {
  CHECK(parse_config("").caching);
  CHECK(parse_config(" caching : ON ").caching);
  CHECK_FALSE(parse_config("caching:False").caching);
  CHECK_THROWS_WITH(parse_config("cashing:on"), contains("there is no key \"cashing\""));
  CHECK_THROWS_WITH(parse_config("caching:maybe"), contains("caching is \"maybe\""));
  CHECK_THROWS_WITH(parse_config("caching:on,caching:off"), contains("given twice"));
  for (const char* bad : {",", "caching", "caching:on,", ":on", "caching:", "caching:on;caching:off", "CACHING:on",
                          "c aching:on", "caching:o n"})
    CHECK_THROWS_AS(parse_config(bad), FormatError);
  CHECK_THROWS_AS(parse_config(std::string(5000, ' ')), FormatError);
}

TEST_CASE("mutated configurations give an answer or one FormatError") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::string text = "caching:on,caching:off";
    text.resize(random() % (text.size() + 1));
    for (uint64_t n = random() % 4; n > 0 && !text.empty(); --n)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    try {
      parse_config(text);
    } catch (const FormatError&) {
    }
  }
  SUCCEED();
}
