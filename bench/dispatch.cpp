// What a call costs before any arithmetic: `add` of two 16-element tensors that record gradients. One text for both
// sides of bench/race_dispatch.py, which builds it a second time against libtorch: the names are the same.
#ifdef AGAINST_TORCH
#include <torch/torch.h>
namespace engine = torch;
#else
#include <tantu/tantu.h>
namespace engine = tantu;
#endif

#include <chrono>
#include <cstdio>
#include <iostream>

int main() {
  engine::manual_seed(1);
  const engine::Tensor a = engine::randn({16}).requires_grad_(true), b = engine::randn({16}).requires_grad_(true);
  for (long count; std::cin >> count;) {
    engine::Tensor sum;
    const auto start = std::chrono::steady_clock::now();
    for (long i = 0; i < count; ++i) sum = a.add(b);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%.9f %.9g %d\n", seconds, sum.sum().item<float>(), sum.requires_grad() ? 1 : 0);
    std::fflush(stdout);
  }
}
