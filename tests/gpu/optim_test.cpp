#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/error.h>
#include <tantu/core/trace.h>
#include <tantu/optim/optim.h>

#include <functional>
#include <limits>
#include <memory>
#include <random>

// Optimisers on a GPU against those of the CPU: many tensors, all layouts and dtypes, and a bad index before the step.
using namespace tantu;

namespace {

using Make = std::function<std::unique_ptr<optim::Optimizer>(TensorList)>;

template <class O, class Options>
Make maker(Options options) {
  return [options](TensorList p) { return std::make_unique<O>(std::move(p), options); };
}

Tensor numbers(const Shape& sizes, DType t, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(numel(sizes)));
  for (float& x : v) x = normal(engine);
  return tensor(v).view(sizes).to(t);
}

// The parameters after three steps of a step size that differs from step to step, on `device`.
std::vector<std::vector<double>> trained(const Make& make, Device device, DType t, int64_t most) {
  TensorList p;
  unsigned seed = 1;
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{64}, most}) {
    p.push_back(numbers({n}, t, ++seed).to(device).requires_grad_());
    p.push_back(numbers({3, n % 100}, t, ++seed).to(device).t().requires_grad_());         // strided
    p.push_back(numbers({n + 1}, t, ++seed).to(device).narrow(0, 1, n).requires_grad_());  // not aligned
  }
  for (int i = 0; i < 70; ++i) p.push_back(numbers({5}, t, ++seed).to(device).requires_grad_());
  const auto optimizer = make(p);
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < p.size(); ++i) {
      if (step == 0 && i == 3) continue;  // its step counts from the second on
      p[i].set_grad(
          numbers(p[i].sizes(), t, 1000 * static_cast<unsigned>(step + 1) + static_cast<unsigned>(i)).to(device));
    }
    optimizer->step();
  }
  std::vector<std::vector<double>> values;
  for (const Tensor& x : p) values.push_back(x.detach().to_vector<double>());
  return values;
}

}  // namespace

TEST_CASE("every optimiser gives the CPU's bits in float32 and float64, half types their rounding") {
  const std::pair<const char*, Make> all[] = {
      {"SGD", maker<optim::SGD>(optim::SGDOptions{.lr = 0.1, .weight_decay = 0.01})},
      {"SGD momentum", maker<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true})},
      {"Adam", maker<optim::Adam>(optim::AdamOptions{.lr = 0.01, .weight_decay = 0.1})},
      {"Adam amsgrad", maker<optim::Adam>(optim::AdamOptions{.amsgrad = true, .maximize = true})},
      {"AdamW", maker<optim::AdamW>(optim::AdamWOptions{.lr = 0.01})},
      {"RMSprop", maker<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.5, .centered = true})},
      {"RMSprop plain", maker<optim::RMSprop>(optim::RMSpropOptions{})},
      {"Adagrad", maker<optim::Adagrad>(optim::AdagradOptions{.lr_decay = 0.1})},
      {"Adadelta", maker<optim::Adadelta>(optim::AdadeltaOptions{})},
      {"Adamax", maker<optim::Adamax>(optim::AdamaxOptions{})},
      {"NAdam", maker<optim::NAdam>(optim::NAdamOptions{.weight_decay = 0.1})}};
  for (Device device : gpu_devices())
    for (const auto& [name, make] : all)
      for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
        INFO(name << " " << tantu::name(t));
        CHECK(trained(make, device, t, 3000) == trained(make, kCPU, t, 3000));
      }
}

TEST_CASE("tensors of several chunks are updated to the end") {
  const Make make = maker<optim::AdamW>(optim::AdamWOptions{.lr = 0.01});
  for (Device device : gpu_devices())
    CHECK(trained(make, device, kFloat32, 200003) == trained(make, kCPU, kFloat32, 200003));
}

TEST_CASE("a step does nothing while a bad index waits to be thrown") {
  for (Device device : gpu_devices()) {
    Tensor p = ones({1000}, {.device = device}).requires_grad_(),
           q = ones({4, 3}, {.device = device}).t().requires_grad_();
    optim::SGD sgd({p, q}, {.lr = 1});
    p.set_grad(ones({1000}, {.device = device}));
    q.set_grad(ones({3, 4}, {.device = device}));
    index_select(p.detach(), 0, tensor({5000}, {.device = device}));
    sgd.step();
    CHECK_THROWS_AS(gpu::synchronize(device), IndexError);
    CHECK(p.detach().to_vector<double>() == std::vector<double>(1000, 1));
    CHECK(q.detach().to_vector<double>() == std::vector<double>(12, 1));
    sgd.step();
    CHECK(p.detach().to_vector<double>() == std::vector<double>(1000, 0));
    CHECK(q.detach().to_vector<double>() == std::vector<double>(12, 0));
  }
}

TEST_CASE("clipping many gradients at once: the CPU's norms, few launches, every dtype and layout") {
  for (const Device& device : gpu_devices()) {
    std::vector<Tensor> here, there;
    for (int i = 0; i < 300; ++i) {
      const DType t = i % 7 == 3 ? kFloat64 : i % 7 == 5 ? kBFloat16 : i % 7 == 6 ? kFloat16 : kFloat32;
      const int64_t n = i % 11 == 0 ? 0 : i == 17 ? 200001 : 1 + i % 9;
      Tensor g = randn({n, i % 3 + 1}).to(t);
      Tensor p = zeros(g.sizes(), {.dtype = t}), q = zeros(g.sizes(), {.dtype = t, .device = device});
      p.set_grad(g.clone());
      Tensor far = placed(g, device, i % 2);
      if (i % 5 == 4) far = far.t().contiguous().t();
      q.set_grad(far);
      here.push_back(p);
      there.push_back(q);
    }
    for (const double order : {2.0, 1.0, 3.0, 0.0, std::numeric_limits<double>::infinity()}) {
      const double a = optim::clip_grad_norm_(here, 5.0, order).item<double>();
      const double b = optim::clip_grad_norm_(there, 5.0, order).item<double>();
      CHECK(std::fabs(a - b) <= 1e-5 * a);
      for (size_t i = 0; i < here.size(); ++i) {
        const Tensor x = here[i].grad().to(kFloat64), y = there[i].grad().cpu().to(kFloat64);
        const double allowed = here[i].dtype() == kFloat16 || here[i].dtype() == kBFloat16 ? 1e-2 : 1e-5;
        if (x.numel()) CHECK((x - y).abs().max().item<double>() <= allowed * (1e-3 + x.abs().max().item<double>()));
      }
    }
    int launches = 0;
    trace::set_sink([](const trace::Event& e, void* n) { *static_cast<int*>(n) += e.kind == trace::Kind::Launch; },
                    &launches);
    optim::clip_grad_norm_({there.begin(), there.begin() + 3}, 1.0);
    trace::set_sink(nullptr);
    CHECK(launches <= 7);
    there[0].grad().fill_(0);
    there[17].grad().fill_(std::numeric_limits<double>::quiet_NaN());
    CHECK(std::isnan(optim::clip_grad_norm_(there, 1.0).item<double>()));
  }
}
