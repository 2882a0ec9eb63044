#include <tantu/autograd/ops.h>
#include <tantu/tests/catch.h>

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
