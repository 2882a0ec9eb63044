// What a stranger may include and call, and no more than that.
#include <fmt/format.h>
#include <tantu/tantu.h>

int main() {
  using namespace tantu;
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}, {.requires_grad = true});
  (x * x).sum().backward();
  fmt::print("tantu {}: the gradient of x*x at 1 2 3 4 is {}\n", TANTU_VERSION,
             fmt::join(x.grad().to_vector<float>(), " "));
  return x.grad().to_vector<float>() == std::vector<float>{2, 4, 6, 8} ? 0 : 1;
}
