// A first training loop: five points, two classes, a small network. Same seed, same figures as PyTorch on the CPU.
//
//     build/examples/tutorial [--device cpu|cuda:0|vgpu:0]

#include <tantu/tantu.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

using namespace tantu;

namespace {

struct NeuralNetwork : nn::Module {
  nn::Sequential layers = register_module(
      "layers", nn::Sequential{nn::Linear(2, 30), nn::ReLU(), nn::Linear(30, 20), nn::ReLU(), nn::Linear(20, 2)});
  Tensor forward(const Tensor& x) override { return layers(x); }  // (N, 2) → (N, 2): logits
};

double accuracy(NeuralNetwork& model, const data::TensorDataset& points, Device device) {
  NoGradGuard no_grad;
  model.eval();
  int64_t correct = 0, total = 0;
  for (auto [features, labels] : data::DataLoader(points, {.batch_size = 2})) {
    const Tensor predicted = model(features.to(device)).argmax(1);
    correct += (predicted == labels.to(device)).sum().item<int64_t>();
    total += labels.numel();
  }
  return static_cast<double>(correct) / static_cast<double>(total);
}

void run(Device device) {
  const Tensor X_train = tensor({{-1.2, 3.1}, {-0.9, 2.9}, {-0.5, 2.6}, {2.3, -1.1}, {2.7, -1.5}});
  const Tensor y_train = tensor({0, 0, 0, 1, 1});
  const Tensor X_test = tensor({{-0.8, 2.8}, {2.6, -1.6}});
  const Tensor y_test = tensor({0, 1});
  const data::TensorDataset train(X_train, y_train), test(X_test, y_test);

  data::DataLoader loader(train, {.batch_size = 2, .shuffle = true, .drop_last = true});
  manual_seed(123);
  NeuralNetwork model;
  model.to(device);
  optim::SGD optimizer(model.parameters(), {.lr = 0.5});

  const int epochs = 3;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    model.train();
    int batch = 0;
    for (auto [features, labels] : loader) {
      const Tensor logits = model(features.to(device));
      const Tensor loss = nn::functional::cross_entropy(logits, labels.to(device));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      fmt::print("Epoch: {:03}/{:03} | Batch {:03}/{:03} | Loss: {:.2f}\n", epoch + 1, epochs, batch, loader.size(),
                 loss.item<float>());
      ++batch;
    }
  }
  fmt::print("Train accuracy: {:.1f}\n", accuracy(model, train, device));
  fmt::print("Test accuracy: {:.1f}\n", accuracy(model, test, device));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The first training loop, on any device"};
  std::string device = default_device().to_string();
  app.add_option("--device", device, "Where to compute: cpu, cuda:0, vgpu:0")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    run(Device(device));
  } catch (const Error& e) {
    fmt::print(stderr, "tutorial: {}\n", e.what());
    return 1;
  }
  return 0;
}
