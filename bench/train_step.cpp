// One training step of a 784-512-512-10 MLP, batch 128, AdamW: the partner of bench/race_torch.py, which tells it on
// standard input how many steps to take ("steps 20") and reads the seconds and the last loss.
#include <tantu/tantu.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

using namespace tantu;

int main() {
  manual_seed(1);
  auto model = nn::Sequential{nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(), nn::Linear(512, 10)};
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-3});
  const Tensor x = rand({128, 784}), y = randint(0, 10, {128});
  std::string word;
  while (std::cin >> word) {
    int count = 0;
    std::cin >> count;
    if (word == "threads") {
      set_num_threads(count);
      continue;
    }
    float loss = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      const Tensor l = nn::functional::cross_entropy(model(x), y);
      optimizer.zero_grad();
      l.backward();
      optimizer.step();
      loss = l.item<float>();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%.9f %.9g\n", seconds, static_cast<double>(loss));
    std::fflush(stdout);
  }
}
