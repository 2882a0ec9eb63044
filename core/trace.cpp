#include <tantu/core/trace.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace tantu {

Site& SiteScope::slot() {
  static thread_local constinit Site site;
  return site;
}

std::string called_at() {
  const Site at = SiteScope::current();
  return at ? ", called at " + std::string(at.file) + ":" + std::to_string(at.line) : "";
}

namespace trace {

std::atomic<bool> detail::on{false};

namespace {

std::mutex g_mutex;
Sink g_sink = nullptr;
void* g_context = nullptr;

void explain(const Event& e, void*) {
  constexpr const char* kinds[] = {"op", "launch", "copy", "alloc", "free", "sync"};
  const std::string device = e.device.to_string();
  std::fprintf(stderr, "tantu: %-6s %-18s %-7s", kinds[static_cast<int>(e.kind)], e.name, device.c_str());
  if (e.kind != Kind::Op) std::fprintf(stderr, " %lld B", static_cast<long long>(e.bytes));
  if (e.kind == Kind::Sync) std::fprintf(stderr, " waited %.1f us", static_cast<double>(e.waited_ns) / 1000);
  if (e.site) std::fprintf(stderr, "  %s:%d", e.site.file, e.site.line);
  std::fputc('\n', stderr);
}

[[maybe_unused]] const bool g_from_environment = [] {
  const char* text = std::getenv("TANTU_EXPLAIN");
  if (text && std::strcmp(text, "1") == 0) set_sink(explain);
  return true;
}();

}  // namespace

void set_sink(Sink sink, void* context) {
  std::lock_guard lock(g_mutex);
  g_sink = sink;
  g_context = context;
  detail::on.store(sink != nullptr);
}

void record(const Event& event) {
  std::lock_guard lock(g_mutex);
  if (g_sink) g_sink(event, g_context);
}

}  // namespace trace
}  // namespace tantu
