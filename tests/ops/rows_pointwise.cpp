#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/pointwise_tape.h>
#include <tantu/tests/ops/op_table.h>
#include <tantu/tests/ops/row_defaults.h>

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

// The rows of kernels/pointwise.def, generated: domain, rule, smoothness and parameters come from the table, the
// float64 reference from `references` below.
namespace tantu::optest {

namespace {

using pointwise::Params;
using pointwise::Row;

struct Reference {
  double (*f)(double a, double b, double c, const double* p);
  std::vector<Params> more = {};  ///< parameters to try besides the defaults
};

// Python's a % b and a // b.
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double floor_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b), whole = std::nearbyint((a - rest) / b);
  return rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole;
}

const std::map<std::string_view, Reference> references{
    {"neg", {[](double a, double, double, const double*) { return -a; }}},
    {"abs", {[](double a, double, double, const double*) { return std::fabs(a); }}},
    {"sign", {[](double a, double, double, const double*) { return double((a > 0) - (a < 0)); }}},
    {"exp", {[](double a, double, double, const double*) { return std::exp(a); }}},
    {"expm1", {[](double a, double, double, const double*) { return std::expm1(a); }}},
    {"log", {[](double a, double, double, const double*) { return std::log(a); }}},
    {"log1p", {[](double a, double, double, const double*) { return std::log1p(a); }}},
    {"log2", {[](double a, double, double, const double*) { return std::log2(a); }}},
    {"sqrt", {[](double a, double, double, const double*) { return std::sqrt(a); }}},
    {"rsqrt", {[](double a, double, double, const double*) { return 1 / std::sqrt(a); }}},
    {"square", {[](double a, double, double, const double*) { return a * a; }}},
    {"pow_number",
     {[](double a, double, double, const double* p) { return std::pow(a, p[0]); }, {{{3}}, {{0}}, {{2}}}}},
    {"reciprocal", {[](double a, double, double, const double*) { return 1 / a; }}},
    {"sin", {[](double a, double, double, const double*) { return std::sin(a); }}},
    {"cos", {[](double a, double, double, const double*) { return std::cos(a); }}},
    {"tan", {[](double a, double, double, const double*) { return std::tan(a); }}},
    {"atan", {[](double a, double, double, const double*) { return std::atan(a); }}},
    {"tanh", {[](double a, double, double, const double*) { return std::tanh(a); }}},
    {"sigmoid", {[](double a, double, double, const double*) { return 1 / (1 + std::exp(-a)); }}},
    {"erf", {[](double a, double, double, const double*) { return std::erf(a); }}},
    {"relu", {[](double a, double, double, const double*) { return a < 0 ? 0 : a; }}},
    {"hardtanh",
     {[](double a, double, double, const double* p) { return a < p[0]   ? p[0]
                                                             : a > p[1] ? p[1]
                                                                        : a; },
      {{{0, 2}}, {{-2, -1}}}}},
    {"clamp",
     {[](double a, double, double, const double* p) { return std::isnan(a) ? a : std::min(std::max(a, p[0]), p[1]); },
      {{{-1, 1}}, {{0, INFINITY}}, {{-INFINITY, 1}}, {{1, -1}}}}},
    {"gelu_none", {[](double a, double, double, const double*) { return a * 0.5 * (1 + std::erf(a * M_SQRT1_2)); }}},
    {"gelu_tanh", {[](double a, double, double, const double*) {
       return a * 0.5 * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * (a + 0.044715 * a * a * a)));
     }}},
    {"silu", {[](double a, double, double, const double*) { return a / (1 + std::exp(-a)); }}},
    {"elu", {[](double a, double, double, const double* p) { return a > 0 ? a : p[0] * std::expm1(a); }, {{{2}}}}},
    {"selu", {[](double a, double, double, const double*) {
       return 1.0507009873554804934193349852946 * (a > 0 ? a : 1.6732632423543772848170429916717 * std::expm1(a));
     }}},
    {"leaky_relu", {[](double a, double, double, const double* p) { return a > 0 ? a : p[0] * a; }, {{{0.2}}, {{-1}}}}},
    {"softplus",
     {[](double a, double, double, const double* p) {
        return a * p[0] > p[1] ? a : std::log1p(std::exp(a * p[0])) / p[0];
      },
      {{{2, 5}}, {{0.5, 1}}}}},
    {"hardswish", {[](double a, double, double, const double*) {
       return a * (a < -3 ? 0 : a > 3 ? 6 : a + 3) / 6;
     }}},
    {"mish", {[](double a, double, double, const double*) { return a * std::tanh(std::log1p(std::exp(a))); }}},
    {"logsigmoid", {[](double a, double, double, const double*) {
       return a < 0 ? a - std::log1p(std::exp(a)) : -std::log1p(std::exp(-a));
     }}},
    {"floor", {[](double a, double, double, const double*) { return std::floor(a); }}},
    {"ceil", {[](double a, double, double, const double*) { return std::ceil(a); }}},
    {"round", {[](double a, double, double, const double*) { return std::nearbyint(a); }}},
    {"trunc", {[](double a, double, double, const double*) { return std::trunc(a); }}},
    {"isnan", {[](double a, double, double, const double*) { return double(std::isnan(a)); }}},
    {"isinf", {[](double a, double, double, const double*) { return double(std::isinf(a)); }}},
    {"isfinite", {[](double a, double, double, const double*) { return double(std::isfinite(a)); }}},
    {"logical_not", {[](double a, double, double, const double*) { return double(a == 0); }}},
    {"bitwise_not", {[](double a, double, double, const double*) { return double(~int64_t(a)); }}},
    {"add", {[](double a, double b, double, const double* p) { return a + p[0] * b; }, {{{2}}, {{-1}}}}},
    {"sub", {[](double a, double b, double, const double* p) { return a - p[0] * b; }, {{{2}}, {{-1}}}}},
    {"mul", {[](double a, double b, double, const double*) { return a * b; }}},
    {"div", {[](double a, double b, double, const double*) { return a / b; }}},
    {"div_trunc", {[](double a, double b, double, const double*) { return std::trunc(a / b); }}},
    {"floor_divide", {[](double a, double b, double, const double*) { return floor_quotient(a, b); }}},
    {"fmod", {[](double a, double b, double, const double*) { return std::fmod(a, b); }}},
    {"remainder", {[](double a, double b, double, const double*) { return modulo(a, b); }}},
    {"pow_tensor", {[](double a, double b, double, const double*) { return std::pow(a, b); }}},
    {"maximum",
     {[](double a, double b, double, const double*) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }}},
    {"minimum",
     {[](double a, double b, double, const double*) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }}},
    {"atan2", {[](double a, double b, double, const double*) { return std::atan2(a, b); }}},
    {"eq", {[](double a, double b, double, const double*) { return double(a == b); }}},
    {"ne", {[](double a, double b, double, const double*) { return double(a != b); }}},
    {"lt", {[](double a, double b, double, const double*) { return double(a < b); }}},
    {"le", {[](double a, double b, double, const double*) { return double(a <= b); }}},
    {"gt", {[](double a, double b, double, const double*) { return double(a > b); }}},
    {"ge", {[](double a, double b, double, const double*) { return double(a >= b); }}},
    {"logical_and", {[](double a, double b, double, const double*) { return double(a != 0 && b != 0); }}},
    {"logical_or", {[](double a, double b, double, const double*) { return double(a != 0 || b != 0); }}},
    {"logical_xor", {[](double a, double b, double, const double*) { return double((a != 0) != (b != 0)); }}},
    {"bitwise_and", {[](double a, double b, double, const double*) { return double(int64_t(a) & int64_t(b)); }}},
    {"bitwise_or", {[](double a, double b, double, const double*) { return double(int64_t(a) | int64_t(b)); }}},
    {"bitwise_xor", {[](double a, double b, double, const double*) { return double(int64_t(a) ^ int64_t(b)); }}},
    {"where", {[](double a, double b, double c, const double*) { return a != 0 ? b : c; }}},
    {"clamp_tensors", {[](double a, double b, double c, const double*) {
       return std::isnan(a) || std::isnan(b) || std::isnan(c) ? NAN : std::min(std::max(a, b), c);
     }}},
    {"lerp", {[](double a, double b, double c, const double*) {
       return std::fabs(c) < 0.5 ? a + c * (b - a) : b - (b - a) * (1 - c);
     }}},
    {"addcmul", {[](double a, double b, double c, const double* p) { return a + p[0] * b * c; }, {{{2}}, {{-1}}}}},
    {"addcdiv", {[](double a, double b, double c, const double* p) { return a + p[0] * b / c; }, {{{2}}, {{-0.5}}}}},
};

Case make_case(Row row, const Reference& reference, const Params& params, const std::vector<Shape>& shapes,
               const char* note) {
  const pointwise::RowInfo& info = pointwise::info(row);
  Case c;
  c.note = note;
  for (const Shape& shape : shapes)
    c.inputs.push_back(row == Row::where && c.inputs.empty()   ? mask(shape)
                       : info.smoothness == pointwise::kKinked ? off_kinks(shape, info.low, info.high)
                                                               : real(shape, info.low, info.high));
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
  const Params& usual = pointwise::row_defaults[static_cast<int>(row)];
  optest::Row y{.name = info.row};
  y.dtypes = info.rule == pointwise::kFloats     ? kFloatTypes
             : info.rule == pointwise::kIntegers ? std::vector<DType>{kInt64, kInt32, kUInt8}
                                                 : kNumberTypes;
  y.result = {info.rule == pointwise::kToFloat ? float_type : info.rule == pointwise::kToBool ? bool_type : same_type};
  y.growth = info.rule == pointwise::kToBool ? kExact : kRounded;
  y.gradient = info.smoothness == pointwise::kSmooth ? 2 : info.smoothness == pointwise::kKinked ? 1 : 0;
  const auto found = references.find(info.row);
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
    y.errors = {
        {"sizes",
         [=, dtype = y.dtypes[0]](Device d) {
           const Tensor a = zeros({2, 3}, {.dtype = dtype, .device = d}),
                        b = zeros({2, 4}, {.dtype = dtype, .device = d});
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
