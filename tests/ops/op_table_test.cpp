#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/gpu.h>
#include <tantu/tests/ops/compare.h>
#include <tantu/tests/ops/digest.h>
#include <tantu/tests/ops/guarded_allocator.h>
#include <tantu/tests/ops/samples.h>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

// Runs every row of the op table; see op_table.h. One row alone: TANTU_TEST_ROW=sum test_ops. The seeds of a failure
// are in its text.
using namespace tantu;
using namespace tantu::optest;

namespace {

constexpr int kMostFailures = 5;  // per row and aspect: the first ones tell

DType result_dtype(const Row& row, size_t i, DType t) {
  return row.result[row.result.size() == 1 ? 0 : i](t);
}

// About how many elements of `others` meet in one element of `y`.
double terms(const Row& row, const Tensor& y, const TensorList& others) {
  int64_t most = 1;
  for (const Tensor& t : others) most = std::max(most, t.numel());
  if (row.scan) return static_cast<double>(most);
  return std::max(1.0, static_cast<double>(most) / static_cast<double>(std::max<int64_t>(1, y.numel()))) *
         (others.size() > 1 ? 8 : 1);
}

std::string check_results(const Row& row, const Case& c, const Drawn& drawn, const TensorList& y) {
  for (size_t i = 0; i < y.size(); ++i) {
    if (!y[i].defined()) return fmt::format("result {} is undefined", i);
    const DType wanted = result_dtype(row, i, drawn.args.dtype);
    if (y[i].dtype() != wanted) return fmt::format("result {} is {} instead of {}", i, y[i].dtype(), wanted);
    if (!(y[i].device() == drawn.args.device)) return fmt::format("result {} is on {}", i, y[i].device());
  }
  if (c.property) return c.property(drawn.args, y);
  const Arrays want = c.reference(drawn.refs);
  if (want.size() != y.size()) return fmt::format("{} results instead of {}", y.size(), want.size());
  for (size_t i = 0; i < y.size(); ++i)
    if (const std::string text =
            difference(want[i], y[i], tolerance(y[i].dtype(), row.growth, terms(row, y[i], drawn.args.x)));
        !text.empty())
      return fmt::format("result {}: {}", i, text);
  return "";
}

std::string check_forward(const Row& row, const Case& c, const Setting& at, GuardedMemory& memory) {
  const Drawn drawn = draw(row, c, at);
  std::vector<std::vector<uint8_t>> before;
  for (const Tensor& x : drawn.args.x) before.push_back(storage_bytes(x));
  const TensorList y = c.call(drawn.args);
  if (const std::string text = memory.damage(); !text.empty()) return text;
  for (size_t i = 0; i < drawn.args.x.size(); ++i)
    if (storage_bytes(drawn.args.x[i]) != before[i]) return fmt::format("input {} was changed", i);
  digest(row, c, at, "forward", y);
  return check_results(row, c, drawn, y);
}

// The bytes around a tensor inside its storage, with the tensor's own blanked out.
std::vector<uint8_t> surroundings(const Tensor& t) {
  std::vector<uint8_t> bytes = storage_bytes(t);
  const int64_t item = t.element_size();
  for_each_index(t.sizes(), [&](const Dims& index) {
    int64_t place = t.storage_offset();
    for (int d = 0; d < index.size(); ++d) place += index[d] * t.strides()[d];
    std::fill_n(bytes.begin() + place * item, item, uint8_t{0});
  });
  return bytes;
}

bool can_hold(const Tensor& y, const Tensor& result) {
  return result.sizes() == y.sizes() && (can_cast(result.dtype(), y.dtype()) || result.dtype() == kBool);
}

std::string check_inplace(const Row& row, const Case& c, const Setting& at, GuardedMemory& memory) {
  Drawn drawn = draw(row, c, at), other = draw(row, c, at);
  const Tensor want = TensorList(c.call(other.args))[0];
  Tensor& y = drawn.args.x[0];
  if (at.layout == Layout::Expanded || !can_hold(y, want)) return "";
  const std::vector<uint8_t> around = surroundings(y);
  const uint32_t version = y.version();
  const Tensor returned = c.inplace(drawn.args);
  if (const std::string text = memory.damage(); !text.empty()) return text;
  if (!returned.is_same(y)) return "the in-place form does not return its tensor";
  if (y.version() == version) return "the in-place form does not count as a write";
  if (surroundings(y) != around) return "the in-place form wrote outside of its tensor";
  digest(row, c, at, "in place", {y});
  return difference(to_array(want.to(y.dtype())), y, 0);
}

// uint8 has 256 values: an input of more elements cannot have them all distinct, so such sizes are left to the wider
// types.
bool too_many_for_uint8(const Case& c, const Setting& at) {
  if (at.dtype != kUInt8) return false;
  for (const Input& input : c.inputs) {
    if (input.kind != Kind::Distinct) continue;
    int64_t count = 1;
    for (int64_t size : input.shape) count *= size == kN ? at.n : size == kS ? at.s : size;
    if (count > 256) return true;
  }
  return false;
}

template <class F>
void over_settings(const Row& row, const std::vector<DType>& dtypes, bool specials, const char* aspect, F check) {
  int failures = 0;
  for (const Device& device : devices_under_test())
    for (size_t k = 0; k < row.cases.size(); ++k)
      for (DType dtype : dtypes)
        for (const auto& [n, s] : sizes_of(row.cases[k]))
          for (Layout layout : layouts())
            for (int seed = 0; seed < seed_count(); ++seed) {
              if (row.no_layouts && layout != Layout::Contiguous) continue;
              const Setting at{device, dtype, n, s, layout, seed, specials};
              if (too_many_for_uint8(row.cases[k], at)) continue;
              std::string text;
              try {
                text = check(row.cases[k], at);
              } catch (const std::exception& e) {
                text = fmt::format("threw: {}", e.what());
              }
              if (text.empty()) continue;
              if (++failures <= kMostFailures)
                FAIL_CHECK(fmt::format("{} {} (case {} {}, {}): {}", row.name, aspect, k, row.cases[k].note,
                                       describe(at), text));
            }
  if (failures > kMostFailures) FAIL_CHECK(fmt::format("{} {}: {} failures in all", row.name, aspect, failures));
}

std::vector<DType> floating(const Row& row) {
  std::vector<DType> list;
  for (DType t : row.dtypes)
    if (is_floating(t)) list.push_back(t);
  return list;
}

// Runs `body(row)` as a section per row, or for the row that TANTU_TEST_ROW names, or for one share of the table:
// TANTU_TEST_SHARE=2/16 takes every 16th row from the third on.
template <class F>
void each_row(F body) {
  const char *wanted = std::getenv("TANTU_TEST_ROW"), *share = std::getenv("TANTU_TEST_SHARE");
  unsigned first = 0, of = 1, number = 0;
  if (share) REQUIRE((std::sscanf(share, "%u/%u", &first, &of) == 2 && first < of));
  bool found = false;
  for (const Row& row : table()) {
    if (number++ % of != first) continue;
    if (wanted && std::string_view(wanted) != row.name) continue;
    found = true;
    DYNAMIC_SECTION(row.name) {
      body(row);
    }
  }
  INFO("TANTU_TEST_ROW=" << (wanted ? wanted : ""));
  CHECK(found);
}

// ---- gradients

struct Gradients {
  TensorList inputs, outputs, of_inputs;
};

Gradients gradients(const Case& c, const Args& given, const TensorList& directions, bool create_graph) {
  Gradients g;
  Args args = given;
  for (size_t i = 0; i < args.x.size(); ++i)
    if (differentiable(c.inputs[i])) {
      args.x[i].requires_grad_();
      g.inputs.push_back(args.x[i]);
    }
  TensorList v;
  for (const Tensor& y : TensorList(c.call(args)))
    if (y.requires_grad()) {
      g.outputs.push_back(y);
      v.push_back(directions.empty() ? Tensor() : directions[v.size()].to(y.dtype()));
    }
  if (directions.empty()) return g;
  g.of_inputs = grad(g.outputs, g.inputs, v, false, create_graph, true);
  for (size_t i = 0; i < g.inputs.size(); ++i)
    if (!g.of_inputs[i].defined()) g.of_inputs[i] = zeros_like(g.inputs[i]);
  return g;
}

Growth of_gradient(Growth forward) {
  return forward == Growth::Exact ? Growth::Summed : Growth::Composed;
}

// The inputs of `drawn` in float64, contiguous, on the CPU: where gradients are known to be right by gradcheck.
Args in_float64(const Row& row, const Case& c, const Drawn& drawn) {
  Args args = drawn.args;
  args.dtype = kFloat64;
  if (!row.draws) args.device = kCPU;
  for (size_t i = 0; i < args.x.size(); ++i) {
    Array a = drawn.refs.x[i];
    args.x[i] =
        lay_out(a, differentiable(c.inputs[i]) ? kFloat64 : drawn.args.x[i].dtype(), args.device, Layout::Contiguous);
  }
  return args;
}

TensorList random_like(const TensorList& outputs, DType dtype, int seed) {
  Row none{.name = "direction"};
  TensorList list;
  for (const Tensor& y : outputs) {
    none.cases = {{.inputs = {real(y.sizes(), -1, 1)}}};
    Setting at{kCPU, dtype, 0, 0, Layout::Contiguous, seed + static_cast<int>(list.size())};
    list.push_back(draw(none, none.cases[0], at).args.x[0]);
  }
  return list;
}

std::string check_gradient(const Row& row, const Case& c, const Setting& at, GuardedMemory& memory) {
  const Drawn drawn = draw(row, c, at);
  const Args exact = in_float64(row, c, drawn);
  const TensorList v = random_like(gradients(c, exact, {}, false).outputs, at.dtype, at.seed);
  TensorList v_there, v_exact;
  for (const Tensor& t : v) {
    v_there.push_back(t.to(at.device));
    v_exact.push_back(t.to(exact.device, kFloat64));
  }
  const Gradients want = gradients(c, exact, v_exact, false);
  for (const bool create_graph : {false, true}) {
    const Gradients got = gradients(c, draw(row, c, at).args, v_there, create_graph);
    if (const std::string text = memory.damage(); !text.empty()) return text;
    digest(row, c, at, create_graph ? "gradient under create_graph" : "gradient", got.of_inputs);
    TensorList involved = want.outputs;
    involved.insert(involved.end(), want.inputs.begin(), want.inputs.end());
    for (size_t i = 0; i < got.of_inputs.size(); ++i) {
      const double allowed = tolerance(at.dtype, of_gradient(row.growth), terms(row, got.of_inputs[i], involved));
      if (got.of_inputs[i].dtype() != at.dtype) return fmt::format("gradient {} is {}", i, got.of_inputs[i].dtype());
      if (const std::string text = difference(to_array(want.of_inputs[i]), got.of_inputs[i], allowed); !text.empty())
        return fmt::format("gradient {}{}: {}", i, create_graph ? " under create_graph" : "", text);
    }
  }
  return "";
}

std::string check_numerically(const Row& row, const Case& c, const Setting& at) {
  if (at.n > 4 || at.s > 3) return "";
  const Drawn drawn = draw(row, c, at);
  // A numerical Jacobian grows with the square of the elements: cases made large on purpose have their gradient
  // compared with create_graph's only. Their row has a small case too.
  for (const Tensor& x : drawn.args.x)
    if (x.numel() > 512) return "";
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (differentiable(c.inputs[i])) Tensor(drawn.args.x[i]).requires_grad_();
  const auto fn = [&](const TensorList& x) {
    Args args = drawn.args;
    args.x = x;
    return TensorList(c.call(args));
  };
  bool any = false;
  for (const Tensor& x : drawn.args.x) any |= x.numel() > 0 && x.requires_grad();
  if (!any) return "";
  gradcheck(fn, drawn.args.x);
  if (row.gradient > 1) gradgradcheck(fn, drawn.args.x);
  return "";
}

}  // namespace

TEST_CASE("every row has cases, and every case something to compare with") {
  REQUIRE(table().size() > 0);
  std::set<std::string> names;
  for (const Row& row : table()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(!row.cases.empty());
    CHECK(!row.dtypes.empty());
    for (const Case& c : row.cases) CHECK((c.call && static_cast<bool>(c.reference) != static_cast<bool>(c.property)));
    if (row.no_specials) WARN(row.name << ": not fed NaN and inf: " << row.no_specials);
    if (row.no_layouts) WARN(row.name << ": fed contiguous inputs only: " << row.no_layouts);
  }
}

TEST_CASE("forward equals the float64 reference") {
  GuardedMemory memory;
  each_row([&](const Row& row) {
    over_settings(row, row.dtypes, false, "forward",
                  [&](const Case& c, const Setting& at) { return check_forward(row, c, at, memory); });
    SUCCEED();
  });
}

TEST_CASE("NaN and infinity come out where the reference has them") {
  GuardedMemory memory;
  each_row([&](const Row& row) {
    if (!row.no_specials)
      over_settings(row, floating(row), true, "specials",
                    [&](const Case& c, const Setting& at) { return check_forward(row, c, at, memory); });
    SUCCEED();
  });
}

TEST_CASE("in place gives the same numbers and writes nothing else") {
  GuardedMemory memory;
  each_row([&](const Row& row) {
    over_settings(row, row.dtypes, false, "in place", [&](const Case& c, const Setting& at) {
      return c.inplace ? check_inplace(row, c, at, memory) : std::string();
    });
    SUCCEED();
  });
}

TEST_CASE("gradients in every floating dtype equal those in float64, with and without create_graph") {
  GuardedMemory memory;
  each_row([&](const Row& row) {
    if (row.gradient > 0)
      over_settings(row, floating(row), false, "gradient",
                    [&](const Case& c, const Setting& at) { return check_gradient(row, c, at, memory); });
    SUCCEED();
  });
}

TEST_CASE("gradients and their gradients equal finite differences", "[finite_differences]") {
  each_row([&](const Row& row) {
    if (row.gradient > 0)
      over_settings(row, {kFloat64}, false, "gradcheck",
                    [&](const Case& c, const Setting& at) { return check_numerically(row, c, at); });
    SUCCEED();
  });
}

TEST_CASE("misuse is told in the same words on every device") {
  each_row([&](const Row& row) {
    for (const Device& device : devices_under_test())
      for (const ErrorCase& error : row.errors) {
        INFO(row.name << ": " << error.note << " on " << device.to_string());
        try {
          error.call(device);
          gpu::synchronize(device);  // a kernel's bad index
          FAIL_CHECK("did not throw");
        } catch (const Error& e) {
          INFO(e.what());
          CHECK(std::string(e.what()).find(error.text) != std::string::npos);
        }
      }
    SUCCEED();
  });
}
