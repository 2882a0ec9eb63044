#include "immortal.h"
#include "runtime.h"

#include <cstring>

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {
namespace {

struct Rule {
  std::string call;  ///< or "*"
  long at;
  bool onwards;
  int error;  ///< 0: the call's natural one
};
struct Faults {
  std::mutex mutex;
  std::vector<Rule> rules;
  std::unordered_map<std::string, long> counts;
  long total = 0, fired = 0;
};
Faults& faults() {
  return immortal<Faults>();
}
std::atomic<bool> active{false};

Rule parse_rule(const std::string& text, const std::string& spec) {
  auto malformed = [&] {
    return ConfigError("TANTU_VGPU_FAIL=\"" + spec + "\": \"" + text +
                       "\" is not CALL@N, CALL@N+ or CALL@N:ERROR (CALL may be *)");
  };
  size_t at = text.find('@');
  if (at == std::string::npos || at == 0) throw malformed();
  Rule rule{text.substr(0, at), 0, false, 0};
  const char* p = text.c_str() + at + 1;
  char* end = nullptr;
  if (*p < '0' || *p > '9') throw malformed();
  rule.at = std::strtol(p, &end, 10);
  if (*end == '+') rule.onwards = true, ++end;
  if (*end == ':') {
    p = end + 1;
    if (*p < '0' || *p > '9') throw malformed();
    rule.error = static_cast<int>(std::strtol(p, &end, 10));
    if (rule.error <= 0 || rule.error > 999) throw malformed();
  }
  if (*end || rule.at < 1) throw malformed();
  return rule;
}

}  // namespace

void parse_faults(const std::string& spec) {
  std::vector<Rule> rules;
  for (size_t start = 0; start < spec.size();) {
    size_t comma = std::min(spec.find(',', start), spec.size());
    rules.push_back(parse_rule(spec.substr(start, comma - start), spec));
    start = comma + 1;
    if (comma + 1 == spec.size()) parse_rule("", spec);
  }
  Faults& f = faults();
  std::lock_guard lock(f.mutex);
  f.rules = std::move(rules);
  f.counts.clear();
  f.total = f.fired = 0;
  active = !f.rules.empty();
}

cudaError_t injected_error(const char* call, cudaError_t natural) {
  if (!active.load(std::memory_order_relaxed)) return cudaSuccess;
  Faults& f = faults();
  std::lock_guard lock(f.mutex);
  long count = ++f.counts[call], total = ++f.total;
  for (auto& rule : f.rules) {
    long n = rule.call == "*" ? total : rule.call == call ? count : 0;
    if (n != rule.at && !(rule.onwards && n > rule.at)) continue;
    ++f.fired;
    auto error = rule.error ? static_cast<cudaError_t>(rule.error) : natural;
    return reject(error, std::string(call) + " call " + std::to_string(n) + ": injected failure");
  }
  return cudaSuccess;
}

}  // namespace rt

void fail(const std::string& spec) {
  rt::parse_faults(spec);
}
long injected() {
  std::lock_guard lock(rt::faults().mutex);
  return rt::faults().fired;
}

}  // namespace vgpu
}  // namespace vgpu_abi
