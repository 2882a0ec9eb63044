#include <tantu/tests/limits/limits_common.h>

#include <tantu/optim/optim.h>

// A list of parameters, one of which has 2^32 + 1 elements (64 GiB with its gradient and state).
using namespace tantu;
using namespace tantu::limits;

TEST_CASE("pitfall 4: the step reaches the last element of 2^32 + 1, and what stands behind it in the list") {
  if (!have_big_device()) return;
  const int64_t n = (int64_t{1} << 32) + 1;
  for (const std::string kind : {"sgd", "adam"}) {
    INFO(kind);
    Tensor nothing = blank({0}), huge = blank({n}), small = blank({3});
    TensorList p{nothing, huge, small};
    for (Tensor& x : p) {
      x.requires_grad_();
      x.set_grad(blank(x.sizes()));
    }
    const int64_t places[] = {0, n / 2, n - 2, n - 1};
    for (const int64_t at : places) huge.grad().narrow(0, at, 1).fill_(2);
    small.grad().fill_(2);
    const OnlyBlocks few(
        {0, n / 2 >> 16, n / 2 >> 15, n / 2 >> 14, n / 2 >> 13, n / 2 >> 12, n / 2 >> 11, n / 2 >> 10, -3, -2, -1});
    if (kind == "sgd") optim::SGD(p, {.lr = 0.5}).step();
    else optim::Adam(p, {.lr = 1}).step();
    for (const int64_t at : places) {
      INFO("element " << at);
      CHECK(huge.detach().narrow(0, at, 1).item<float>() == Approx(-1).epsilon(1e-6));
    }
    CHECK(huge.detach().narrow(0, n - 3, 1).item<float>() == 0);
    for (const double v : small.detach().to_vector<double>()) CHECK(v == Approx(-1).epsilon(1e-6));
  }
}
