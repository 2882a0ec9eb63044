#include <tantu/bench/row.h>

#include <tantu/autograd/ops.h>
#include <tantu/kernels/pointwise.h>

#include <algorithm>
#include <string_view>

namespace bench {

using namespace tantu;

namespace {

constexpr int64_t kSmall = 4096, kStreaming = int64_t{1} << 22;

std::vector<Tensor> uniform_inputs(int count, int64_t n, const TensorOptions& options, double low, double high) {
  std::vector<Tensor> in;
  for (int i = 0; i < count; ++i) in.push_back(rand({n}, options) * (high - low) + low);
  return in;
}

std::vector<Tensor> integer_inputs(int count, int64_t n, Device device) {
  std::vector<Tensor> in;
  for (int i = 0; i < count; ++i) in.push_back(randint(0, 1 << 30, {n}, {.dtype = kInt64, .device = device}));
  return in;
}

Row make(const char* name, int arity, pointwise::Rule rule, double low, double high,
         std::function<Tensor(const std::vector<Tensor>&)> call) {
  Row row;
  row.name = name;
  row.sizes = {kSmall, kStreaming};
  row.inputs = [=](int64_t n, const TensorOptions& options) {
    return rule == pointwise::kIntegers ? integer_inputs(arity, n, options.device)
                                        : uniform_inputs(arity, n, options, low, high);
  };
  row.call = std::move(call);
  const double item = rule == pointwise::kIntegers ? 8 : 4;
  row.bytes = [=](int64_t n) {
    return static_cast<double>(n) * (item * arity + (rule == pointwise::kToBool ? 1 : item));
  };
  row.flops = [](int64_t n) { return static_cast<double>(n); };
  row.growth = 4;
  const std::string_view jumping[] = {"floor_divide", "fmod", "remainder"};
  row.jumps = std::find(std::begin(jumping), std::end(jumping), name) != std::end(jumping);
  return row;
}

}  // namespace

std::vector<Row> pointwise_rows() {
  using namespace tantu::pointwise;
  return {
      // The functions that choose among rows.
      make("div", 2, kKeep, 0.5, 3, [](const std::vector<Tensor>& t) { return div(t[0], t[1]); }),
      make("pow", 1, kKeep, 0.1, 3, [](const std::vector<Tensor>& t) { return pow(t[0], 2.5); }),
      make("square", 1, kKeep, -3, 3, [](const std::vector<Tensor>& t) { return square(t[0]); }),
      make("clamp", 1, kKeep, -3, 3, [](const std::vector<Tensor>& t) { return clamp(t[0], -1.0, 1.0); }),
      make("gelu", 1, kKeep, -3, 3, [](const std::vector<Tensor>& t) { return gelu(t[0]); }),
      make("relu6", 1, kKeep, -3, 9, [](const std::vector<Tensor>& t) { return relu6(t[0]); }),
      make("bitwise_not", 1, kIntegers, 0, 1, [](const std::vector<Tensor>& t) { return bitwise_not(t[0]); }),
#define TANTU_UNARY_OF(...)
#define TANTU_BINARY_OF(...)
#define TANTU_TERNARY_OF(...)
#define TANTU_UNARY(name, PARAMS, rule, saves, forward, da, low, high, smooth) \
  make(#name, 1, rule, low, high, [](const std::vector<Tensor>& t) { return tantu::name(t[0]); }),
#define TANTU_BINARY(name, PARAMS, rule, saves, forward, da, db, low, high, smooth) \
  make(#name, 2, rule, low, high, [](const std::vector<Tensor>& t) { return tantu::name(t[0], t[1]); }),
#define TANTU_TERNARY(name, PARAMS, rule, saves, forward, da, db, dc, low, high, smooth) \
  make(#name, 3, rule, low, high, [](const std::vector<Tensor>& t) { return tantu::name(t[0], t[1], t[2]); }),
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY
  };
}

}  // namespace bench
