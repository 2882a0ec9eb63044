#include <tantu/core/dims.h>
#include <tantu/core/dtype.h>
#include <tantu/tests/catch.h>

using namespace tantu;

TEST_CASE("broadcasting follows NumPy and names the clash") {
  CHECK(broadcast_shapes("add", {3, 1}, {1, 4}) == Shape{3, 4});
  CHECK(broadcast_shapes("add", {}, {2}) == Shape{2});
  CHECK(broadcast_shapes("add", {0, 1}, {1, 5}) == Shape{0, 5});
  CHECK(broadcast_shapes("add", {5, 3}, {3}) == Shape{5, 3});
  CHECK_THROWS_WITH(broadcast_shapes("add", {2, 3}, {2, 4}),
                    "add: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1 "
                    "(shapes [2, 3] and [2, 4])");
}

TEST_CASE("sizes from outside are checked before they are used") {
  CHECK(checked_numel("zeros", {}) == 1);
  CHECK(checked_numel("zeros", {int64_t{1} << 62, 0, int64_t{1} << 62}) == 0);
  CHECK_THROWS_WITH(checked_numel("zeros", {0, int64_t{1} << 62, int64_t{1} << 62}),
                    Catch::Contains("zeros: Stride calculation overflowed"));
  CHECK_THROWS_AS(checked_numel("zeros", {-1}), ShapeError);
  CHECK_THROWS_AS(checked_numel("zeros", {int64_t{1} << 40, int64_t{1} << 40}), ShapeError);
  CHECK_THROWS_AS(Dims(std::vector<int64_t>(13, 1)), ShapeError);
}

TEST_CASE("dimensions count from the end when negative") {
  CHECK(wrap_dim("sum", -1, 3) == 2);
  CHECK(wrap_dim("sum", 0, 0) == 0);
  CHECK(wrap_dim("sum", -1, 0) == 0);
  CHECK_THROWS_WITH(wrap_dim("sum", 3, 3),
                    "sum: Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  CHECK_THROWS_AS(wrap_dim("sum", -4, 3), IndexError);
}

TEST_CASE("contiguity ignores dimensions of one and holds for nothing") {
  CHECK(is_contiguous({2, 3}, {3, 1}));
  CHECK(is_contiguous({2, 1, 3}, {3, 77, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK(is_contiguous({0, 3}, {1, 2}));
  CHECK_FALSE(is_contiguous({2, 3}, {0, 1}));
}

TEST_CASE("promotion is PyTorch's table") {
  const DType all[] = {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64};
  for (DType a : all)
    for (DType b : all) {
      CHECK(promote_types(a, b) == promote_types(b, a));
      CHECK(promote_types(a, a) == a);
    }
  CHECK(promote_types(kFloat16, kBFloat16) == kFloat32);
  CHECK(promote_types(kInt64, kFloat16) == kFloat16);
  CHECK(promote_types(kBool, kUInt8) == kUInt8);
  CHECK(promote_types(kUInt8, kInt32) == kInt32);
}
