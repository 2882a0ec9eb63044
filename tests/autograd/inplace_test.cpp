#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>

// Programs that write in place, and the gradients PyTorch 2.15 gives for them.
using namespace tantu;

namespace {

struct Program {
  const char* title;
  Tensor (*run)(const Tensor& x, const Tensor& w);
  double loss;
  std::vector<double> gx, gw;
};

const Program programs[] = {
    {"a row of a product is scaled",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 2;
       y[0].mul_(w);
       return (y * y).sum();
     },
     469.0,
     {2.0, 16.0, 96.0, 32.0, 40.0, 48.0},
     {4.0, -32.0, 144.0}},
    {"a view sees what is written to its base",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x.clone();
       Tensor v = y.select(1, 1);
       y.mul_(3);
       return (v * v).sum();
     },
     261.0,
     {0.0, 36.0, 0.0, 0.0, 90.0, 0.0},
     {0.0, 0.0, 0.0}},
    {"a view sees what is written through another view",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x.clone();
       Tensor a = y[0], b = y.select(1, 0);
       a.add_(w);
       return (b * b).sum();
     },
     18.25,
     {3.0, 0.0, 0.0, 8.0, 0.0, 0.0},
     {3.0, 0.0, 0.0}},
    {"rows are assigned",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = zeros({2, 3}, {.dtype = kFloat64});
       y[0].copy_(w);
       y[1].copy_(x[1] * w);
       return (y * y).sum();
     },
     178.25,
     {0.0, 0.0, 0.0, 2.0, 10.0, 48.0},
     {17.0, -52.0, 148.0}},
    {"rows are assigned in a loop",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = zeros({3, 3}, {.dtype = kFloat64});
       for (int i = 0; i < 3; ++i) y[i].copy_(x[i % 2] * w[i]);
       return (y * y * y).sum();
     },
     -112.5,
     {24.375, 97.5, 219.375, -48.0, -75.0, -108.0},
     {27.0, 1215.0, 432.0}},
    {"a column, through a transpose",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.t()[1].mul_(2);
       return (y * y).sum();
     },
     178.0,
     {2.0, 16.0, 6.0, 8.0, 40.0, 12.0},
     {0.0, 0.0, 0.0}},
    {"a slice of a reshaped view",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.view({6}).slice(0, 1, 4).mul_(w);
       return (y * y * y).sum();
     },
     828.0,
     {3.0, 1.5, -27.0, 384.0, 75.0, 108.0},
     {6.0, 81.0, 768.0}},
    {"every second element",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.view({6}).slice(0, 0, 6, 2).add_(w);
       return (y * y * y).sum();
     },
     642.375,
     {6.75, 12.0, 12.0, 48.0, 147.0, 108.0},
     {6.75, 12.0, 147.0}},
    {"a diagonal",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.diagonal().add_(w.slice(0, 0, 2));
       return (y * y).sum();
     },
     83.25,
     {3.0, 4.0, 6.0, 8.0, 8.0, 12.0},
     {3.0, 8.0, 0.0}},
    {"a chain of writes",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.add_(1);
       y.mul_(w);
       y[1].sub_(w);
       y.div_(4);
       return (y * y).sum();
     },
     15.4375,
     {0.0625, 0.375, 2.0, 0.125, 0.625, 3.0},
     {1.25, -4.25, 13.0}},
    {"a write after an operation that saved its result only",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 0.5;
       Tensor z = exp(y);
       y.add_(5);
       return z.sum() + (y * w).sum();
     },
     70.25577915231904,
     {1.074360635350064, 0.8591409142295225, 3.2408445351690323, 3.944528049465325, 5.591246980351737,
      11.042768461593834},
     {12.5, 13.5, 14.5}},
    {"a row is filled with a constant",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y[0].fill_(7);
       return (y * w).sum();
     },
     19.5,
     {0.0, 0.0, 0.0, 0.5, -1.0, 2.0},
     {11.0, 12.0, 13.0}},
    {"everything is zeroed and built again",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.zero_();
       y.add_(w);
       y[0].mul_(x[1]);
       return (y * y).sum();
     },
     178.25,
     {0.0, 0.0, 0.0, 2.0, 10.0, 48.0},
     {17.0, -52.0, 148.0}},
    {"a write through a detached view is not seen by the tape",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       Tensor d = y[0].detach();
       d.add_(10);
       return (y * 2).sum() + w.sum();
     },
     103.5,
     {2.0, 2.0, 2.0, 2.0, 2.0, 2.0},
     {1.0, 1.0, 1.0}},
    {"an expanded tensor, cloned and written",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = w.expand({2, 3}).clone();
       y[1].mul_(x[0]);
       return (y * y).sum();
     },
     45.5,
     {0.5, 4.0, 24.0, 0.0, 0.0, 0.0},
     {2.0, -10.0, 40.0}},
    {"scaled by its own sum",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.mul_(y.sum());
       return (y * w).sum();
     },
     283.5,
     {24.0, -7.5, 55.5, 24.0, -7.5, 55.5},
     {105.0, 147.0, 189.0}},
    {"overwritten by a broadcast row",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.copy_(w);
       return (y * y).sum() + x.sum();
     },
     31.5,
     {1.0, 1.0, 1.0, 1.0, 1.0, 1.0},
     {2.0, -4.0, 8.0}},
    {"a view of a view",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       Tensor v = y[1];
       Tensor u = v.slice(0, 1);
       u.mul_(3);
       return (v * v).sum() + (y * w).sum();
     },
     592.5,
     {0.5, -1.0, 2.0, 8.5, 87.0, 114.0},
     {5.0, 17.0, 21.0}},
    {"a view made before its base had a history",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor base = zeros({2, 3}, {.dtype = kFloat64});
       Tensor v = base[0];
       base.add_(x);
       return (v * v * w).sum();
     },
     14.5,
     {1.0, -4.0, 12.0, 0.0, 0.0, 0.0},
     {1.0, 4.0, 9.0}},
    {"a base that gets its history through a view",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor base = zeros({2, 3}, {.dtype = kFloat64});
       base[0].add_(w);
       Tensor z = base * x;
       return (z * base).sum();
     },
     14.25,
     {0.25, 1.0, 4.0, 0.0, 0.0, 0.0},
     {1.0, -4.0, 12.0}},
    {"relu in place on a row",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x - 2.5;
       y[0].relu_();
       return (y * y * w).sum();
     },
     19.875,
     {0.0, 0.0, 2.0, 1.5, -5.0, 14.0},
     {2.25, 6.25, 12.5}},
    {"a row gains another row",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y[0].add_(y[1]);
       return (y * y).sum() + w.sum();
     },
     233.5,
     {10.0, 14.0, 18.0, 18.0, 24.0, 30.0},
     {1.0, 1.0, 1.0}},
    {"a row becomes another row",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * w;
       y[0].copy_(y[1]);
       return (y * y).sum();
     },
     346.0,
     {0.0, -0.0, 0.0, 4.0, 20.0, 96.0},
     {32.0, -100.0, 288.0}},
    {"two views written in turn",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       Tensor a = y[0], b = y.select(1, 2);
       a.mul_(2);
       b.mul_(w.slice(0, 0, 2));
       a.add_(1);
       return (y * y * y).sum() + (a * b.sum()).sum();
     },
     165.0,
     {50.0, 146.0, 58.0, 48.0, 75.0, -120.0},
     {348.0, 720.0, 0.0}},
    {"a power by repeated in-place products",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y.mul_(x);
       y.mul_(x);
       y.mul_(w);
       return y.sum();
     },
     385.5,
     {1.5, -12.0, 54.0, 24.0, -75.0, 216.0},
     {65.0, 133.0, 243.0}},
    {"second derivatives through a written row",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * 1;
       y[0].mul_(w);
       TensorList g = grad({(y * y * y).sum()}, {x}, {}, false, true);
       return (g[0] * g[0]).sum();
     },
     66393.140625,
     {0.5625, 288.0, 62208.0, 2304.0, 4500.0, 7776.0},
     {1.6875, -864.0, 139968.0}},
    {"second derivatives through a written transpose",
     [](const Tensor& x, [[maybe_unused]] const Tensor& w) {
       Tensor y = x * x;
       y.t()[0].mul_(x[0].slice(0, 0, 2));
       TensorList g = grad({(y * y).sum()}, {x}, {}, false, true);
       return (g[0] * g[0]).sum() + w.sum();
     },
     3171909.5,
     {360.0, 3279872.0, 23328.0, 3735552.0, 300000.0, 746496.0},
     {1.0, 1.0, 1.0}},
};

}  // namespace

TEST_CASE("gradients of in-place programs are PyTorch's") {
  for (const Program& program : programs) {
    INFO(program.title);
    Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, {.dtype = kFloat64, .requires_grad = true});
    Tensor w = tensor({0.5, -1, 2}, {.dtype = kFloat64, .requires_grad = true});
    const Tensor loss = program.run(x, w);
    CHECK(loss.item<double>() == Approx(program.loss).epsilon(1e-12));
    loss.backward();
    const auto gx = x.grad().defined() ? x.grad().to_vector<double>() : std::vector<double>(6);
    const auto gw = w.grad().defined() ? w.grad().to_vector<double>() : std::vector<double>(3);
    for (size_t i = 0; i < 6; ++i) CHECK(gx[i] == Approx(program.gx[i]).epsilon(1e-12).margin(1e-12));
    for (size_t i = 0; i < 3; ++i) CHECK(gw[i] == Approx(program.gw[i]).epsilon(1e-12).margin(1e-12));
  }
}

TEST_CASE("copy_ refuses a source that shows its own cells in other places") {
  Tensor q = arange(9).view({3, 3});
  CHECK_THROWS_AS(q.copy_(q.t()), ShapeError);
  Tensor line = arange(1000);
  CHECK_THROWS_AS(line.slice(0, 1).copy_(line.slice(0, 0, 999)), ShapeError);
  CHECK(equal(q, arange(9).view({3, 3})));
  line.slice(0, 0, 1000, 2).copy_(line.slice(0, 1, 1000, 2));  // interleaved, no cell in common
  CHECK(line[0].item<int64_t>() == 1);
  CHECK(line[998].item<int64_t>() == 999);
  q.copy_(q);
  CHECK(equal(q, arange(9).view({3, 3})));
}
