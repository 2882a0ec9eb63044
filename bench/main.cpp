// tantu-bench: every public operation, verified before it is timed.
#include <tantu/bench/row.h>
#include <tantu/bench/sampler.h>

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/gpu.h>
#include <tantu/core/thread_pool.h>
#include <tantu/version.h>

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <regex>

using namespace tantu;

namespace {

struct Options {
  bool list = false, quick = false, largest = false, verify = false, planted = false;
  std::string filter, json, csv, device = "cpu";
  double min_time = 0.2;
};

// Lines of comma-separated values, on disk as soon as they are known: a run that is killed keeps its rows.
class Csv {
 public:
  explicit Csv(const std::string& path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "w");
    TANTU_CHECK(file_, Error, "tantu-bench: --csv: cannot write {}", path);
    write("name,status,p25_s,p50_s,p75_s,samples,batch,bytes,flops,bytes_per_s,flops_per_s,frac_copy,error\n");
  }
  ~Csv() {
    if (file_) std::fclose(file_);
  }
  Csv(const Csv&) = delete;
  Csv& operator=(const Csv&) = delete;
  void write(const std::string& line) {
    if (!file_) return;
    std::fputs(line.c_str(), file_);
    std::fflush(file_);
  }

 private:
  std::FILE* file_ = nullptr;
};

// What a run knows while its rows are timed.
struct Run {
  Options options;
  Device device;
  Csv csv{options.csv};
  double copy_rate = 0;  // bytes per second of the driver's copy on this GPU, in this run
  int wrong = 0;
};

// A kernel that is wrong in one element: the harness must refuse to time it.
bench::Row planted_row() {
  bench::Row row;
  row.name = "planted";
  row.sizes = {1000};
  row.inputs = [](int64_t n, const TensorOptions& options) { return std::vector<Tensor>{rand({n}, options)}; };
  row.call = [](const std::vector<Tensor>& t) {
    Tensor y = t[0] * 2;
    if (y.dtype() == kFloat32) y[7].fill_(-1);
    return y;
  };
  row.bytes = [](int64_t n) { return 8.0 * static_cast<double>(n); };
  row.flops = [](int64_t n) { return static_cast<double>(n); };
  return row;
}

// What a row threw: it counts as wrong, the others go on.
void failed(Run& run, const std::string& name, const std::string& what) {
  fmt::print("ERROR {}: {}\n", name, what);
  run.csv.write(fmt::format("{},ERROR,,,,,,,,,,,\n", name));
  ++run.wrong;
}

// Refuses a row whose numbers are wrong.
bool is_right(Run& run, const std::string& name, double error, double allowed) {
  if (error <= allowed) return true;
  fmt::print("WRONG {}: relative error {:.3g}, allowed {:.3g}; not timed\n", name, error, allowed);
  run.csv.write(fmt::format("{},WRONG,,,,,,,,,,,{:.3g}\n", name, error));
  ++run.wrong;
  return false;
}

void time_verified(benchmark::State& state, Run& run, const bench::Row& row, int64_t n, double error) {
  NoGradGuard no_grad;
  manual_seed(1);
  const std::string name = bench::name_of(row, n, run.device);
  const std::vector<Tensor> in = row.inputs(n, {.dtype = row.dtype, .device = run.device});
  if (!run.device.is_cpu()) {
    error = std::max(error, bench::error_at_size(row, in));
    if (!is_right(run, name, error, bench::tolerance(row))) return state.SkipWithError("wrong numbers");
  }
  bench::Timing t;
  for (auto _ : state) {
    t = bench::sample(run.device, run.options.min_time, [&] { benchmark::DoNotOptimize(row.call(in).ref().get()); });
    state.SetIterationTime(t.p50);
  }
  const double bytes = row.bytes(n), flops = row.flops(n);
  if (row.name == "ceiling_copy") run.copy_rate = bytes / t.p50;
  const double frac_copy = run.copy_rate > 0 ? bytes / t.p50 / run.copy_rate : 0;
  state.counters["bytes/s"] =
      benchmark::Counter(bytes / t.p50, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
  state.counters["flop/s"] = flops / t.p50;
  state.counters["noise"] = (t.p75 - t.p25) / t.p50;
  if (run.copy_rate > 0) state.counters["frac_copy"] = frac_copy;
  if (run.device.type() == DeviceType::VGPU) state.SetLabel("emulation");
  run.csv.write(fmt::format("{},ok,{:.6g},{:.6g},{:.6g},{},{},{:.0f},{:.0f},{:.6g},{:.6g},{},{:.3g}\n", name, t.p25,
                            t.p50, t.p75, t.samples, t.batch, bytes, flops, bytes / t.p50, flops / t.p50,
                            run.copy_rate > 0 ? fmt::format("{:.4f}", frac_copy) : "", error));
}

void time_row(benchmark::State& state, Run& run, const bench::Row& row, int64_t n, double error) {
  try {
    time_verified(state, run, row, n, error);
  } catch (const Error& e) {
    failed(run, bench::name_of(row, n, run.device), e.what());
    state.SkipWithError("threw");
  }
}

// Every row that may be asked for; on a GPU the driver's copy comes first, which the others are compared with.
std::vector<bench::Row> all_rows(const Run& run) {
  std::vector<bench::Row> all;
  if (!run.device.is_cpu()) all = bench::gpu_rows(run.device);
  for (bench::Row& row : bench::pointwise_rows()) all.push_back(row);
  for (bench::Row& row : bench::rows()) all.push_back(row);
  for (bench::Row& row : bench::kernel_rows()) all.push_back(row);
  if (run.options.planted) all.push_back(planted_row());
  return all;
}

// Lists, verifies or registers one row at one size.
void take(Run& run, const bench::Row& row, int64_t n) {
  const std::string name = bench::name_of(row, n, run.device);
  if (run.options.list) {
    fmt::print("{}\n", name);
    return;
  }
  double error = 0;
  try {
    error = bench::max_error(row, run.device);
  } catch (const Error& e) {
    return failed(run, name, e.what());
  }
  if (!is_right(run, name, error, bench::tolerance(row))) return;
  if (run.options.verify) {
    fmt::print("ok {} ({:.2g})\n", name, error);
    return;
  }
  benchmark::RegisterBenchmark(name.c_str(),
                               [&run, row, n, error](benchmark::State& s) { time_row(s, run, row, n, error); })
      ->UseManualTime()
      ->Iterations(1);
}

void time_all(const Options& options, Device device, char** argv) {
  benchmark::AddCustomContext("tantu.version", TANTU_VERSION);
  benchmark::AddCustomContext("tantu.threads", std::to_string(get_num_threads()));
  benchmark::AddCustomContext("tantu.device", device.to_string());
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

int run(const Options& options, char** argv) {
  Run run{options, Device(options.device)};
  const std::regex filter(options.filter.empty() ? std::string(".") : options.filter);
  int chosen = 0;
  for (const bench::Row& row : all_rows(run))
    for (int64_t n : bench::sizes_on(row, run.device)) {
      // On a GPU the copy is always measured: the others are told as fractions of it.
      const bool needed = row.name == "ceiling_copy" && !options.list && !options.verify;
      if (!std::regex_search(bench::name_of(row, n, run.device), filter) && !needed) continue;
      if (options.quick && n != bench::sizes_on(row, run.device).front()) continue;
      if (options.largest && n != bench::sizes_on(row, run.device).back()) continue;
      if (std::regex_search(bench::name_of(row, n, run.device), filter)) ++chosen;
      take(run, row, n);
    }
  if (chosen == 0) {
    fmt::print(stderr, "tantu-bench: no row matches \"{}\"; --list shows them\n", options.filter);
    return 2;
  }
  if (!options.list && !options.verify) time_all(options, run.device, argv);
  return run.wrong == 0 ? 0 : 1;
}

// Why a GPU that was asked for is not there; empty if it is.
std::string missing_gpu(const std::string& device) {
  for (DeviceType type : {DeviceType::CUDA, DeviceType::VGPU})
    if (device.starts_with(name(type)) && !gpu::is_available(type))
      return gpu::unavailable_reason(type) + (type == DeviceType::VGPU ? " (TANTU_VGPU_DEVICES=1 makes one)" : "");
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Examples:\n  tantu-bench --list\n  tantu-bench --filter '^(add|matmul)/' --quick\n  tantu-bench --device cuda "
      "--csv run.csv\n\n"
      "Times every operation in float32. Each row is compared with float64 first; a wrong one is not timed. On a GPU "
      "products by library and dtype and the ceilings come in, and every rate stands beside the driver's copy of the "
      "same run. Ends with 0, 1 (a row was wrong), 2 (the command line is), or 77 (there is no such GPU)."};
  Options options;
  app.add_flag("--list", options.list, "Show the rows and stop");
  app.add_option("--filter", options.filter, "Only rows whose name matches this regular expression");
  app.add_option("--device", options.device,
                 "cpu, cuda or vgpu:0. A virtual GPU shows that the rows run: its times are labelled emulation");
  app.add_flag("--quick", options.quick, "The smallest size only, for a short time");
  app.add_flag("--largest", options.largest, "The largest size only");
  app.add_option("--min-time", options.min_time, "Seconds of samples a row")->check(CLI::PositiveNumber);
  app.add_flag("--verify", options.verify, "Compare every row with float64 and time nothing");
  app.add_option("--json", options.json, "Write Google Benchmark's JSON to this file");
  app.add_option("--csv", options.csv, "Write one line a row to this file, as soon as it is known");
  app.add_flag("--planted", options.planted, "Add a row that is wrong on purpose (for the test of the harness)");
  int threads = 0;
  app.add_option("--threads", threads, "Threads of the CPU kernels");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (const std::string reason = missing_gpu(options.device); !reason.empty()) {
      fmt::print(stderr, "SKIPPED: tantu-bench: --device {}: {}\n", options.device, reason);
      return 77;
    }
    if (options.quick) options.min_time = 0.02;
    if (threads > 0) set_num_threads(threads);
    return run(options, argv);
  } catch (const std::regex_error& e) {
    fmt::print(stderr, "tantu-bench: --filter is not a regular expression: {}\n", e.what());
    return 2;
  } catch (const DeviceError& e) {
    fmt::print(stderr, "tantu-bench: {}\n", e.what());
    return 2;
  } catch (const Error& e) {
    fmt::print(stderr, "tantu-bench: {}\n", e.what());
    return 1;
  }
}
