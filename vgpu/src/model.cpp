#include "model.h"

#include "config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <utility>

inline namespace vgpu_abi {
namespace vgpu::rt {

namespace {

constexpr size_t kMostBytes = 64 << 10;
constexpr std::pair<const char*, double TimeModel::*> keys[] = {
    {"bandwidth_gbps", &TimeModel::bandwidth}, {"gflops", &TimeModel::flops},
    {"link_gbps", &TimeModel::link},           {"kernel_start_ns", &TimeModel::kernel_start},
    {"copy_start_ns", &TimeModel::copy_start}, {"hop_ns", &TimeModel::hop}};

[[noreturn]] void bad(const std::string& source, const std::string& what) {
  std::string allowed;
  for (auto& key : keys) allowed += std::string(allowed.empty() ? "" : ", ") + key.first;
  throw ConfigError("TANTU_VGPU_MODEL=\"" + source + "\": " + what + "; expected a JSON object of " + allowed);
}

/// One object of plain strings and numbers: all of JSON that a model needs.
class Reader {
 public:
  Reader(const std::string& source, const std::string& text) : source_(source), text_(text) {}

  TimeModel model() {
    TimeModel m;
    expect('{');
    if (next() != '}') {
      do {
        const std::string key = string();
        expect(':');
        const double value = number(key);
        const auto* found = std::find_if(std::begin(keys), std::end(keys), [&](auto& k) { return key == k.first; });
        if (found == std::end(keys)) bad(source_, "unknown key \"" + key + "\"");
        m.*found->second = value;
      } while (take(','));
    }
    expect('}');
    if (next() != 0) bad(source_, "something follows the object at byte " + std::to_string(at_));
    return m;
  }

 private:
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) bad(source_, std::string("no '") + c + "' at byte " + std::to_string(at_));
  }
  std::string string() {
    expect('"');
    const size_t end = text_.find('"', at_);
    if (end == std::string::npos || end - at_ > 64) bad(source_, "no key at byte " + std::to_string(at_));
    std::string value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  double number(const std::string& key) {
    next();
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || !(value > 0) || !std::isfinite(value))
      bad(source_, "\"" + key + "\" is no number above 0 at byte " + std::to_string(at_));
    at_ += static_cast<size_t>(end - begin);
    return value;
  }

  const std::string& source_;
  const std::string& text_;
  size_t at_ = 0;
};

const TimeModel& model() {
  static const TimeModel m = config().model.empty() ? TimeModel{} : read_model(config().model);
  return m;
}

}  // namespace

TimeModel parse_model(const std::string& source, const std::string& json) {
  return Reader(source, json).model();
}

TimeModel read_model(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) bad(path, "no such file");
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMostBytes) bad(path, "more than 64 KiB");
  return parse_model(path, text);
}

void load_model() {
  model();
}

double model_kernel(double bytes, double flops, double threads) {
  const TimeModel& m = model();
  const double work =
      bytes > 0 || flops > 0 ? std::max(bytes / m.bandwidth, flops / m.flops) : threads / (sm_count * 64);
  return m.kernel_start + work;
}

double model_copy(double bytes) {
  return model().copy_start + bytes / model().link;
}

double model_collective(double steps, double bytes) {
  return steps * model().hop + bytes / model().link;
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
