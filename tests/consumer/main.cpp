#include <fmt/core.h>
#include <tantu/tantu.h>
using namespace tantu;

int main() {
  Tensor X = tensor({{-1.2, 3.1}, {-0.9, 2.9}, {-0.5, 2.6}, {2.3, -1.1}, {2.7, -1.5}}), y = tensor({0, 0, 0, 1, 1});
  manual_seed(123);
  Device device = default_device();
  auto model = nn::Sequential(nn::Linear(2, 30), nn::ReLU(), nn::Linear(30, 20), nn::ReLU(), nn::Linear(20, 2));
  model.to(device);
  optim::SGD optimizer(model.parameters(), {.lr = 0.5});
  auto loader = data::DataLoader(data::TensorDataset(X, y), {.batch_size = 2, .shuffle = true, .drop_last = true});
  for (int epoch = 0; epoch < 3; ++epoch)
    for (auto [features, labels] : loader) {
      Tensor loss = nn::functional::cross_entropy(model(features.to(device)), labels.to(device));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      fmt::print("{:.2f}\n", loss.item<float>());
    }
}
