#include <tantu/autograd/ops.h>
#include <tantu/tests/catch.h>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace tantu;

TEST_CASE("a tensor tells what it is") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  CHECK(x.dtype() == kInt64);
  CHECK(x.sizes() == Shape{2, 3});
  CHECK(x.size(-1) == 3);
  CHECK(x.numel() == 6);
  CHECK(x.nbytes() == 48);
  CHECK(x.is_contiguous());
  CHECK(tensor({1.5, 2.0}).dtype() == kFloat32);
  CHECK(tensor({true, false}).dtype() == kBool);
  CHECK(tensor({1, 2.5}).dtype() == kFloat32);
  CHECK(tensor(3).dim() == 0);
  CHECK(tensor({{1, 2}}).sizes() == Shape{1, 2});
  CHECK(tensor({1}).sizes() == Shape{1});
  CHECK(x.to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), ShapeError);
  CHECK_THROWS_AS(x.data_ptr<float>(), DTypeError);
  CHECK_THROWS_AS(x.size(2), IndexError);
}

TEST_CASE("an empty handle says so") {
  const Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_AS(none.sizes(), Error);
  CHECK_THROWS_AS(none + 1, Error);
}

TEST_CASE("views share elements and versions") {
  Tensor x = zeros({4, 3});
  Tensor row = x[1];
  row.fill_(7);
  CHECK(x.to_vector<float>() == std::vector<float>{0, 0, 0, 7, 7, 7, 0, 0, 0, 0, 0, 0});
  CHECK(x.version() == row.version());
  CHECK(x.version() == 1);
  Tensor t = x.transpose(0, 1);
  CHECK_FALSE(t.is_contiguous());
  CHECK(t.contiguous().is_contiguous());
  CHECK(t[0].to_vector<float>() == std::vector<float>{0, 7, 0, 0});
}

TEST_CASE("item and from_blob") {
  CHECK(tensor(2.5).item<double>() == 2.5);
  CHECK(tensor({41}).item<int>() == 41);
  CHECK_THROWS_AS(tensor({1, 2}).item<int>(), ShapeError);
  float data[] = {1, 2, 3, 4};
  Tensor x = from_blob(data, {2, 2});
  x.mul_(2);
  CHECK(data[3] == 8);
  static bool freed = false;
  {
    const Tensor y = from_blob(data, {4}, {1}, [](void*) { freed = true; });
  }
  CHECK(freed);
}

TEST_CASE("creation") {
  CHECK(arange(5).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3, 4});
  CHECK(arange(1, 2, 0.25).to_vector<float>() == std::vector<float>{1, 1.25, 1.5, 1.75});
  CHECK(arange(5, 0, -2).to_vector<int64_t>() == std::vector<int64_t>{5, 3, 1});
  CHECK(linspace(0, 1, 5).to_vector<float>() == std::vector<float>{0, 0.25, 0.5, 0.75, 1});
  CHECK(eye(2, 3).to_vector<float>() == std::vector<float>{1, 0, 0, 0, 1, 0});
  CHECK(full({2}, 7).dtype() == kInt64);
  CHECK(zeros({0, 3}).numel() == 0);
  CHECK_THROWS_AS(arange(0, 5, 0), ValueError);
  CHECK_THROWS_AS(arange(0, 5, -1), ValueError);
  CHECK_THROWS_AS(zeros({-1}), ShapeError);
  CHECK_THROWS_AS(zeros({int64_t{1} << 50, int64_t{1} << 50}), ShapeError);
  CHECK_THROWS_AS(zeros({int64_t{1} << 45}), OutOfMemoryError);
}

TEST_CASE("a tensor without dimensions has no size along one") {
  const Tensor t = tensor(2.5);
  for (int64_t dim : {0, -1, 1}) {
    CHECK_THROWS_AS(t.size(dim), IndexError);
    CHECK_THROWS_AS(t.stride(dim), IndexError);
  }
}

TEST_CASE("the length of an integer range is counted in integers") {
  const int64_t big = int64_t{1} << 53, last = std::numeric_limits<int64_t>::max();
  CHECK(arange(big + 1, big + 4).to_vector<int64_t>() == std::vector<int64_t>{big + 1, big + 2, big + 3});
  CHECK(arange(last - 2, last).numel() == 2);
  CHECK(arange(-last - 1, -last + 2).numel() == 3);
  CHECK(arange(last, last - 5, -2).to_vector<int64_t>() == std::vector<int64_t>{last, last - 2, last - 4});
}

TEST_CASE("a number that a dtype cannot hold is refused, and what wraps or is infinite in PyTorch does so") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto filled = [](Scalar value, DType t) { return full({1}, value, {.dtype = t}); };
  for (const auto& [value, t] : std::initializer_list<std::pair<Scalar, DType>>{{300, kUInt8},
                                                                                {-256, kUInt8},
                                                                                {-1.0, kUInt8},
                                                                                {255.5, kUInt8},
                                                                                {inf, kUInt8},
                                                                                {1e30, kInt64},
                                                                                {NAN, kInt64},
                                                                                {0x1p63, kInt64},
                                                                                {int64_t{3000000000}, kInt32},
                                                                                {1e39, kFloat32},
                                                                                {65519, kFloat16},
                                                                                {-1e6, kFloat16},
                                                                                {3.4e38, kBFloat16}}) {
    CAPTURE(t, value.to_double());
    CHECK_THROWS_AS(filled(value, t), ValueError);
    Tensor y = zeros({3}, {.dtype = t});
    CHECK_THROWS_AS(y.fill_(value), ValueError);
    CHECK_THROWS_AS(full_like(y, value), ValueError);
    CHECK_THROWS_AS(masked_fill(y, y == 0, value), ValueError);
    CHECK_THROWS_AS(index_put_(y, {tensor({0})}, value), ValueError);
    CHECK_THROWS_AS(scatter(y, 0, tensor({0}), value), ValueError);
    CHECK(y.version() == 0);
  }
  CHECK(filled(-1, kUInt8).item<int>() == 255);
  CHECK(filled(-255, kUInt8).item<int>() == 1);
  CHECK(filled(-0x1p63, kInt64).item<int64_t>() == std::numeric_limits<int64_t>::min());
  CHECK(filled(inf, kFloat16).item<double>() == inf);
  CHECK(filled(65504, kFloat16).item<double>() == 65504);
  CHECK(filled(NAN, kBool).item<bool>());
  CHECK(tensor({1e39}).item<double>() == inf);
  CHECK(tensor({-1}, {.dtype = kUInt8}).item<int>() == 255);
  CHECK_THROWS_AS(tensor(std::vector<double>{1, NAN}, {.dtype = kInt32}), ValueError);
  CHECK_THROWS_AS(tensor(std::vector<int64_t>{300}, {.dtype = kUInt8}), ValueError);
}

TEST_CASE("item refuses a type that cannot hold the value") {
  CHECK_THROWS_WITH(tensor(1e30).item<int>(), Catch::Contains("item: value cannot be converted to type int32"));
  CHECK_THROWS_AS(tensor(300).item<uint8_t>(), ValueError);
  CHECK_THROWS_AS(tensor(NAN).item<int64_t>(), ValueError);
  CHECK_THROWS_AS(tensor(1e300, {.dtype = kFloat64}).item<float>(), ValueError);
  CHECK(tensor(2.9).item<int>() == 2);
  CHECK(std::isnan(tensor(NAN).item<float>()));
  CHECK(tensor({1LL << 40}).item<int64_t>() == int64_t{1} << 40);
}

TEST_CASE("fill_ takes 0-dim tensors only, and an expanded tensor as a whole") {
  Tensor x = zeros({2});
  CHECK_THROWS_WITH(x.fill_(tensor({3})), Catch::Contains("fill_ only supports 0-dimension value tensor but got "
                                                          "tensor with 1 dimensions"));
  Tensor cell = zeros({1}), wide = cell.expand({3});
  wide.fill_(2);
  CHECK(cell.item<float>() == 2);
  wide.zero_();
  CHECK(cell.item<float>() == 0);
  CHECK_THROWS_AS(wide.add_(1), ShapeError);
  Tensor bytes = zeros({2}, {.dtype = kUInt8});
  CHECK(bytes.fill_(tensor(300)).to_vector<int64_t>() == std::vector<int64_t>{44, 44});  // a tensor wraps, a number not
}

TEST_CASE("linspace has PyTorch's last digits") {
  const std::vector<float> got = linspace(-100, 1000, 50).to_vector<float>();
  const std::vector<float> want{461.2244873046875f, 483.6734619140625f, 506.1224365234375f, 528.5714111328125f,
                                551.0203857421875f, 573.4693603515625f, 595.9183349609375f, 618.3673095703125f,
                                640.8162841796875f, 663.2653198242188f};
  CHECK(std::vector<float>(got.begin() + 25, got.begin() + 35) == want);
  CHECK(linspace(-3.7, 4.2, 5, {.dtype = kInt32}).to_vector<int32_t>() == std::vector<int32_t>{-3, -1, 0, 2, 4});
  CHECK(linspace(0, 10, 4, {.dtype = kInt64}).to_vector<int64_t>() == std::vector<int64_t>{0, 3, 6, 10});
}
