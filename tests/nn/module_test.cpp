#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/nn/nn.h>
#include <tantu/tests/catch.h>

using namespace tantu;

namespace {

struct Net : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(4, 8));
  nn::Dropout drop = register_module("drop", nn::Dropout(0.5));
  nn::Linear fc2 = register_module("fc2", nn::Linear(8, 2, {.bias = false}));
  Tensor forward(const Tensor& x) override { return fc2(drop(relu(fc1(x)))); }
};

std::vector<std::string> names(const nn::NamedTensors& list) {
  std::vector<std::string> result;
  for (const auto& [name, t] : list) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("a model has PyTorch's names, and its copies share everything") {
  Net net;
  CHECK(names(net.named_parameters()) == std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight"});
  CHECK(net.num_parameters() == 4 * 8 + 8 + 8 * 2);
  CHECK(net.named_modules().size() == 3);
  Net copy = net;
  copy.fc1.weight.detach().zero_();
  CHECK(net.fc1.weight.detach().abs().sum().item<float>() == 0);
  copy.eval();
  CHECK_FALSE(net.is_training());
  CHECK_FALSE(net.drop.is_training());
  Net moved = std::move(copy);
  CHECK(moved.num_parameters() == 56);
  CHECK_THROWS_AS(copy.num_parameters(), Error);
  CHECK_THROWS_WITH(nn::Module().forward(Tensor()), "Module: forward(const Tensor&) is not defined; override it");
}

TEST_CASE("mode, zero_grad, requires_grad_ and apply reach every module") {
  Net net;
  net(ones({3, 4})).sum().backward();
  CHECK(net.fc1.weight.grad().defined());
  net.zero_grad();
  CHECK_FALSE(net.fc1.weight.grad().defined());
  int count = 0;
  net.apply([&](nn::Module&) { ++count; });
  CHECK(count == 4);
  net.requires_grad_(false);
  CHECK_FALSE(net(ones({3, 4})).requires_grad());
}

TEST_CASE("dtype moves keep the handles, so an optimiser would go on") {
  Net net;
  const Tensor before = net.fc1.weight;
  net(ones({3, 4})).sum().backward();
  net.to(kFloat64);
  CHECK(before.dtype() == kFloat64);
  CHECK(before.is_same(net.fc1.weight));
  CHECK(before.grad().dtype() == kFloat64);
  CHECK(before.requires_grad());
  CHECK_THROWS_AS(net.to(kInt64), DTypeError);
}

TEST_CASE("load_state_dict lists everything that does not fit, and then changes nothing") {
  Net net, other;
  nn::StateDict state = other.state_dict();
  net.load_state_dict(state);
  CHECK(equal(net.fc1.weight.detach(), other.fc1.weight.detach()));
  state["fc1.wieght"] = state["fc1.weight"];
  state.erase("fc1.weight");
  state["fc2.weight"] = zeros({3, 3});
  state["fc1.bias"] = ones({8});
  const Tensor bias = net.fc1.bias.detach().clone();
  try {
    net.load_state_dict(state);
    FAIL("not refused");
  } catch (const ShapeError& e) {
    const std::string text = e.what();
    CHECK(text.find("missing: fc1.weight") != std::string::npos);
    CHECK(text.find("unexpected: fc1.wieght (nearest name: fc1.weight)") != std::string::npos);
    CHECK(text.find("mismatched: fc2.weight: shape [3, 3] given, [2, 8] expected") != std::string::npos);
  }
  CHECK(equal(net.fc1.bias.detach(), bias));
  const nn::LoadResult result = net.load_state_dict(state, false);
  CHECK(result.missing == std::vector<std::string>{"fc1.weight"});
  CHECK(result.unexpected == std::vector<std::string>{"fc1.wieght"});
  CHECK(result.mismatched.size() == 1);
  CHECK(net.fc1.bias.detach().sum().item<float>() == 8);
}

TEST_CASE("names are checked") {
  struct Bad : nn::Module {
    explicit Bad(const std::string& name) {
      register_parameter("w", zeros({1}));
      register_buffer(name, zeros({1}));
    }
  };
  CHECK_THROWS_AS(Bad("w"), ValueError);
  CHECK_THROWS_AS(Bad("a.b"), ValueError);
  CHECK_THROWS_AS(Bad(""), ValueError);
  CHECK_NOTHROW(Bad("v"));
}

TEST_CASE("Sequential and ModuleList") {
  auto model = nn::Sequential{nn::Linear(2, 30), nn::ReLU(), nn::Linear(30, 20), nn::ReLU(), nn::Linear(20, 2)};
  CHECK(model.size() == 5);
  CHECK(names(model.named_parameters()).front() == "0.weight");
  CHECK(model(zeros({7, 2})).sizes() == Shape{7, 2});
  CHECK(model.to_string() ==
        "Sequential(\n  (0): Linear(in_features=2, out_features=30, bias=True)\n  (1): ReLU()\n"
        "  (2): Linear(in_features=30, out_features=20, bias=True)\n  (3): ReLU()\n"
        "  (4): Linear(in_features=20, out_features=2, bias=True)\n)");
  CHECK_THROWS_AS(model[5], IndexError);
  nn::ModuleList list;
  list.push_back(nn::Linear(2, 3));
  list.push_back(nn::Embedding(4, 5));
  CHECK(list.num_parameters() == 9 + 20);
}

TEST_CASE("tied weights count once") {
  struct Tied : nn::Module {
    nn::Linear a = register_module("a", nn::Linear(4, 4, {.bias = false}));
    nn::Linear b = register_module("b", a);
    Tensor forward(const Tensor& x) override { return b(a(x)); }
  };
  Tied tied;
  CHECK(tied.num_parameters() == 16);
  CHECK(tied.parameters().size() == 1);
  CHECK(nn::summary(tied, {1, 4}).find("16") != std::string::npos);
}

TEST_CASE("summary adds up and leaves no trace") {
  Net net;
  const Generator before = default_generator().clone();
  const std::string text = nn::summary(net, {5, 4});
  CHECK(text.find("fc1 (Linear)") != std::string::npos);
  CHECK(text.find("[5, 8]") != std::string::npos);
  CHECK(text.find("total") != std::string::npos);
  CHECK(text.find("56") != std::string::npos);
  CHECK(net.is_training());
  CHECK(default_generator().get_state() == before.get_state());
}

TEST_CASE("layers check their input") {
  CHECK_THROWS_AS(nn::Linear(-1, 2), ValueError);
  CHECK_THROWS_AS(nn::Linear(3, 2)(zeros({4, 4})), ShapeError);
  CHECK_THROWS_AS(nn::Dropout(1.5), ValueError);
  CHECK_THROWS_AS(nn::BatchNorm1d(3)(zeros({4, 4})), ShapeError);
  CHECK_THROWS_AS(nn::BatchNorm2d(3)(zeros({4, 3})), ShapeError);
  CHECK_THROWS_AS(nn::Embedding(3, 2)(tensor({3})), IndexError);
  CHECK_THROWS_AS(nn::GELU("fast"), ValueError);
  CHECK_THROWS_AS(nn::Embedding(3, 2, {.padding_idx = 3}), ValueError);
}

TEST_CASE("batch norm tracks running statistics in training only") {
  nn::BatchNorm1d bn(2);
  const Tensor x = tensor({{1.0, 10.0}, {3.0, 30.0}});
  bn(x);
  CHECK(bn.running_mean.to_vector<float>() == std::vector<float>{0.2f, 2.0f});
  CHECK(bn.num_batches_tracked.item<int>() == 1);
  bn.eval();
  bn(x);
  CHECK(bn.num_batches_tracked.item<int>() == 1);
  const auto names_of = names(bn.named_buffers());
  CHECK(names_of == std::vector<std::string>{"running_mean", "running_var", "num_batches_tracked"});
}

TEST_CASE("losses as modules equal their functions") {
  const Tensor logits = tensor({{1.0, 2.0, 0.5}, {0.1, -1.0, 0.3}}), labels = tensor({1, 2});
  CHECK(nn::CrossEntropyLoss()(logits, labels).item<float>() == cross_entropy(logits, labels).item<float>());
  nn::CrossEntropyLoss smooth({.label_smoothing = 0.1});
  CHECK(smooth(logits, labels).item<float>() == cross_entropy(logits, labels, {.label_smoothing = 0.1}).item<float>());
  CHECK(nn::MSELoss({.reduction = "sum"})(logits, zeros({2, 3})).item<float>() == Approx(6.35f));
}

TEST_CASE("a module cannot hold itself") {
  nn::Sequential a, b;
  CHECK_THROWS_AS(a.push_back(a), ValueError);
  a.push_back(b);
  CHECK_THROWS_AS(b.push_back(a), ValueError);
  CHECK(a.parameters().empty());
}
