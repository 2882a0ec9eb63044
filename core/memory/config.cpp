#include <tantu/core/memory/config.h>

#include <tantu/core/error.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

namespace tantu::memory {

namespace {

constexpr size_t kMostBytes = 4096;
constexpr const char* kKeys = "caching";

std::string stripped(const std::string& text) {
  const char* blanks = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool boolean(const std::string& key, std::string value) {
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (value == "true" || value == "on" || value == "1") return true;
  TANTU_CHECK(value == "false" || value == "off" || value == "0", FormatError,
              "TANTU_ALLOC_CONF: {} is \"{}\"; it takes true, false, on, off, 1 or 0", key, value);
  return false;
}

}  // namespace

Config parse_config(const std::string& text) {
  TANTU_CHECK(text.size() <= kMostBytes, FormatError, "TANTU_ALLOC_CONF: {} bytes; at most {} are read", text.size(),
              kMostBytes);
  Config config;
  std::set<std::string> seen;
  for (size_t at = 0; !stripped(text).empty() && at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string pair = stripped(text.substr(at, end - at));
    const size_t colon = pair.find(':');
    TANTU_CHECK(colon != std::string::npos && colon > 0, FormatError,
                "TANTU_ALLOC_CONF: \"{}\" at column {} is no key:value", pair, at + 1);
    const std::string key = stripped(pair.substr(0, colon)), value = stripped(pair.substr(colon + 1));
    TANTU_CHECK(seen.insert(key).second, FormatError, "TANTU_ALLOC_CONF: {} is given twice", key);
    TANTU_CHECK(key == "caching", FormatError, "TANTU_ALLOC_CONF: there is no key \"{}\"; the keys are {}", key, kKeys);
    config.caching = boolean(key, value);
    at = end + 1;
  }
  return config;
}

const Config& config() {
  static const Config parsed = [] {
    const char* text = std::getenv("TANTU_ALLOC_CONF");
    return text ? parse_config(text) : Config{};
  }();
  return parsed;
}

}  // namespace tantu::memory
