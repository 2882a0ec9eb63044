#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/tests/golden/ops_cases.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

// ops.json: every case against the recorded outputs and gradients, in float32 within 1e-6 and in float64 within 1e-12
// of max(1, |value|). Cases whose operation comes later are named in pending.txt, which may only shrink.
using namespace tantu;
using nlohmann::json;

namespace {

std::string folder() {
  const char* given = std::getenv("TANTU_GOLDEN_DIR");
  return given && *given ? given : TANTU_GOLDEN_DEFAULT;
}

const json& recorded() {
  static const json file = [] {
    std::ifstream in(folder() + "/ops.json");
    REQUIRE(in);
    return json::parse(in);
  }();
  return file.at("cases");
}

std::set<std::string> pending() {
  std::ifstream in(folder() + "/pending.txt");
  REQUIRE(in);
  std::set<std::string> names;
  for (std::string name; in >> name;) REQUIRE(names.insert(name).second);
  return names;
}

double number(const json& v) {
  if (!v.is_string()) return v.get<double>();
  return v == "nan" ? NAN : v == "inf" ? INFINITY : -INFINITY;
}

Shape shape_of(const json& record) {
  return Shape(record.at("shape").get<std::vector<int64_t>>());
}

// Inputs are exact in float32, also where the figures are float64's.
Tensor to_tensor(const json& record, DType floating) {
  const std::string type = record.at("dtype");
  std::vector<double> values;
  for (const json& v : record.at("data"))
    values.push_back(type == "float32" ? static_cast<double>(static_cast<float>(number(v))) : number(v));
  const DType dtype = type == "int64" ? kInt64 : type == "bool" ? kBool : floating;
  return tensor(values, {.dtype = dtype}).view(shape_of(record));
}

void compare(const std::string& what, const json& record, const Tensor& got, double tolerance) {
  INFO(what);
  REQUIRE(got.defined());
  REQUIRE(got.sizes() == shape_of(record));
  const std::vector<double> values = got.to_vector<double>();
  const json& data = record.at("data");
  for (size_t i = 0; i < values.size(); ++i) {
    const double want = number(data[i]);
    INFO("element " << i << ": " << values[i] << " instead of " << want);
    CHECK(((std::isnan(want) && std::isnan(values[i])) || want == values[i] ||
           std::fabs(values[i] - want) <= tolerance * std::max(1.0, std::fabs(want))));
  }
}

void run(const json& c, const char* precision, DType dtype, double tolerance) {
  const json& want = c.at(precision);
  const json grads = want.value("grads", json::object()), directions = c.value("grad_outputs", json::array());
  std::map<std::string, Tensor> inputs;
  for (const auto& [name, record] : c.at("inputs").items()) {
    inputs[name] = to_tensor(record, dtype);
    if (grads.contains(name)) inputs[name].requires_grad_();
  }
  const TensorList outputs = golden::cases().at(c.at("name"))(golden::Inputs(inputs));
  REQUIRE(outputs.size() == want.at("outputs").size());
  TensorList roots, given;
  for (size_t i = 0; i < outputs.size(); ++i) {
    compare("output " + std::to_string(i), want.at("outputs")[i], outputs[i], tolerance);
    if (!outputs[i].requires_grad()) continue;
    REQUIRE(roots.size() < directions.size());
    given.push_back(to_tensor(directions[roots.size()], dtype));
    roots.push_back(outputs[i]);
  }
  REQUIRE(roots.size() == directions.size());
  if (roots.empty()) return;
  backward(roots, given);
  for (const auto& [name, record] : grads.items())
    compare("gradient of " + name, record, inputs[name].grad(), tolerance);
}

}  // namespace

TEST_CASE("every recorded case runs or is pending, not both, and nothing else is listed") {
  std::set<std::string> names;
  const std::set<std::string> waiting = pending();
  for (const json& c : recorded()) {
    const std::string name = c.at("name");
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK((golden::cases().count(name) == 1) != (waiting.count(name) == 1));
  }
  CHECK(names.size() == 113);
  for (const std::string& name : waiting) CHECK(names.count(name) == 1);
  for (const auto& [name, call] : golden::cases()) CHECK(names.count(name) == 1);
  CHECK(waiting.size() <= 14);
}

TEST_CASE("outputs and gradients are the recorded ones") {
  for (const json& c : recorded()) {
    const std::string name = c.at("name");
    if (golden::cases().count(name) == 0) continue;
    DYNAMIC_SECTION(name) {
      SECTION("float32") {
        run(c, "f32", kFloat32, 1e-6);
      }
      SECTION("float64") {
        run(c, "f64", kFloat64, 1e-12);
      }
    }
  }
}
