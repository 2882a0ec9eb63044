#include <tantu/tests/golden/rng_json.h>

#include <tantu/tantu.h>

#include <cmath>

// The tutorial's figures in full precision: tests/golden/tutorials.json, A and part1.
using namespace tantu;
using nlohmann::json;

namespace {

constexpr double kTolerance = 1e-6;  // times max(1, |value|)

const json& tutorials() {
  static const json file = golden::read("tutorials.json");
  return file;
}

double worst(const Tensor& got, const std::vector<double>& want) {
  const std::vector<double> values = got.to_vector<double>();
  if (values.size() != want.size()) return INFINITY;
  double most = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = std::fabs(values[i] - want[i]) / std::max(1.0, std::fabs(want[i]));
    if (!(error <= most)) most = std::isnan(error) ? INFINITY : error;
  }
  return most;
}
double worst(const Tensor& got, const json& want) {
  return worst(got, want.get<std::vector<double>>());
}

nn::Sequential network(int64_t in, int64_t out) {
  return nn::Sequential{nn::Linear(in, 30), nn::ReLU(), nn::Linear(30, 20), nn::ReLU(), nn::Linear(20, out)};
}

// Recorded names say "layers.0.weight" where the Sequential says "0.weight".
void check_parameters(const nn::Sequential& model, const json& want) {
  for (const auto& [name, t] : model.named_parameters()) {
    CAPTURE(name);
    const json& record = want.at("layers." + name);
    CHECK(worst(t.detach(), record.is_object() ? record.at("data") : record) <= kTolerance);
  }
}

Tensor points() {
  return tensor({{-1.2, 3.1}, {-0.9, 2.9}, {-0.5, 2.6}, {2.3, -1.1}, {2.7, -1.5}});
}

}  // namespace

TEST_CASE("tutorial A: initial weights, every step, final weights and probabilities") {
  const json& want = tutorials().at("A");
  const data::TensorDataset train(points(), tensor({0, 0, 0, 1, 1}));
  const data::DataLoader loader(train, {.batch_size = 2, .shuffle = true, .drop_last = true});
  manual_seed(123);
  auto model = network(2, 2);
  check_parameters(model, want.at("init"));
  optim::SGD optimizer(model.parameters(), {.lr = 0.5});
  size_t step = 0;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (auto [features, labels] : loader) {
      CAPTURE(step);
      REQUIRE(step < want.at("steps").size());
      const json& record = want.at("steps")[step++];
      CHECK(worst(features, record.at("features")) <= kTolerance);
      CHECK(labels.to_vector<int64_t>() == record.at("labels").get<std::vector<int64_t>>());
      const Tensor logits = model(features), loss = nn::functional::cross_entropy(logits, labels);
      CHECK(worst(logits.detach(), record.at("logits")) <= kTolerance);
      CHECK(worst(loss.detach(), std::vector<double>{record.at("loss")}) <= kTolerance);
      CHECK(fmt::format("{:.2f}", loss.item<float>()) == record.at("printed").get<std::string>());
      optimizer.zero_grad();
      loss.backward();
      if (record.contains("grads"))
        for (const auto& [name, t] : model.named_parameters())
          CHECK(worst(t.grad(), record.at("grads").at("layers." + name)) <= kTolerance);
      optimizer.step();
    }
  CHECK(step == want.at("steps").size());
  check_parameters(model, want.at("final"));
  NoGradGuard no_grad;
  const Tensor logits = model(points());
  CHECK(worst(logits, want.at("logits_X_train")) <=
        1e-5);  // errors of the weights times inputs of up to 3, three layers
  CHECK(worst(softmax(logits, 1), want.at("softmax_X_train")) <= kTolerance);
}

TEST_CASE("tutorial, part 1: a forward pass, a logistic unit's gradients, the loader's order") {
  const json& want = tutorials().at("part1");
  manual_seed(123);
  auto model = network(50, 3);
  CHECK(worst(model.parameters()[0].detach()[0], want.at("w0_first_row")) <= kTolerance);
  manual_seed(123);
  const Tensor logits = model(rand({1, 50})).detach();
  CHECK(worst(logits, want.at("logits")) <= kTolerance);
  CHECK(worst(softmax(logits, 1), want.at("softmax")) <= kTolerance);

  Tensor w1 = tensor({2.2}).requires_grad_(), b = tensor({0.0}).requires_grad_();
  const Tensor loss = nn::functional::binary_cross_entropy(sigmoid(tensor({1.1}) * w1 + b), tensor({1.0}));
  loss.backward();
  CHECK(worst(loss.detach(), want.at("bce_loss")) <= kTolerance);
  CHECK(worst(w1.grad(), want.at("grad_w1")) <= kTolerance);
  CHECK(worst(b.grad(), want.at("grad_b")) <= kTolerance);

  const data::TensorDataset train(points(), tensor({0, 0, 0, 1, 1}));
  const auto check_epoch = [&](const data::DataLoader& loader, const json& batches) {
    size_t i = 0;
    for (auto [features, labels] : loader) {
      REQUIRE(i < batches.size());
      CHECK(worst(features, batches[i++]) <= kTolerance);
    }
    CHECK(i == batches.size());
  };
  manual_seed(123);
  check_epoch(data::DataLoader(train, {.batch_size = 2, .shuffle = true}), want.at("loader_epoch1"));
  check_epoch(data::DataLoader(train, {.batch_size = 2, .shuffle = true, .drop_last = true}),
              want.at("loader_droplast_epoch2_continuing"));
}
