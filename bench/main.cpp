// tantu-bench: every public operation, verified before it is timed.
#include <tantu/bench/row.h>

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/thread_pool.h>
#include <tantu/version.h>

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <regex>

using namespace tantu;

namespace {

struct Options {
  bool list = false, quick = false, verify = false, planted = false;
  std::string filter, json;
};

std::string size_text(int64_t n) {
  if (n >= (1 << 20) && n % (1 << 20) == 0) return fmt::format("{}Mi", n >> 20);
  if (n >= 1024 && n % 1024 == 0) return fmt::format("{}Ki", n >> 10);
  return std::to_string(n);
}

std::string row_name(const bench::Row& row, int64_t n) {
  return fmt::format("{}/f32/{}/cpu/hot", row.name, size_text(n));
}

// A kernel that is wrong in one element: the harness must refuse to time it.
bench::Row planted_row() {
  bench::Row row;
  row.name = "planted";
  row.sizes = {1000};
  row.inputs = [](int64_t n, DType dtype) { return std::vector<Tensor>{rand({n}).to(dtype)}; };
  row.call = [](const std::vector<Tensor>& t) {
    Tensor y = t[0] * 2;
    if (y.dtype() == kFloat32) y[7].fill_(-1);
    return y;
  };
  row.bytes = [](int64_t n) { return 8.0 * static_cast<double>(n); };
  row.flops = [](int64_t n) { return static_cast<double>(n); };
  return row;
}

void time_row(benchmark::State& state, const bench::Row& row, int64_t n) {
  NoGradGuard no_grad;
  manual_seed(1);
  const std::vector<Tensor> in = row.inputs(n, kFloat32);
  row.call(in);
  for (auto _ : state) benchmark::DoNotOptimize(row.call(in).ref().get());
  state.counters["bytes/s"] =
      benchmark::Counter(row.bytes(n), benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1024);
  state.counters["flop/s"] = benchmark::Counter(row.flops(n), benchmark::Counter::kIsIterationInvariantRate);
}

int run(const Options& options, char** argv) {
  std::vector<bench::Row> all = bench::pointwise_rows();
  for (bench::Row& row : bench::rows()) all.push_back(row);
  if (options.planted) all.push_back(planted_row());
  const std::regex filter(options.filter.empty() ? std::string(".") : options.filter);
  int wrong = 0, chosen = 0;
  for (const bench::Row& row : all)
    for (int64_t n : row.sizes) {
      const std::string name = row_name(row, n);
      if (!std::regex_search(name, filter)) continue;
      if (options.quick && n != row.sizes.front()) continue;
      ++chosen;
      if (options.list) {
        fmt::print("{}\n", name);
        continue;
      }
      const double error = bench::max_error(row, row.sizes.front()), allowed = bench::tolerance(row, row.sizes.front());
      if (!(error <= allowed)) {
        fmt::print("WRONG {}: relative error {:.3g}, allowed {:.3g}; not timed\n", name, error, allowed);
        ++wrong;
        continue;
      }
      if (options.verify) {
        fmt::print("ok {} ({:.2g})\n", name, error);
        continue;
      }
      auto* b = benchmark::RegisterBenchmark(name.c_str(), [row, n](benchmark::State& s) { time_row(s, row, n); });
      b->UseRealTime();
      if (options.quick) b->MinTime(0.02);
    }
  if (chosen == 0) {
    fmt::print(stderr, "tantu-bench: no row matches \"{}\"; --list shows them\n", options.filter);
    return 2;
  }
  if (!options.list && !options.verify) {
    benchmark::AddCustomContext("tantu.version", TANTU_VERSION);
    benchmark::AddCustomContext("tantu.threads", std::to_string(get_num_threads()));
    std::vector<char*> args(argv, argv + 1);
    std::string out = "--benchmark_out=" + options.json, format = "--benchmark_out_format=json";
    if (!options.json.empty()) {
      args.push_back(out.data());
      args.push_back(format.data());
    }
    int count = static_cast<int>(args.size());
    benchmark::Initialize(&count, args.data());
    benchmark::RunSpecifiedBenchmarks();
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Examples:\n  tantu-bench --list\n  tantu-bench --filter '^(add|matmul)/' --quick\n  tantu-bench --json "
      "run.json\n\n"
      "Times every operation on the CPU in float32. Each row is compared with float64 first; a wrong one is not "
      "timed."};
  Options options;
  app.add_flag("--list", options.list, "Show the rows and stop");
  app.add_option("--filter", options.filter, "Only rows whose name matches this regular expression");
  app.add_flag("--quick", options.quick, "The smallest size only, for a short time");
  app.add_flag("--verify", options.verify, "Compare every row with float64 and time nothing");
  app.add_option("--json", options.json, "Write Google Benchmark's JSON to this file");
  app.add_flag("--planted", options.planted, "Add a row that is wrong on purpose (for the test of the harness)");
  int threads = 0;
  app.add_option("--threads", threads, "Threads of the CPU kernels");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (threads > 0) set_num_threads(threads);
    return run(options, argv);
  } catch (const std::regex_error& e) {
    fmt::print(stderr, "tantu-bench: --filter is not a regular expression: {}\n", e.what());
    return 2;
  } catch (const Error& e) {
    fmt::print(stderr, "tantu-bench: {}\n", e.what());
    return 1;
  }
}
