#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/pointwise_tape.h>
#include <tantu/tests/ops/op_table.h>

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

// The rows of kernels/pointwise.def, generated: domain, rule, smoothness and parameters come from the table, the float64
// reference from `references` below.
namespace tantu::optest {

namespace {

using pointwise::Params;
using pointwise::Row;

struct Reference {
  double (*f)(double a, double b, double c, const double* p);
  std::vector<Params> more = {};  ///< parameters to try besides the defaults
};

const std::map<std::string_view, Reference> references{
    {"neg", {[](double a, double, double, const double*) { return -a; }}},
    {"exp", {[](double a, double, double, const double*) { return std::exp(a); }}},
    {"log", {[](double a, double, double, const double*) { return std::log(a); }}},
    {"sqrt", {[](double a, double, double, const double*) { return std::sqrt(a); }}},
    {"relu", {[](double a, double, double, const double*) { return a < 0 ? 0 : a; }}},
    {"add", {[](double a, double b, double, const double* p) { return a + p[0] * b; }, {{{2}}, {{-1}}}}},
    {"sub", {[](double a, double b, double, const double* p) { return a - p[0] * b; }, {{{2}}, {{-1}}}}},
    {"mul", {[](double a, double b, double, const double*) { return a * b; }}},
    {"div", {[](double a, double b, double, const double*) { return a / b; }}},
    {"eq", {[](double a, double b, double, const double*) { return double(a == b); }}},
    {"ne", {[](double a, double b, double, const double*) { return double(a != b); }}},
    {"lt", {[](double a, double b, double, const double*) { return double(a < b); }}},
    {"le", {[](double a, double b, double, const double*) { return double(a <= b); }}},
    {"gt", {[](double a, double b, double, const double*) { return double(a > b); }}},
    {"ge", {[](double a, double b, double, const double*) { return double(a >= b); }}},
};

const Params defaults[] = {
#define TANTU_UNARY(name, PARAMS, ...) {TANTU_DEFAULTS_##PARAMS},
#define TANTU_BINARY(name, PARAMS, ...) {TANTU_DEFAULTS_##PARAMS},
#define TANTU_TERNARY(name, PARAMS, ...) {TANTU_DEFAULTS_##PARAMS},
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY
};

Case make_case(Row row, const Reference& reference, const Params& params, const std::vector<Shape>& shapes, const char* note) {
  const pointwise::RowInfo& info = pointwise::info(row);
  Case c;
  c.note = note;
  for (const Shape& shape : shapes)
    c.inputs.push_back(info.smoothness == pointwise::kKinked ? off_kinks(shape, info.low, info.high) : real(shape, info.low, info.high));
  const auto operands = [](const Args& a) { return std::vector<Operand>(a.x.begin(), a.x.end()); };
  c.call = [=](const Args& a) { return pointwise::apply(row, operands(a).data(), params, Site::here()); };
  c.reference = [=, f = reference.f](const Refs& r) {
    if (r.x.size() == 1) return map(r[0], [&](double a) { return f(a, 0, 0, params.values); });
    if (r.x.size() == 2) return map(r[0], r[1], [&](double a, double b) { return f(a, b, 0, params.values); });
    return map(r[0], r[1], r[2], [&](double a, double b, double c) { return f(a, b, c, params.values); });
  };
  c.inplace = [=](const Args& a) {
    Tensor y = a[0];
    return pointwise::apply_(row, y, operands(a).data(), params, Site::here());
  };
  return c;
}

optest::Row make_row(Row row) {
  const pointwise::RowInfo& info = pointwise::info(row);
  const Params& usual = defaults[static_cast<int>(row)];
  optest::Row y{.name = info.name};
  y.dtypes = kNumberTypes;
  y.result = {info.rule == pointwise::kToFloat ? float_type : info.rule == pointwise::kToBool ? bool_type : same_type};
  y.growth = info.rule == pointwise::kToBool ? kExact : kRounded;
  y.gradient = info.smoothness == pointwise::kSmooth ? 2 : info.smoothness == pointwise::kKinked ? 1 : 0;
  const auto found = references.find(info.name);
  if (found == references.end()) return y;  // the driver fails a row without cases
  const auto arity = static_cast<size_t>(info.arity);
  const auto add = [&](const Params& params, std::vector<Shape> shapes, const char* note) {
    shapes.resize(arity);
    y.cases.push_back(make_case(row, found->second, params, shapes, note));
  };
  add(usual, {{kN}, {kN}, {kN}}, "");
  add(usual, {{3, kN}, {3, 1}, {kN}}, "broadcast");
  if (arity > 1) {
    add(usual, {{2, 3, 4}, {3, 1}, {}}, "broadcast");
    y.errors = {{"sizes", [=](Device d) {
                   const Tensor a = zeros({2, 3}, {.device = d}), b = zeros({2, 4}, {.device = d});
                   const Operand operands[] = {a, b, a};
                   pointwise::apply(row, operands, usual, Site::here());
                 },
                 fmt::format("{}: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
                             info.name)}};
  }
  for (const Params& params : found->second.more) add(params, {{7}, {7}, {7}}, "other parameters");
  return y;
}

std::vector<optest::Row> make_rows() {
  std::vector<optest::Row> rows;
  for (int r = 0; r < pointwise::kRows; ++r) rows.push_back(make_row(static_cast<Row>(r)));
  return rows;
}

const Rows rows(make_rows());

}  // namespace

}  // namespace tantu::optest
