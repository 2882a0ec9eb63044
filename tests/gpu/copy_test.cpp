#include <tantu/tests/gpu/pointwise_common.h>

#include <functional>

// Copies and fills on a GPU equal the CPU's byte for byte, by each of their ways and at the borders between them.
using namespace tantu;
using namespace tantu::gputest;

namespace {

using ViewOf = std::function<Tensor(const Tensor&)>;

struct Layout {
  const char* name;
  Shape shape;
  ViewOf view;
};

const Layout layouts[] = {
    {"dense", {1000}, [](const Tensor& x) { return x; }},
    {"shorter than a vector", {3}, [](const Tensor& x) { return x; }},
    {"starts at 1", {517}, [](const Tensor& x) { return x.narrow(0, 1, 516); }},
    {"starts at 3, odd", {90}, [](const Tensor& x) { return x.narrow(0, 3, 71); }},
    {"one element", {5}, [](const Tensor& x) { return x.narrow(0, 2, 1); }},
    {"transposed", {70, 45}, [](const Tensor& x) { return x.transpose(0, 1); }},
    {"transposed, whole tiles", {64, 96}, [](const Tensor& x) { return x.transpose(0, 1); }},
    {"transposed, thin", {7, 200}, [](const Tensor& x) { return x.transpose(0, 1); }},
    {"transposed, cut", {40, 50}, [](const Tensor& x) { return x.narrow(1, 1, 37).transpose(0, 1); }},
    {"a batch transposed", {3, 33, 35}, [](const Tensor& x) { return x.transpose(1, 2); }},
    {"NCHW to NHWC",
     {2, 17, 9, 11},
     [](const Tensor& x) {
       return x.permute({0, 2, 3, 1});
     }},
    {"NHWC to NCHW",
     {2, 9, 11, 16},
     [](const Tensor& x) {
       return x.permute({0, 3, 1, 2});
     }},
    {"reversed dimensions",
     {5, 6, 40},
     [](const Tensor& x) {
       return x.permute({2, 1, 0});
     }},
    {"rows swapped",
     {12, 9, 16},
     [](const Tensor& x) {
       return x.permute({1, 0, 2});
     }},
    {"columns cut", {31, 48}, [](const Tensor& x) { return x.narrow(1, 16, 24); }},
    {"columns cut, odd", {31, 47}, [](const Tensor& x) { return x.narrow(1, 5, 23); }},
    {"every third", {301}, [](const Tensor& x) { return x.slice(0, 1, {}, 3); }},
    {"expanded",
     {19, 1},
     [](const Tensor& x) {
       return x.expand({19, 40});
     }},
    {"expanded rows",
     {1, 32},
     [](const Tensor& x) {
       return x.expand({20, 32});
     }},
    {"empty", {0, 4}, [](const Tensor& x) { return x.transpose(0, 1); }},
    {"seven dimensions",
     {2, 3, 2, 3, 2, 3, 4},
     [](const Tensor& x) {
       return x.permute({6, 4, 2, 0, 1, 3, 5});
     }},
};

}  // namespace

TEST_CASE("copies between layouts and dtypes equal the CPU's") {
  for (const Device& gpu : gpu_devices())
    for (const Layout& layout : layouts)
      for (const DType from : kEveryDtype) {
        const Tensor x = draw(layout.shape, from, -100, 100, 1), there = x.to(gpu);
        for (const DType to : kEveryDtype) {
          // A negative float has no place in uint8: what becomes of it is the machine's affair.
          if (to == kUInt8 && is_floating(from)) continue;
          INFO(layout.name << ": " << name(from) << " to " << name(to) << " on " << gpu.to_string());
          const Tensor want = layout.view(x).to(to).contiguous();
          CHECK(bit_difference(layout.view(there).to(to).contiguous(), want) == "");
        }
      }
}

TEST_CASE("copies into every layout write their elements and no others") {
  for (const Device& gpu : gpu_devices())
    for (const Layout& layout : layouts) {
      if (std::string(layout.name).find("expanded") == 0) continue;
      for (const DType dtype : {kUInt8, kFloat16, kFloat32, kFloat64}) {
        INFO(layout.name << ": " << name(dtype) << " on " << gpu.to_string());
        Tensor want = full(layout.shape, 7, {.dtype = dtype}), got = want.to(gpu);
        const Tensor source = draw(layout.view(want).sizes(), dtype, 0, 100, 2);
        layout.view(want).copy_(source);
        layout.view(got).copy_(source.to(gpu));
        CHECK(bit_difference(got, want) == "");
      }
    }
}

TEST_CASE("fills write their elements and no others") {
  for (const Device& gpu : gpu_devices())
    for (const Layout& layout : layouts) {
      if (std::string(layout.name).find("expanded") == 0) continue;
      for (const DType dtype : kEveryDtype) {
        INFO(layout.name << ": " << name(dtype) << " on " << gpu.to_string());
        Tensor want = full(layout.shape, 1, {.dtype = dtype}), got = want.to(gpu);
        const Scalar value = is_integral(dtype) ? Scalar(dtype == kBool ? 0 : 113) : Scalar(-2.71828182845904);
        layout.view(want).fill_(value);
        layout.view(got).fill_(value);
        CHECK(bit_difference(got, want) == "");
      }
    }
}

TEST_CASE("more elements than a grid has threads are copied and filled") {
  for (const Device& gpu : gpu_devices()) {
    const Tensor x = draw({1100, 1003}, kUInt8, 0, 255, 3), there = x.to(gpu);
    CHECK(bit_difference(there.transpose(0, 1).contiguous(), x.transpose(0, 1).contiguous()) == "");
    CHECK(bit_difference(there.narrow(1, 1, 1001).contiguous(), x.narrow(1, 1, 1001).contiguous()) == "");
    CHECK(bit_difference(there.to(kFloat32), x.to(kFloat32)) == "");
  }
}
