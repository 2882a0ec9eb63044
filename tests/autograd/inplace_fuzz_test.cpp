#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>

#include <cstdlib>
#include <random>

// Random programs that write through random views, judged by finite differences: first and second derivatives.
using namespace tantu;

namespace {

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {}

  Tensor run(const Tensor& x, const Tensor& w) {
    Tensor y = x * 1;
    TensorList views{y};  // views live on and are used later
    for (int step = 0; step < 6; ++step) {
      views.push_back(view_of(views[pick(views.size())]));
      write(views[pick(views.size())], y, w);
    }
    Tensor loss = (y * y * w[0]).sum();
    for (const Tensor& v : views) loss = loss + (v * v).sum() * 0.1;
    return loss;
  }

 private:
  size_t pick(size_t n) { return static_cast<size_t>(random_() % n); }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Tensor view_of(const Tensor& t) {
    if (t.dim() == 0) return t.view({1});
    const int64_t dim = below(t.dim());
    switch (pick(6)) {
      case 0: return t.select(dim, below(t.size(dim)));
      case 1: return t.slice(dim, below(t.size(dim)));
      case 2: return t.slice(dim, 0, t.size(dim), 2);
      case 3: return t.dim() > 1 ? t.transpose(0, -1) : t.unsqueeze(0);
      case 4: return t.dim() > 1 ? t.diagonal() : t.unsqueeze(1);
      default: return t.is_contiguous() ? t.view({t.numel()}) : t.permute(reversed(t.dim()));
    }
  }

  static Dims reversed(int64_t rank) {
    Dims dims;
    for (int64_t d = rank - 1; d >= 0; --d) dims.push_back(d);
    return dims;
  }

  void write(Tensor v, const Tensor& y, const Tensor& w) {
    switch (pick(8)) {
      case 0: v.add_(w[below(3)]); break;
      case 1: v.mul_(w[below(3)]); break;
      case 2: v.copy_(w[below(3)] * w[below(3)]); break;
      case 3: v.fill_(0.7); break;
      case 4: v.sub_(y.clone().select(0, 0).select(0, below(3))); break;
      case 5: v.div_(v.clone() * v.clone() + 1); break;
      case 6: v.div_(w[below(3)] * w[below(3)] + 1); break;
      default: v.add_(exp(w[below(3)] * 0.3)); break;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("random programs of in-place writes through views have the gradients of finite differences") {
  const char* text = std::getenv("TANTU_TEST_SEEDS");
  const uint64_t programs = 20 * static_cast<uint64_t>(text && *text ? std::max(1, std::atoi(text)) : 3);
  for (uint64_t seed = 0; seed < programs; ++seed) {
    INFO("program " << seed);
    Tensor x = tensor({{0.4, -0.7, 1.1}, {0.9, 0.3, -0.5}}, {.dtype = kFloat64, .requires_grad = true});
    Tensor w = tensor({0.8, -0.6, 1.2}, {.dtype = kFloat64, .requires_grad = true});
    const auto fn = [seed](const TensorList& in) { return TensorList{Program(seed).run(in[0], in[1])}; };
    CHECK(gradcheck(fn, {x, w}));
    CHECK(gradgradcheck(fn, {x, w}));
  }
}
