#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/compare.h>

#include <cmath>

using namespace tantu;
using optest::Array;
using optest::difference;

namespace {

Array values(const std::vector<double>& v) {
  Array a(Shape{static_cast<int64_t>(v.size())});
  a.data = v;
  return a;
}
Tensor floats(const std::vector<double>& v, DType t = kFloat32) {
  return tensor(v, {.dtype = t});
}

constexpr double kNaN = NAN, kInf = INFINITY, kHuge = 1e30;

}  // namespace

TEST_CASE("the comparator fails on what it must fail on, however large the tolerance") {
  REQUIRE(difference(values({kNaN}), floats({1}), kHuge) != "");
  REQUIRE(difference(values({1}), floats({kNaN}), kHuge) != "");
  REQUIRE(difference(values({kInf}), floats({-kInf}), kHuge) != "");
  REQUIRE(difference(values({kInf}), floats({1}), kHuge) != "");
  REQUIRE(difference(values({1}), floats({kInf}), kHuge) != "");
  REQUIRE(difference(values({1, 2, 3}), floats({kNaN, kNaN, kNaN}), kHuge) != "");
  REQUIRE(difference(values({kNaN, 1}), floats({1, kNaN}), kHuge) != "");
  REQUIRE(difference(values({1, 2}), floats({1}), kHuge) != "");
  REQUIRE(difference(values({1, 2}), floats({1, 2}).view({1, 2}), kHuge) != "");
  REQUIRE(difference(values({}), floats({}).view({0, 3}), kHuge) != "");
  REQUIRE(difference(values({1}), Tensor(), kHuge) != "");
  REQUIRE(difference(floats({1}), floats({1}, kFloat64), kHuge) != "");
}

TEST_CASE("the comparator passes what is equal") {
  REQUIRE(difference(values({kNaN, kInf, -kInf, 0.0}), floats({kNaN, kInf, -kInf, -0.0}), 0) == "");
  REQUIRE(difference(values({1, 100}), floats({1.5, 150}), 0.5) == "");
  REQUIRE(difference(values({1, 100}), floats({1.5, 151}), 0.5) != "");
  REQUIRE(difference(values({0.001}), floats({0.0015}), 0.0004) != "");
  REQUIRE(difference(values({}), floats({}), 0) == "");
}

TEST_CASE("references are compared as the dtype would hold them") {
  REQUIRE(difference(values({70000}), floats({kInf}, kFloat16), 0) == "");
  REQUIRE(difference(values({70000}), floats({65504}, kFloat16), 1) != "");
  REQUIRE(difference(values({-1}), tensor(std::vector<double>{255}, {.dtype = kUInt8}), 0) == "");
  REQUIRE(difference(values({7}), tensor(std::vector<double>{1}, {.dtype = kBool}), 0) == "");
  REQUIRE(difference(values({0}), tensor(std::vector<double>{1}, {.dtype = kBool}), 0) != "");
}

TEST_CASE("a difference is told with its place and both values") {
  const std::string text = difference(values({1, 2, 3, 4}), floats({1, 2, 9, 4}), 1e-6);
  INFO(text);
  REQUIRE(text.find("at [2]: 9 instead of 3") != std::string::npos);
  REQUIRE(text.find("1 of 4") != std::string::npos);
}
