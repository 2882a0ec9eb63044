#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/thread_pool.h>

#include <random>

// Copies between layouts, element by element against plain loops: transpositions through tiles, rows, negative strides.
using namespace tantu;

namespace {

// x's elements in row-major order, read one at a time.
std::vector<double> walked(const Tensor& x) {
  std::vector<double> list;
  visit_dtype(x.dtype(), [&]<class T>(Tag<T>) {
    const T* data = x.data_ptr<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      int64_t rest = i, offset = 0;
      for (int d = x.sizes().size() - 1; d >= 0; --d) {
        offset += rest % x.sizes()[d] * x.strides()[d];
        rest /= x.sizes()[d];
      }
      list.push_back(static_cast<double>(data[offset]));
    }
  });
  return list;
}

Tensor numbers(const Shape& sizes, DType t) {
  std::mt19937 random(static_cast<unsigned>(numel(sizes)));
  std::vector<double> v;
  for (int64_t i = 0; i < numel(sizes); ++i) v.push_back(t == kBool ? random() % 2 : random() % 128);
  return tensor(v, {.dtype = kFloat64}).to(t).reshape(sizes);
}

}  // namespace

TEST_CASE("copies of permuted, cut and repeated tensors") {
  const std::vector<Dims> orders = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}};
  for (DType t : {kFloat64, kFloat32, kFloat16, kUInt8, kBool, kInt64})
    for (const Shape& sizes : {Shape{3, 33, 65}, Shape{1, 31, 32}, Shape{64, 2, 5}, Shape{4, 0, 7}, Shape{2, 1, 129}})
      for (const Dims& order : orders) {
        const Tensor x = numbers(sizes, t).permute(order);
        CAPTURE(std::string(name(t)), sizes.to_string(), order.to_string());
        CHECK(walked(x.clone()) == walked(x));
        // Into a layout of the other kind, in the middle of other elements.
        Tensor wide = zeros({sizes[2] + 2, sizes[1], sizes[0]}, {.dtype = t}).permute({2, 1, 0});
        Tensor middle = wide.narrow(2, 1, sizes[2]);
        middle.copy_(numbers(sizes, t));
        CHECK(walked(middle) == walked(numbers(sizes, t)));
        for (int64_t edge : {int64_t{0}, sizes[2] + 1})
          for (double v : walked(wide.select(2, edge))) CHECK(v == 0);
        const Tensor half = x.slice(0, 0, {}, 2).unsqueeze(1).expand({(x.size(0) + 1) / 2, 3, x.size(1), x.size(2)});
        CHECK(walked(half.clone()) == walked(half));
      }
}

TEST_CASE("large transpositions, whatever the number of threads") {
  const int threads = get_num_threads();
  const Tensor x = numbers({517, 1025}, kFloat32);
  const std::vector<double> want = walked(x.transpose(0, 1));
  for (int t : {1, 2, 7}) {
    set_num_threads(t);
    CHECK(walked(x.transpose(0, 1).clone()) == want);
    CHECK(walked(x.unsqueeze(0).transpose(0, 2).clone()) == want);
  }
  set_num_threads(threads);
  Tensor y = zeros({1025, 517});
  y.transpose(0, 1).copy_(x);
  CHECK(walked(y) == want);
  const Tensor turned = flip(flip(x, {0, 1}).transpose(0, 1), {0, 1});
  CHECK(walked(turned) == want);
}
