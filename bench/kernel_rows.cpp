#include <tantu/bench/row.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/dispatch.h>
#include <tantu/kernels/cross_entropy.h>
#include <tantu/kernels/layer_norm.h>
#include <tantu/kernels/optim.h>

namespace bench {

using namespace tantu;

namespace {

using Tensors = std::vector<Tensor>;

constexpr int64_t kColumns = 512;

// Over n elements, in rows of 512 where a kernel has rows.
Row kernel(const char* name, double bytes_per_element, double flops_per_element,
           std::function<Tensors(int64_t, const TensorOptions&)> inputs, std::function<Tensor(const Tensors&)> call) {
  Row row;
  row.name = name;
  row.sizes = {16384, int64_t{1} << 22};
  row.inputs = std::move(inputs);
  row.call = std::move(call);
  row.bytes = [=](int64_t n) { return bytes_per_element * static_cast<double>(n); };
  row.flops = [=](int64_t n) { return flops_per_element * static_cast<double>(n); };
  row.growth = 16;
  return row;
}

Tensor matrix(int64_t n, const TensorOptions& options) {
  return randn({n / kColumns, kColumns}, options);
}

// AdamW on one parameter: reads four tensors, writes three of them.
Tensor adam(const Tensors& t) {
  Tensor p = t[0], g = t[1], mean = t[2], square = t[3];
  const AdamStep step{.lr = 1e-3,
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .eps = 1e-8,
                      .weight_decay = 0.01,
                      .decoupled = true,
                      .amsgrad = false,
                      .maximize = false,
                      .correction1 = 0.1,
                      .correction2 = 0.001};
  on_device(p.device(), "adam_step", [&](auto& ctx) {
    adam_step(ctx, {{p.out(), g.in(), {mean.out(), square.out()}}}, step);
  });
  return p;
}

// The gradient of the input alone.
Tensor norm_backward(const Tensors& t) {
  const Tensor &g = t[0], &x = t[1], &stats = t[2];
  Tensor dx = empty(x.sizes(), {.dtype = x.dtype(), .device = x.device()});
  on_device(x.device(), "layer_norm_backward", [&](auto& ctx) {
    layer_norm_backward(ctx, g.in(), x.in(), ConstView{}, stats.in(), dx.out(), View{}, View{}, true);
  });
  return dx;
}

Tensors norm_inputs(int64_t n, const TensorOptions& options) {
  Tensor x = matrix(n, options), y = empty(x.sizes(), options);
  Tensor stats = empty({x.size(0), 2}, {.dtype = kFloat64, .device = options.device});
  on_device(x.device(), "layer_norm_forward", [&](auto& ctx) {
    layer_norm_forward(ctx, x.in(), ConstView{}, ConstView{}, y.out(), stats.out(), 1e-5, true);
  });
  return {matrix(n, options), x, stats};
}

// The loss and the gradient of its input: the least is to read the scores once and to write the gradient.
Tensor class_loss(const Tensors& t) {
  const Tensor &x = t[0], &target = t[1], &g = t[2];
  const TensorOptions same{.dtype = x.dtype(), .device = x.device()};
  Tensor loss = empty({}, same), stats = empty({2 * x.size(0) + 1}, same), dx = empty(x.sizes(), same);
  on_device(x.device(), "cross_entropy", [&](auto& ctx) {
    const ClassLoss rule;
    class_loss_forward(ctx, x.in(), target.in(), ConstView{}, loss.out(), stats.out(), rule);
    class_loss_backward(ctx, g.in(), x.in(), target.in(), ConstView{}, stats.in(), dx.out(), rule);
  });
  return dx;
}

}  // namespace

std::vector<Row> kernel_rows() {
  return {kernel(
              "adam_step", 28, 16,
              [](int64_t n, const TensorOptions& o) {
                return Tensors{randn({n}, o), randn({n}, o), randn({n}, o), rand({n}, o)};
              },
              adam),
          kernel("layer_norm_backward", 12, 8, norm_inputs, norm_backward),
          kernel(
              "cross_entropy_train", 8, 8,
              [](int64_t n, const TensorOptions& o) {
                return Tensors{matrix(n, o),
                               randint(0, kColumns, {n / kColumns}, {.dtype = kInt64, .device = o.device}),
                               // as many as there are rows, so that the gradient is not lost below the tolerance
                               zeros({}, o) + static_cast<double>(n / kColumns)};
              },
              class_loss)};
}

}  // namespace bench
