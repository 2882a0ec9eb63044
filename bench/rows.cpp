#include <tantu/bench/row.h>

#include <tantu/autograd/ops.h>

#include <cmath>

namespace bench {

using namespace tantu;

namespace {

using Tensors = std::vector<Tensor>;

double d(int64_t n) {
  return static_cast<double>(n);
}

// Rows over n elements shown as (n / 512, 512).
Row over_matrix(const char* name, std::function<Tensor(const Tensor&)> call, double bytes_per_element,
                double growth = 1) {
  Row row;
  row.name = name;
  row.sizes = {16384, int64_t{1} << 22};
  row.inputs = [](int64_t n, const TensorOptions& o) { return Tensors{randn({n / 512, 512}, o)}; };
  row.call = [call = std::move(call)](const Tensors& t) { return call(t[0]); };
  row.bytes = [=](int64_t n) { return bytes_per_element * d(n); };
  row.flops = [](int64_t n) { return d(n); };
  row.growth = growth;
  return row;
}

Row product(const char* name, std::function<Tensors(int64_t, const TensorOptions&)> inputs,
            std::function<Tensor(const Tensors&)> call, std::function<double(int64_t)> bytes,
            std::function<double(int64_t)> flops, std::vector<int64_t> sizes) {
  Row row;
  row.name = name;
  row.sizes = std::move(sizes);
  row.inputs = std::move(inputs);
  row.call = std::move(call);
  row.bytes = std::move(bytes);
  row.flops = std::move(flops);
  row.growth = 32;  // sums of K products
  return row;
}

Tensor classes(int64_t n, int64_t count, Device device) {
  return randint(0, count, {n}, {.dtype = kInt64, .device = device});
}

// The same with a second input, which is part of what is read.
Row with_second(Row row, std::function<Tensor(const Tensor&)> second, std::function<Tensor(const Tensors&)> call) {
  row.inputs = [first = row.inputs, second = std::move(second)](int64_t n, const TensorOptions& o) {
    Tensors all = first(n, o);
    all.push_back(second(all[0]));
    return all;
  };
  row.call = std::move(call);
  return row;
}

void add_reductions(std::vector<Row>& all) {
  all.push_back(over_matrix(
      "sum", [](const Tensor& x) { return x.sum(); }, 4, 64));
  all.push_back(over_matrix(
      "sum_dim0", [](const Tensor& x) { return sum(x, 0); }, 4, 16));
  all.push_back(over_matrix(
      "sum_dim1", [](const Tensor& x) { return sum(x, 1); }, 4, 16));
  all.push_back(over_matrix(
      "mean", [](const Tensor& x) { return x.mean(1); }, 4, 4));
  Row product_of_512 = over_matrix(
      "prod", [](const Tensor& x) { return prod(x, 1); }, 4, 64);
  product_of_512.inputs = [](int64_t n, const TensorOptions& o) {
    return Tensors{rand({n / 512, 512}, o) * 0.02 + 0.99};  // products that neither vanish nor overflow
  };
  all.push_back(product_of_512);
  all.push_back(over_matrix(
      "max", [](const Tensor& x) { return x.max(1).first; }, 4));
  all.push_back(over_matrix(
      "min", [](const Tensor& x) { return x.min(1).first; }, 4));
  all.push_back(over_matrix(
      "amax", [](const Tensor& x) { return x.amax(1); }, 4));
  all.push_back(over_matrix(
      "amin", [](const Tensor& x) { return x.amin(1); }, 4));
  all.push_back(over_matrix(
      "argmax", [](const Tensor& x) { return x.argmax(1); }, 4));
  all.push_back(over_matrix(
      "argmin", [](const Tensor& x) { return x.argmin(1); }, 4));
  all.push_back(over_matrix(
      "var", [](const Tensor& x) { return x.var(1); }, 4, 8));
  all.push_back(over_matrix(
      "std", [](const Tensor& x) { return x.std(1); }, 4, 8));
  all.push_back(over_matrix(
      "norm", [](const Tensor& x) { return x.norm(2, 1); }, 4, 8));
  all.push_back(over_matrix(
      "logsumexp", [](const Tensor& x) { return x.logsumexp(1); }, 4, 8));
  all.push_back(over_matrix(
      "cumsum", [](const Tensor& x) { return x.cumsum(1); }, 8, 64));
  const auto truths = [](const char* name, std::function<Tensor(const Tensor&)> truth,
                         std::function<Tensor(const Tensor&)> call) {
    return with_second(over_matrix(name, {}, 1), std::move(truth),
                       [call = std::move(call)](const Tensors& t) { return call(t[1]); });
  };
  all.push_back(truths(
      "all", [](const Tensor& x) { return x > -9; }, [](const Tensor& x) { return x.all(); }));
  all.push_back(truths(
      "any", [](const Tensor& x) { return x > 9; }, [](const Tensor& x) { return x.any(); }));
  all.push_back(over_matrix(
      "softmax", [](const Tensor& x) { return x.softmax(1); }, 8, 4));
  all.push_back(over_matrix(
      "log_softmax", [](const Tensor& x) { return x.log_softmax(1); }, 8, 4));
  Row long_rows = over_matrix(
      "softmax_64Ki", [](const Tensor& x) { return x.softmax(1); }, 8, 4);
  long_rows.sizes = {65536, int64_t{1} << 22};
  long_rows.inputs = [](int64_t n, const TensorOptions& o) { return Tensors{randn({n / 65536, 65536}, o)}; };
  all.push_back(long_rows);
  all.push_back(over_matrix(
      "sort", [](const Tensor& x) { return x.sort(1).first; }, 16));
  all.push_back(over_matrix(
      "topk", [](const Tensor& x) { return x.topk(8, 1).first; }, 4));
  all.push_back(over_matrix(
      "median", [](const Tensor& x) { return median(x, 1).first; }, 4));
}

void add_products(std::vector<Row>& all) {
  const auto square = [](int64_t n, const TensorOptions& o) { return Tensors{randn({n, n}, o), randn({n, n}, o)}; };
  const auto square_bytes = [](int64_t n) { return 12.0 * d(n) * d(n); };
  const auto square_flops = [](int64_t n) { return 2.0 * d(n) * d(n) * d(n); };
  const std::vector<int64_t> sizes{128, 512, 1024};
  all.push_back(product(
      "matmul", square, [](const Tensors& t) { return matmul(t[0], t[1]); }, square_bytes, square_flops, sizes));
  all.push_back(product(
      "mm", square, [](const Tensors& t) { return mm(t[0], t[1].transpose(0, 1)); }, square_bytes, square_flops,
      sizes));
  all.push_back(product(
      "addmm",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n}, o), randn({n, n}, o), randn({n, n}, o)};
      },
      [](const Tensors& t) { return addmm(t[0], t[1], t[2]); }, square_bytes, square_flops, {128, 512}));
  all.push_back(product(
      "linear",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({128, n}, o), randn({n, n}, o), randn({n}, o)};
      },
      [](const Tensors& t) { return linear(t[0], t[1], t[2]); },
      [](int64_t n) { return 4.0 * (d(n) * d(n) + 256 * d(n)); }, [](int64_t n) { return 256.0 * d(n) * d(n); },
      {128, 512}));
  all.push_back(product(
      "bmm",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n, 32, 32}, o), randn({n, 32, 32}, o)};
      },
      [](const Tensors& t) { return bmm(t[0], t[1]); }, [](int64_t n) { return 12.0 * 1024 * d(n); },
      [](int64_t n) { return 2.0 * 32768 * d(n); }, {16, 512}));
  all.push_back(product(
      "baddbmm",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n, 32, 32}, o), randn({n, 32, 32}, o), randn({n, 32, 32}, o)};
      },
      [](const Tensors& t) { return baddbmm(t[0], t[1], t[2]); }, [](int64_t n) { return 16.0 * 1024 * d(n); },
      [](int64_t n) { return 2.0 * 32768 * d(n); }, {16, 512}));
  all.push_back(product(
      "mv",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n, n}, o), randn({n}, o)};
      },
      [](const Tensors& t) { return mv(t[0], t[1]); }, [](int64_t n) { return 4.0 * d(n) * d(n); },
      [](int64_t n) { return 2.0 * d(n) * d(n); }, {512, 2048}));
  all.push_back(product(
      "dot",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n}, o), randn({n}, o)};
      },
      [](const Tensors& t) { return dot(t[0], t[1]); }, [](int64_t n) { return 8.0 * d(n); },
      [](int64_t n) { return 2.0 * d(n); }, {4096, int64_t{1} << 20}));
  all.push_back(product(
      "outer",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n}, o), randn({n}, o)};
      },
      [](const Tensors& t) { return outer(t[0], t[1]); }, [](int64_t n) { return 4.0 * d(n) * d(n); },
      [](int64_t n) { return d(n) * d(n); }, {256, 2048}));
  all.push_back(product(
      "cross",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({n, 3}, o), randn({n, 3}, o)};
      },
      [](const Tensors& t) { return cross(t[0], t[1]); }, [](int64_t n) { return 36.0 * d(n); },
      [](int64_t n) { return 9.0 * d(n); }, {4096, int64_t{1} << 20}));
  all.push_back(product(
      "einsum",
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({8, n, 64}, o), randn({8, 64, n}, o)};
      },
      [](const Tensors& t) {
        return einsum("bij,bjk->bik", {t[0], t[1]});
      },
      [](int64_t n) { return 32.0 * d(n) * (128 + d(n)); }, [](int64_t n) { return 1024.0 * d(n) * d(n); }, {64, 256}));
}

void add_layers(std::vector<Row>& all) {
  all.push_back(over_matrix(
      "layer_norm", [](const Tensor& x) { return layer_norm(x, {512}); }, 8, 8));
  all.push_back(over_matrix(
      "batch_norm", [](const Tensor& x) { return batch_norm(x, {}, {}, {}, {}, true); }, 8, 16));
  all.push_back(with_second(
      over_matrix("cross_entropy", {}, 4, 16), [](const Tensor& x) { return classes(x.size(0), 512, x.device()); },
      [](const Tensors& t) { return cross_entropy(t[0], t[1]); }));
  all.push_back(with_second(
      over_matrix("mse_loss", {}, 8, 64), [](const Tensor& x) { return x * 0.5; },
      [](const Tensors& t) { return mse_loss(t[0], t[1]); }));
  Row embed;
  embed.name = "embedding";
  embed.sizes = {256, 16384};
  embed.inputs = [](int64_t n, const TensorOptions& o) {
    return Tensors{randn({1000, 128}, o), classes(n, 1000, o.device)};
  };
  embed.call = [](const Tensors& t) { return embedding(t[1], t[0]); };
  embed.bytes = [](int64_t n) { return 1024.0 * d(n); };
  embed.flops = [](int64_t) { return 0.0; };
  all.push_back(embed);
}

// 3x3 filters on planes of 28 x 28, n channels in and out.
Row planes(const char* name, std::function<Tensor(const Tensors&)> call) {
  Row row = product(
      name,
      [](int64_t n, const TensorOptions& o) {
        return Tensors{randn({8, n, 28, 28}, o), randn({n, n, 3, 3}, o)};
      },
      std::move(call), [](int64_t n) { return 4.0 * (2 * 8 * 784 * d(n) + 9 * d(n) * d(n)); },
      [](int64_t n) { return 2.0 * 8 * 784 * 9 * d(n) * d(n); }, {16, 64});
  row.gpu_sizes = {16, 512};
  return row;
}

void add_convolutions(std::vector<Row>& all) {
  all.push_back(planes("conv2d", [](const Tensors& t) { return conv2d(t[0], t[1], {}, 1, 1); }));
  all.push_back(planes("conv_transpose2d", [](const Tensors& t) { return conv_transpose2d(t[0], t[1], {}, 1, 1); }));
  all.push_back(planes("conv1d", [](const Tensors& t) { return conv1d(t[0].flatten(2), t[1].flatten(2), {}, 1, 4); }));
}

// Planes of 64 x 64.
Row pooling(const char* name, std::function<Tensor(const Tensor&)> call, double bytes_per_element) {
  Row row = over_matrix(name, std::move(call), bytes_per_element);
  row.inputs = [](int64_t n, const TensorOptions& o) { return Tensors{randn({n / 4096, 64, 64}, o)}; };
  row.growth = 8;
  return row;
}

void add_poolings(std::vector<Row>& all) {
  all.push_back(pooling(
      "max_pool2d", [](const Tensor& x) { return max_pool2d(x, 2); }, 7));
  all.push_back(pooling(
      "max_pool1d", [](const Tensor& x) { return max_pool1d(x, 2); }, 10));
  all.push_back(pooling(
      "avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, 2); }, 5));
  all.push_back(pooling(
      "avg_pool1d", [](const Tensor& x) { return avg_pool1d(x, 2); }, 6));
  all.push_back(pooling(
      "adaptive_avg_pool2d", [](const Tensor& x) { return adaptive_avg_pool2d(x, 7); }, 4));
  all.push_back(pooling(
      "adaptive_max_pool2d", [](const Tensor& x) { return adaptive_max_pool2d(x, 7); }, 4));
}

void add_moves(std::vector<Row>& all) {
  all.push_back(over_matrix(
      "clone", [](const Tensor& x) { return x.clone(); }, 8));
  all.push_back(over_matrix(
      "transpose_copy", [](const Tensor& x) { return x.transpose(0, 1).contiguous(); }, 8));
  all.push_back(over_matrix(
      "cat",
      [](const Tensor& x) {
        return cat({x, x}, 1);
      },
      16));
  all.push_back(over_matrix(
      "stack",
      [](const Tensor& x) {
        return stack({x, x}, 0);
      },
      16));
  all.push_back(over_matrix(
      "flip", [](const Tensor& x) { return flip(x, {1}); }, 8));
  all.push_back(over_matrix(
      "roll", [](const Tensor& x) { return roll(x, {3}, {1}); }, 8));
  all.push_back(over_matrix(
      "repeat",
      [](const Tensor& x) {
        return repeat(x, {2, 1});
      },
      12));
  all.push_back(over_matrix(
      "tril", [](const Tensor& x) { return tril(x); }, 8));
  all.push_back(over_matrix(
      "pad",
      [](const Tensor& x) {
        return pad(x, {1, 1});
      },
      8));
  all.push_back(with_second(
      over_matrix("index_select", {}, 8), [](const Tensor& x) { return classes(x.size(0), x.size(0), x.device()); },
      [](const Tensors& t) { return index_select(t[0], 0, t[1]); }));
  all.push_back(with_second(
      over_matrix("gather", {}, 16),
      [](const Tensor& x) { return randint(0, 512, x.sizes(), {.dtype = kInt64, .device = x.device()}); },
      [](const Tensors& t) { return gather(t[0], 1, t[1]); }));
  const auto positive = [](const Tensor& x) { return x > 0; };
  all.push_back(with_second(over_matrix("masked_fill", {}, 9), positive,
                            [](const Tensors& t) { return masked_fill(t[0], t[1], 0); }));
  all.push_back(
      with_second(over_matrix("where", {}, 9), positive, [](const Tensors& t) { return where(t[1], t[0], 0); }));
  all.push_back(over_matrix(
      "to_float64", [](const Tensor& x) { return x.to(kFloat64); }, 12));
}

}  // namespace

std::vector<Row> rows() {
  std::vector<Row> all;
  add_reductions(all);
  add_products(all);
  add_layers(all);
  add_convolutions(all);
  add_poolings(all);
  add_moves(all);
  return all;
}

}  // namespace bench
