#include <tantu/tests/catch.h>
#include <tantu/tests/gpu/gpu_devices.h>

#include <tantu/tantu.h>

#include <cmath>

using namespace tantu;

namespace {

// Losses of a few epochs over the same random images, from the same start.
std::vector<double> losses(Device device) {
  manual_seed(7);
  auto model = nn::Sequential{nn::Linear(64, 48), nn::ReLU(), nn::Linear(48, 10)};
  const Tensor x = rand({512, 64}), y = randint(0, 10, {512});
  model.to(device);
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-2});
  std::vector<double> curve;
  for (int epoch = 0; epoch < 4; ++epoch)
    for (auto [images, labels] : data::DataLoader(data::TensorDataset(x, y), {.batch_size = 64})) {
      const Tensor loss = nn::functional::cross_entropy(model(images.to(device)), labels.to(device));
      optimizer.zero_grad();
      loss.backward();
      optim::clip_grad_norm_(model.parameters(), 1.0);
      optimizer.step();
      curve.push_back(loss.item<double>());
    }
  return curve;
}

}  // namespace

TEST_CASE("training takes the same way on every device") {
  const std::vector<double> want = losses(kCPU);
  CHECK(want.back() < want.front());
  for (const Device& device : gpu_devices()) {
    const std::vector<double> got = losses(device);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      CAPTURE(device.to_string(), i, want[i], got[i]);
      CHECK(std::fabs(want[i] - got[i]) <= 1e-3);
    }
  }
}
