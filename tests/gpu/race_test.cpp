#include <tantu/core/matmul_options.h>
#include <tantu/tests/gpu/lines_common.h>

#include <tantu/autograd/autograd.h>
#include <tantu/optim/optim.h>

#ifdef TANTU_TEST_VGPU
#include <vgpu/control.h>
#endif

#include <functional>

// Every kernel whose threads meet in shared memory or whose blocks follow each other, along each of its ways, small:
// what the race checker looks at. Without it: on a virtual GPU every schedule gives the same bits, elsewhere every run
// does.
using namespace tantu;
using namespace tantu::linetest;

namespace {

struct Work {
  const char* name;
  std::function<TensorList(Device)> run;
  bool goes_round = false;  ///< its kernels go round by the stride of their grids: two blocks do all there is to do
};

Tensor numbers(const Shape& shape, Device device, DType t = kFloat32, double low = -2, double high = 2) {
  return draw(shape, t, low, high, static_cast<unsigned>(numel(shape)) + 3).to(device);
}

Tensor ids(int64_t n, int64_t below, Device device) {
  return numbers({n}, device, kInt64, 0, static_cast<double>(below));
}

/// y and the gradients of the inputs.
TensorList with_gradients(TensorList x, const std::function<Tensor(const TensorList&)>& f) {
  for (Tensor& t : x) t.requires_grad_();
  const Tensor y = f(x);
  TensorList all = grad({y}, x, {numbers(y.sizes(), y.device(), y.dtype())});
  all.push_back(y.detach());
  return all;
}

TensorList both(const std::pair<Tensor, Tensor>& pair) {
  return {pair.first, pair.second};
}

std::vector<Work> lines_work() {
  std::vector<Work> all;
  for (const DType t : {kFloat32, kFloat16})
    for (const Shape& shape : {Shape{9, 40}, Shape{3, 700}, Shape{2, 17000}, Shape{300, 40}})
      for (const int64_t dim : {0, 1}) {
        if (dim == 0 && shape[1] > 1000) continue;
        const auto add = [&](const char* name, auto f) { all.push_back({name, f}); };
        add("softmax", [=](Device d) {
          return with_gradients({numbers(shape, d, t)}, [=](const TensorList& x) { return softmax(x[0], dim); });
        });
        add("log_softmax", [=](Device d) {
          return with_gradients({numbers(shape, d, t)}, [=](const TensorList& x) { return log_softmax(x[0], dim); });
        });
        add("cumsum", [=](Device d) {
          return with_gradients({numbers(shape, d, t)}, [=](const TensorList& x) { return cumsum(x[0], dim); });
        });
        add("reductions", [=](Device d) {
          const Tensor x = numbers(shape, d, t);
          return TensorList{sum(x, dim), var(x, dim), norm(x, 2, dim), logsumexp(x, dim), argmax(x, dim), amin(x, dim)};
        });
        if (shape[1] > 1000) continue;
        add("sort", [=](Device d) { return both(sort(numbers(shape, d, t), dim)); });
      }
  all.push_back({"sort, several tiles", [](Device d) { return both(sort(numbers({2, 5000}, d), 1)); }});
  all.push_back({"topk", [](Device d) { return both(topk(numbers({2, 3000}, d), 5)); }});
  all.push_back({"kthvalue", [](Device d) { return both(kthvalue(numbers({2, 3000}, d, kInt64, 0, 99), 700)); }});
  all.push_back({"median", [](Device d) { return both(median(numbers({2, 3000}, d), 1)); }});
  for (const Shape& shape : {Shape{4, 300}, Shape{40, 20}})
    all.push_back({"prod", [=](Device d) {
                     return with_gradients({numbers(shape, d, kFloat64, 0.9, 1.1)},
                                           [](const TensorList& x) { return prod(x[0], 1); });
                   }});
  for (const Shape& shape : {Shape{1, 60000}, Shape{20000, 3}, Shape{3, 20000}})
    all.push_back({"reductions in parts", [=](Device d) {
                     const Tensor x = numbers(shape, d);
                     return TensorList{sum(x),    sum(x, 0), sum(x, 1),
                                       var(x, 1), argmax(x), mean(x.to(kInt32), 1, false, kFloat32)};
                   }});
  all.push_back({"cumsum of long lines", [](Device d) { return TensorList{cumsum(numbers({1, 30000}, d), 1)}; }});
  for (Work& work : all) work.goes_round = true;
  return all;
}

std::vector<Work> norm_work() {
  std::vector<Work> all;
  for (const Shape& shape : {Shape{40, 33}, Shape{9, 1500}})
    all.push_back({"layer_norm of rows",
                   [=](Device d) {
                     return with_gradients({numbers(shape, d)},
                                           [=](const TensorList& x) { return layer_norm(x[0], {shape[1]}); });
                   },
                   true});
  for (const Shape& shape : {Shape{5, 33}, Shape{3, 1500}})
    all.push_back({"layer_norm", [=](Device d) {
                     return with_gradients(
                         {numbers(shape, d), numbers({shape[1]}, d), numbers({shape[1]}, d)},
                         [=](const TensorList& x) { return layer_norm(x[0], {shape[1]}, x[1], x[2]); });
                   }});
  for (const Shape& shape : {Shape{5, 4, 64}, Shape{1, 3, 9000}, Shape{200, 5, 1}})
    for (const bool training : {true, false})
      all.push_back({"batch_norm", [=](Device d) {
                       const Tensor mean = numbers({shape[1]}, d), var = ones({shape[1]}, {.device = d});
                       return with_gradients(
                           {numbers(shape, d), numbers({shape[1]}, d), numbers({shape[1]}, d)},
                           [=](const TensorList& x) { return batch_norm(x[0], mean, var, x[1], x[2], training); });
                     }});
  for (const Shape& shape : {Shape{5000, 3}, Shape{9, 40}, Shape{3, 2000}, Shape{2, 5, 30}})
    for (const char* reduction : {"mean", "none"})
      all.push_back({"cross_entropy", [=](Device d) {
                       const Shape sizes = shape.size() == 3 ? Shape{shape[0], shape[2]} : Shape{shape[0]};
                       const Tensor target = ids(numel(sizes), shape[1], d).view(sizes);
                       return with_gradients({numbers(shape, d)}, [=](const TensorList& x) {
                         return cross_entropy(x[0], target, {.reduction = reduction, .label_smoothing = 0.1});
                       });
                     }});
  return all;
}

std::vector<Work> index_work() {
  std::vector<Work> all;
  for (const int64_t rows : {1, 7, 3000})
    all.push_back({"index_add, index_put, embedding", [=](Device d) {
                     const Tensor at = ids(5000, rows, d), values = numbers({5000, 3}, d);
                     TensorList y = with_gradients({numbers({rows, 3}, d)},
                                                   [&](const TensorList& x) { return embedding(at, x[0]); });
                     y.push_back(index_add(zeros({rows, 3}, {.device = d}), 0, at, values));
                     y.push_back(index_put(zeros({rows, 3}, {.device = d}), {at}, values));
                     y.push_back(index_select(y[0], 0, at));
                     return y;
                   }});
  all.push_back({"indices of rows without elements", [](Device d) {
                   return TensorList{index_select(zeros({7, 0}, {.device = d}), 0, ids(5000, 7, d))};
                 }});
  all.push_back({"nonzero", [](Device d) {
                   const Tensor x = numbers({70, 200}, d, kInt32, 0, 2);
                   return TensorList{nonzero(x), masked_select(x, x.to(kBool))};
                 }});
  all.push_back({"random choices", [](Device d) {
                   manual_seed(3);
                   const Tensor p = numbers({3, 700}, d, kFloat32, 0, 1);
                   return TensorList{multinomial(p, 4), multinomial(p, 900, true), randperm(5000, {.device = d}),
                                     bernoulli(p),      dropout(p, 0.5),           rand({1001}, {.device = d})};
                 }});
  return all;
}

std::vector<Work> product_work() {
  std::vector<Work> all;
  for (const DType t : {kFloat32, kFloat64, kFloat16, kBFloat16})
    all.push_back({"matmul", [=](Device d) {
                     TensorList y;
                     for (const Shape& s : {Shape{65, 37, 70}, Shape{130, 20, 65}, Shape{1, 300, 40}, Shape{40, 300, 1},
                                            Shape{1, 5000, 3}}) {
                       const Tensor a = numbers({2, s[0], s[1]}, d, t), b = numbers({2, s[1], s[2]}, d, t);
                       y.push_back(matmul(a, b));
                       y.push_back(matmul(a.transpose(1, 2).contiguous().transpose(1, 2),
                                          b.transpose(1, 2).contiguous().transpose(1, 2)));
                     }
                     return y;
                   }});
  all.push_back({"matmul, large tiles", [](Device d) {
                   return TensorList{matmul(numbers({64, 130, 9}, d), numbers({64, 9, 129}, d))};
                 }});
  all.push_back({"matmul of integers", [](Device d) {
                   return TensorList{matmul(numbers({20, 30}, d, kInt64), numbers({30, 20}, d, kInt64))};
                 }});
  for (const DType t : {kFloat32, kFloat16})
    all.push_back({"conv2d", [=](Device d) {
                     return with_gradients({numbers({3, 4, 13, 11}, d, t), numbers({6, 2, 3, 3}, d, t)},
                                           [](const TensorList& x) { return conv2d(x[0], x[1], {}, 1, 1, 1, 2); });
                   }});
  all.push_back({"conv2d, many images", [](Device d) {
                   return with_gradients({numbers({40, 1, 12, 12}, d), numbers({3, 1, 3, 3}, d)},
                                         [](const TensorList& x) { return conv2d(x[0], x[1]); });
                 }});
  all.push_back({"pooling", [](Device d) {
                   return with_gradients({numbers({3, 4, 13, 11}, d)}, [](const TensorList& x) {
                     return max_pool2d(x[0], 3, 2, 1) + avg_pool2d(x[0], 3, 2, 1);
                   });
                 }});
  return all;
}

std::vector<Work> element_work() {
  std::vector<Work> all;
  for (const DType t : {kUInt8, kFloat16, kFloat32, kFloat64})
    all.push_back({"copies", [=](Device d) {
                     const Tensor x = numbers({100, 70}, d, t);
                     return TensorList{
                         x.t().contiguous(), x.slice(1, 0, {}, 2).contiguous(),          x.clone(),
                         x.t().to(kInt32),   full({3001}, 3, {.dtype = t, .device = d}), x + x.t().reshape({100, 70})};
                   }});
  all.push_back({"fill of a view with gaps", [](Device d) {
                   Tensor x = zeros({300, 20}, {.device = d});
                   x.narrow(1, 1, 7).fill_(3);
                   return TensorList{x};
                 }});
  all.push_back({"optimisers", [](Device d) {
                   TensorList p;
                   for (int64_t n : {0, 1, 300, 70000}) p.push_back(numbers({n}, d).requires_grad_());
                   p.push_back(numbers({20, 30}, d).t().requires_grad_());
                   for (Tensor& x : p) x.set_grad(numbers(x.sizes(), d));
                   const Tensor norm = optim::clip_grad_norm_(p, 5.0);
                   optim::Adam(p, {.weight_decay = 0.1}).step();
                   optim::SGD(p, {.lr = 0.1, .momentum = 0.9}).step();
                   TensorList y{norm};
                   for (const Tensor& x : p) y.push_back(x.detach());
                   return y;
                 }});
  return all;
}

std::string bits_differ(const TensorList& want, const TensorList& got) {
  for (size_t i = 0; i < want.size(); ++i)
    if (!same_bits(want[i], got[i])) return fmt::format("result {} has other bits", i);
  return "";
}

void under_every_schedule(std::vector<Work> all) {
  for (Work& work : all)
    for (const char* name : {"matmul", "pooling", "copies", "cross_entropy"})
      work.goes_round |= std::strncmp(work.name, name, std::strlen(name)) == 0;
  set_matmul_backend("tantu");
  for (const Device& device : gpu_devices())
    for (const Work& work : all) {
      TensorList first;
      for (int run = 0; run < 5; ++run) {
#ifdef TANTU_TEST_VGPU
        if (vgpu::under_tsan() && run > 0) break;  // it judges by order, whatever the schedule was
        vgpu::set_seed(vgpu::under_tsan() ? 1 : static_cast<uint64_t>(run));
#endif
        INFO(work.name << ", run " << run);
        const TensorList y = work.run(device);
        if (first.empty()) first = y;
        CHECK(bits_differ(first, y) == "");
      }
#ifdef TANTU_TEST_VGPU
      if (!work.goes_round) continue;
      INFO(work.name << ", by two blocks");
      vgpu::set_most_blocks(2);
      const TensorList y = work.run(device);
      vgpu::set_most_blocks(0);
      CHECK(bits_differ(first, y) == "");
#endif
    }
#ifdef TANTU_TEST_VGPU
  vgpu::set_seed(0);
#endif
  set_matmul_backend("cublas");
}

}  // namespace

TEST_CASE("every schedule: reductions, softmax, scans, sorting") {
  under_every_schedule(lines_work());
}
TEST_CASE("every schedule: normalizations and cross-entropy") {
  under_every_schedule(norm_work());
}
TEST_CASE("every schedule: indices and random choices") {
  under_every_schedule(index_work());
}
TEST_CASE("every schedule: products, convolutions, pooling") {
  under_every_schedule(product_work());
}
TEST_CASE("every schedule: copies, elements, optimisers") {
  under_every_schedule(element_work());
}
