#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/ops.h>
#include <tantu/optim/optim.h>
#include <tantu/tests/catch.h>

#include <cmath>
#include <limits>

using namespace tantu;

namespace {

Tensor leaf(std::initializer_list<double> values, DType dtype = kFloat32) {
  Tensor t = empty({static_cast<int64_t>(values.size())}, {.dtype = kFloat64});
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t.to(dtype).detach().requires_grad_();
}

void give_grad(Tensor& p, int step) {
  Tensor g = empty(p.sizes(), {.dtype = kFloat64});
  for (int64_t i = 0; i < g.numel(); ++i)
    g.data_ptr<double>()[i] = std::sin(1.7 * static_cast<double>(step) + static_cast<double>(i));
  p.set_grad(g.to(p.dtype()));
}

std::vector<std::unique_ptr<optim::Optimizer>> one_of_each(const TensorList& p) {
  std::vector<std::unique_ptr<optim::Optimizer>> all;
  all.push_back(std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}));
  all.push_back(std::make_unique<optim::Adam>(p, optim::AdamOptions{.amsgrad = true}));
  all.push_back(std::make_unique<optim::AdamW>(p));
  all.push_back(std::make_unique<optim::RMSprop>(p, optim::RMSpropOptions{.momentum = 0.5, .centered = true}));
  all.push_back(std::make_unique<optim::Adagrad>(p));
  all.push_back(std::make_unique<optim::Adadelta>(p));
  all.push_back(std::make_unique<optim::Adamax>(p));
  all.push_back(std::make_unique<optim::NAdam>(p));
  return all;
}

}  // namespace

TEST_CASE("a restored optimiser goes on as if it had never stopped") {
  for (size_t kind = 0; kind < 8; ++kind) {
    CAPTURE(kind);
    Tensor a = leaf({1, -2, 3}), b = leaf({1, -2, 3});
    auto first = std::move(one_of_each({a})[kind]);
    auto second = std::move(one_of_each({b})[kind]);
    for (int step = 0; step < 5; ++step) {
      give_grad(a, step);
      first->step();
    }
    {
      NoGradGuard no_grad;
      b.copy_(a.detach());
    }
    second->load_state_dict(first->state_dict());
    for (int step = 5; step < 10; ++step) {
      give_grad(a, step);
      give_grad(b, step);
      first->step();
      second->step();
    }
    CHECK(a.to_vector<float>() == b.to_vector<float>());
  }
}

TEST_CASE("a state that does not fit is refused whole") {
  Tensor p = leaf({1, 2});
  optim::Adam adam({p});
  give_grad(p, 0);
  adam.step();
  const optim::OptimizerState good = adam.state_dict();
  optim::OptimizerState bad = good;
  bad.tensors["0/exp_avg"] = zeros({3});
  CHECK_THROWS_AS(adam.load_state_dict(bad), FormatError);
  bad = good;
  bad.numbers["7/step"] = 1;
  CHECK_THROWS_AS(adam.load_state_dict(bad), FormatError);
  bad = good;
  bad.numbers["x/step"] = 1;
  CHECK_THROWS_AS(adam.load_state_dict(bad), FormatError);
  bad = good;
  bad.tensors["0/bogus"] = zeros({2});
  CHECK_THROWS_WITH(adam.load_state_dict(bad), "Adam: load_state_dict: unknown entry \"0/bogus\"");
  bad = good;
  bad.numbers["0/mu_product"] = 1;
  CHECK_THROWS_AS(adam.load_state_dict(bad), FormatError);
  bad = good;
  bad.numbers.erase("group/0/lr");
  CHECK_THROWS_AS(adam.load_state_dict(bad), FormatError);
  CHECK(adam.state_dict().numbers == good.numbers);
}

TEST_CASE("bad settings and parameters are refused with the value") {
  Tensor p = leaf({1});
  CHECK_THROWS_WITH(optim::SGD({p}, {.lr = -1}), "SGD: Invalid learning rate: -1");
  CHECK_THROWS_AS(optim::SGD({p}, {.lr = std::nan("")}), ValueError);
  CHECK_THROWS_AS(optim::SGD({p}, {.lr = 1, .nesterov = true}), ValueError);
  CHECK_THROWS_AS(optim::Adam({p}, {.betas = {1.0, 0.9}}), ValueError);
  CHECK_THROWS_AS(optim::SGD({}), ValueError);
  CHECK_THROWS_AS(optim::SGD({p, p}), ValueError);
  CHECK_THROWS_AS(optim::SGD({p * 2}), ValueError);
  CHECK_THROWS_AS(optim::SGD({Tensor()}), ValueError);
  optim::SGD sgd({p});
  CHECK_THROWS_AS(sgd.add_param_group({{p}, {}}), ValueError);
  CHECK_THROWS_AS(sgd.add_param_group({{leaf({2})}, {{"speed", 1}}}), ValueError);
  CHECK_THROWS_AS(sgd.param_groups()[0]["speed"], ValueError);
}

TEST_CASE("parameter groups have their own rates; no gradient means no step") {
  Tensor a = leaf({1}), b = leaf({1}), c = leaf({1});
  optim::SGD sgd({a, c}, {.lr = 0.5});
  sgd.add_param_group({{b}, {{"lr", 0.1}}});
  a.set_grad(ones({1}));
  b.set_grad(ones({1}));
  sgd.step();
  CHECK(a.item<float>() == 0.5f);
  CHECK(b.item<float>() == Approx(0.9f));
  CHECK(c.item<float>() == 1.0f);
  sgd.zero_grad(false);
  CHECK(a.grad().item<float>() == 0);
  sgd.zero_grad();
  CHECK_FALSE(a.grad().defined());
}

TEST_CASE("half parameters compute in float32 and round once") {
  for (DType half : {kFloat16, kBFloat16}) {
    Tensor p = leaf({1, -2, 3}, half), q = leaf({1, -2, 3});
    optim::SGD in_half({p}, {.lr = 0.1}), in_float({q}, {.lr = 0.1});
    p.set_grad(tensor({0.25, 0.5, -1.0}).to(half));
    q.set_grad(tensor({0.25, 0.5, -1.0}));
    in_half.step();
    in_float.step();
    CHECK(p.to_vector<float>() == q.detach().to(half).to_vector<float>());
  }
}

TEST_CASE("strided parameters and gradients") {
  Tensor whole = zeros({3, 4});
  Tensor p = whole.transpose(0, 1).detach().requires_grad_();
  p.set_grad(arange(12.0).reshape({4, 3}));
  optim::AdamW adam({p}, {.lr = 0.1});
  adam.step();
  Tensor q = zeros({4, 3}, {.requires_grad = true});
  q.set_grad(arange(12.0).reshape({4, 3}));
  optim::AdamW other({q}, {.lr = 0.1});
  other.step();
  CHECK(p.to_vector<float>() == q.to_vector<float>());
}

TEST_CASE("non-finite norms can be refused, values can be clamped") {
  Tensor p = leaf({1, 2});
  p.set_grad(tensor({std::numeric_limits<double>::infinity(), 1.0}));
  CHECK_THROWS_AS(optim::clip_grad_norm_({p}, 1, 2, true), Error);
  p.set_grad(tensor({5.0, -0.25}));
  optim::clip_grad_value_({p}, 0.5);
  CHECK(p.grad().to_vector<float>() == std::vector<float>{0.5f, -0.25f});
}

TEST_CASE("a sequence of schedules is of one optimiser, and loads whole or not at all") {
  using namespace optim::lr_scheduler;
  Tensor p = leaf({1}), q = leaf({1});
  optim::SGD mine({p}, {.lr = 1}), other({q}, {.lr = 1});
  const auto first = std::make_shared<StepLR>(mine, 2), second = std::make_shared<StepLR>(mine, 3);
  CHECK_THROWS_AS(SequentialLR(mine, {first, std::make_shared<StepLR>(other, 2)}, {4}), ValueError);
  SequentialLR both(mine, {first, second}, {4});
  const auto before = both.state_dict();
  auto bad = before;
  bad["scheduler/0/last_epoch"] = 3;
  bad["scheduler/1/last_epoch"] = std::nan("");
  CHECK_THROWS_AS(both.load_state_dict(bad), FormatError);
  CHECK(both.state_dict() == before);
}

TEST_CASE("schedules save and restore") {
  using namespace optim::lr_scheduler;
  Tensor p = leaf({1});
  optim::SGD sgd({p}, {.lr = 1});
  StepLR schedule(sgd, 2, 0.5);
  schedule.step();
  const auto state = schedule.state_dict();
  schedule.step();
  CHECK(sgd.param_groups()[0]["lr"] == 0.5);
  StepLR other(sgd, 2, 0.5);
  other.load_state_dict(state);
  CHECK(other.last_epoch() == 1);
  auto bad = state;
  bad.erase("last_epoch");
  CHECK_THROWS_AS(other.load_state_dict(bad), FormatError);
  for (const char* key : {"last_epoch", "base_lr/0"}) {
    bad = state;
    bad[key] = std::nan("");
    CHECK_THROWS_AS(other.load_state_dict(bad), FormatError);
  }
  bad = state;
  bad["last_epoch"] = 1.5;
  CHECK_THROWS_AS(other.load_state_dict(bad), FormatError);
  CHECK(other.state_dict() == state);
  CHECK_THROWS_AS(StepLR(sgd, 0), ValueError);
  ReduceLROnPlateau plateau(sgd);
  plateau.load_state_dict(plateau.state_dict());  // its best is infinite at first
  auto none = plateau.state_dict();
  none["best"] = std::nan("");
  CHECK_THROWS_AS(plateau.load_state_dict(none), FormatError);
  OneCycleLR once(sgd, {.max_lr = 1, .total_steps = 2, .cycle_momentum = false});
  once.step();
  CHECK_THROWS_AS(once.step(), ValueError);
}
