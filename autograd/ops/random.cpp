#include <tantu/autograd/ops/random.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/random_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tantu {

namespace {

// The generator of a fill, held until the fill is done.
class Draw {
 public:
  Draw(const char* op, Device device, const std::optional<Generator>& given)
      : generator_(given ? *given : default_generator(device)), lock_(generator_) {
    TANTU_CHECK(generator_.device() == device, DeviceError,
                "{}: Expected a '{}' device type for generator but found '{}'", op, device, generator_.device());
  }
  Generator& operator*() { return generator_; }

 private:
  Generator generator_;
  GeneratorLock lock_;
};

void check_floating(const char* op, DType dtype) {
  TANTU_CHECK(is_floating(dtype), DTypeError, "{}: expects a floating dtype, but got {}", op, dtype);
}

double highest(DType dtype) {
  return dtype == kFloat64    ? std::numeric_limits<double>::max()
         : dtype == kFloat32  ? std::numeric_limits<float>::max()
         : dtype == kBFloat16 ? 0x1.fep127
                              : 65504.0;
}

void check_uniform(const char* op, DType dtype, double from, double to) {
  check_floating(op, dtype);
  TANTU_CHECK(
      std::isfinite(from) && std::isfinite(to) && std::abs(from) <= highest(dtype) && std::abs(to) <= highest(dtype),
      ValueError, "{}: bounds must be finite in {}, but got [{}, {})", op, dtype, from, to);
  TANTU_CHECK(from <= to, ValueError, "{}: expects to return a [from, to) range, but found from={} > to={}", op, from,
              to);
  TANTU_CHECK(to - from <= highest(dtype), ValueError, "{}: expects to-from <= {}, but found to={} and from={}", op,
              highest(dtype), to, from);
}

void check_std(const char* op, double std) {
  TANTU_CHECK(std >= 0, ValueError, "{}: expects std >= 0.0, but found std {}", op, std);
}

void check_probability(const char* op, double p) {
  TANTU_CHECK(p >= 0 && p <= 1, ValueError, "{}: expects p to be in [0, 1], but got p={}", op, p);
}

// Throws ValueError with the first value outside of [low, high]. Waits for the device.
void check_values(const char* op, const Tensor& x, const char* text, double low, double high) {
  std::optional<double> found;
  if (x.numel() > 0) on_device(x.device(), op, [&](auto& ctx) { first_outside(ctx, x.in(), low, high, found); });
  TANTU_CHECK(!found, ValueError, fmt::runtime(text), *found);
}

// The integers a dtype can count without a gap, or, for a floating one, reach at all.
void check_integer(const char* op, const char* which, DType dtype, int64_t value) {
  const double limit = dtype == kFloat16 ? 65504.0 : std::numeric_limits<double>::infinity();
  const bool fits = is_floating(dtype) ? std::abs(static_cast<double>(value)) <= limit
                    : dtype == kInt64  ? true
                    : dtype == kInt32  ? value == static_cast<int32_t>(value)
                    : dtype == kUInt8  ? value == static_cast<uint8_t>(value)
                                       : value == 0 || value == 1;
  TANTU_CHECK(fits, ValueError, "{}: {} is out of bounds for {} ({})", op, which, dtype, value);
}

double as_dtype(DType dtype, int64_t value) {
  return dtype == kFloat64    ? static_cast<double>(value)
         : dtype == kFloat32  ? static_cast<double>(static_cast<float>(value))
         : dtype == kBFloat16 ? static_cast<double>(float(bfloat16(static_cast<float>(value))))
                              : static_cast<double>(float(float16(static_cast<float>(value))));
}

// Floating types skip integers above 2^digits: a bound that would round out of [low, high) moves inwards, as PyTorch's
// does.
void shrink_to_dtype(DType dtype, int64_t& low, int64_t& high) {
  const int digits = dtype == kFloat64 ? 53 : dtype == kFloat32 ? 24 : dtype == kFloat16 ? 11 : 8;
  const auto gap = [&](int64_t v) {
    const uint64_t magnitude = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    return int64_t{1} << std::max(0, static_cast<int>(std::bit_width(magnitude)) - digits);
  };
  const double above = as_dtype(dtype, low + 1), last = as_dtype(dtype, high - 1);
  if (above < static_cast<double>(low)) low = static_cast<int64_t>(above) + gap(low + 1);
  if (last >= static_cast<double>(high)) high = static_cast<int64_t>(last) - gap(high - 1);
}

uint64_t check_integers(const char* op, DType dtype, int64_t& low, int64_t high) {
  TANTU_CHECK(low < high, ValueError, "{}: expects 'from' to be less than 'to', but got from={} >= to={}", op, low,
              high);
  check_integer(op, "from", dtype, low);
  check_integer(op, "to - 1", dtype, high - 1);
  if (is_floating(dtype)) {
    shrink_to_dtype(dtype, low, high);
    TANTU_CHECK(low < high, ValueError,
                "{}: expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={} >= to={}", op,
                low, high);
  }
  return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
}

// Fills y, a fresh tensor.
template <class F>
Tensor filled(const char* op, Tensor y, const std::optional<Generator>& generator, bool requires_grad, F&& fill) {
  Draw draw(op, y.device(), generator);
  if (y.numel() > 0) on_device(y.device(), op, [&](auto& ctx) { fill(ctx, y.out(), *draw); });
  if (requires_grad) y.requires_grad_();
  return y;
}

// Fills y in place. What it was has no influence on what it becomes, so its gradient is zero.
template <class F>
Tensor& refilled(const char* op, const char* grad_name, Tensor& y, const std::optional<Generator>& generator,
                 F&& fill) {
  tape::check_inplace(op, y);
  filled(op, y, generator, false, fill);
  if (tape::wants(y))
    tape::record_inplace(grad_name, y, {y}, {}, [](tape::Backward& b) { return TensorList{zeros_like(b.grad())}; });
  else tape::written(y);
  return y;
}

Tensor make(const char* op, const Shape& sizes, const TensorOptions& options, DType dtype = kFloat32) {
  return make_tensor(op, sizes, options.dtype.value_or(dtype), options.device);
}

// An empty tensor like x; if x's elements fill one block, then in x's order.
Tensor make_like(const char* op, const Tensor& x) {
  Tensor y = make_tensor(op, x.sizes(), x.dtype(), x.device());
  if (x.is_contiguous() || x.numel() == 0) return y;
  int order[kMaxDims];
  const int rank = static_cast<int>(x.dim());
  for (int d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order, order + rank, [&](int a, int b) { return x.strides()[a] < x.strides()[b]; });
  int64_t expected = 1;
  for (int k = 0; k < rank; ++k) {
    const int d = order[k];
    if (x.sizes()[d] == 1) continue;
    if (x.strides()[d] != expected) return y;
    expected *= x.sizes()[d];
  }
  return make_view(y.impl().storage, y.dtype(), x.sizes(), x.strides(), 0);
}

const auto uniform_of = [](double from, double to) {
  return [=](auto& ctx, View y, Generator& g) { random_uniform(ctx, y, from, to, g); };
};
const auto normal_of = [](double mean, double std) {
  return [=](auto& ctx, View y, Generator& g) { random_normal(ctx, y, mean, std, g); };
};
const auto integers_of = [](int64_t low, uint64_t range) {
  return [=](auto& ctx, View y, Generator& g) { random_integers(ctx, y, low, range, g); };
};
const auto bernoulli_of = [](double p) {
  return [=](auto& ctx, View y, Generator& g) { random_bernoulli(ctx, y, p, g); };
};

}  // namespace

Tensor rand(const Shape& sizes, const TensorOptions& options, std::optional<Generator> generator, Site at) {
  tape::Op op("rand", at);
  check_floating("rand", options.dtype.value_or(kFloat32));
  return filled("rand", make("rand", sizes, options), generator, options.requires_grad, uniform_of(0, 1));
}

Tensor rand_like(const Tensor& x, std::optional<Generator> generator, Site at) {
  tape::Op op("rand_like", at);
  check_floating("rand_like", x.dtype());
  return filled("rand_like", make_like("rand_like", x), generator, false, uniform_of(0, 1));
}

Tensor randn(const Shape& sizes, const TensorOptions& options, std::optional<Generator> generator, Site at) {
  tape::Op op("randn", at);
  check_floating("randn", options.dtype.value_or(kFloat32));
  return filled("randn", make("randn", sizes, options), generator, options.requires_grad, normal_of(0, 1));
}

Tensor randn_like(const Tensor& x, std::optional<Generator> generator, Site at) {
  tape::Op op("randn_like", at);
  check_floating("randn_like", x.dtype());
  return filled("randn_like", make_like("randn_like", x), generator, false, normal_of(0, 1));
}

Tensor randint(int64_t low, int64_t high, const Shape& sizes, const TensorOptions& options,
               std::optional<Generator> generator, Site at) {
  tape::Op op("randint", at);
  const uint64_t range = check_integers("randint", options.dtype.value_or(kInt64), low, high);
  return filled("randint", make("randint", sizes, options, kInt64), generator, options.requires_grad,
                integers_of(low, range));
}

Tensor randint(int64_t high, const Shape& sizes, const TensorOptions& options, std::optional<Generator> generator,
               Site at) {
  return randint(0, high, sizes, options, std::move(generator), at);
}

Tensor randperm(int64_t n, const TensorOptions& options, std::optional<Generator> generator, Site at) {
  tape::Op op("randperm", at);
  TANTU_CHECK(n >= 0, ValueError, "randperm: n must be non-negative, got {}", n);
  TANTU_CHECK(n >> 32 == 0, ValueError, "randperm: n must be below 2^32, got {}", n);
  const DType dtype = options.dtype.value_or(kInt64);
  if (n > 0 && !is_floating(dtype)) check_integer("randperm", "n - 1", dtype, n - 1);
  const Tensor y = filled("randperm", make("randperm", {n}, {.dtype = kInt64, .device = options.device}), generator,
                          false, [](auto& ctx, View view, Generator& g) { random_permutation(ctx, view, g); });
  return y.to(dtype);
}

Tensor bernoulli(const Tensor& p, std::optional<Generator> generator, Site at) {
  tape::Op op("bernoulli", at);
  check_floating("bernoulli", p.dtype());
  check_values("bernoulli", p, "bernoulli: expects every p to be in [0, 1], but got p={}", 0, 1);
  Tensor y = filled("bernoulli", make_like("bernoulli", p), generator, false,
                    [&](auto& ctx, View view, Generator& g) { random_bernoulli_each(ctx, p.in(), view, g); });
  if (tape::wants(p))
    tape::record("BernoulliBackward0", {&y}, {p}, {},
                 [](tape::Backward& b) { return TensorList{zeros_like(b.grad())}; });
  return y;
}

Tensor bernoulli(const Tensor& x, double p, std::optional<Generator> generator, Site at) {
  tape::Op op("bernoulli", at);
  check_probability("bernoulli", p);
  return filled("bernoulli", make_like("bernoulli", x), generator, false, bernoulli_of(p));
}

namespace {

void check_std(const Tensor& std) {
  check_floating("normal", std.dtype());
  check_values("normal", std, "normal: expects all elements of std >= 0.0, but found {}", 0,
               std::numeric_limits<double>::infinity());
}

}  // namespace

Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> generator, Site at) {
  tape::Op op("normal", at);
  tape::common_device("normal", {{"mean", &mean}, {"std", &std}});
  check_floating("normal", mean.dtype());
  check_std(std);
  const Shape sizes = broadcast_shapes("normal", mean.sizes(), std.sizes());
  return add(mul(randn(sizes, mean.options(), std::move(generator)), std), mean);
}

Tensor normal(const Tensor& mean, double std, std::optional<Generator> generator, Site at) {
  tape::Op op("normal", at);
  check_floating("normal", mean.dtype());
  check_std("normal", std);
  return add(filled("normal", make_like("normal", mean), generator, false, normal_of(0, std)), mean);
}

Tensor normal(double mean, const Tensor& std, std::optional<Generator> generator, Site at) {
  tape::Op op("normal", at);
  check_std(std);
  return add(mul(randn_like(std, std::move(generator)), std), mean);
}

Tensor normal(double mean, double std, const Shape& sizes, const TensorOptions& options,
              std::optional<Generator> generator, Site at) {
  tape::Op op("normal", at);
  check_floating("normal", options.dtype.value_or(kFloat32));
  check_std("normal", std);
  return filled("normal", make("normal", sizes, options), generator, options.requires_grad, normal_of(mean, std));
}

Tensor multinomial(const Tensor& p, int64_t samples, bool replacement, std::optional<Generator> generator, Site at) {
  tape::Op op("multinomial", at);
  TANTU_CHECK(p.dim() == 1 || p.dim() == 2, ShapeError, "multinomial: prob_dist must be 1 or 2 dim, but is {}",
              p.sizes());
  TANTU_CHECK(is_floating(p.dtype()), DTypeError,
              "multinomial: only supports floating-point dtypes for input, but got {}", p.dtype());
  TANTU_CHECK(samples > 0, ValueError, "multinomial: cannot sample n_sample <= 0 samples (got {})", samples);
  const int64_t categories = p.size(-1);
  TANTU_CHECK(replacement || samples <= categories, ValueError,
              "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement ({} > {})", samples,
              categories);
  TANTU_CHECK(categories > 0 && categories <= int64_t{1} << 24, ValueError,
              "multinomial: number of categories must be in [1, 2^24], but is {}", categories);
  const Tensor weights = p.detach().dim() == 1 ? p.detach().unsqueeze(0) : p.detach();
  check_values("multinomial", weights,
               "multinomial: probability tensor contains either `inf`, `nan` or element < 0 ({})", 0,
               std::numeric_limits<double>::max());
  for (const int64_t positive : (weights != 0).sum(1).to_vector<int64_t>()) {
    TANTU_CHECK(positive > 0, ValueError, "multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
    TANTU_CHECK(replacement || positive >= samples, ValueError,
                "multinomial: cannot draw {} samples without replacement from a row with {} non-zero weights", samples,
                positive);
  }
  const Tensor y =
      filled("multinomial", make("multinomial", {weights.size(0), samples}, {.dtype = kInt64, .device = p.device()}),
             generator, false,
             [&](auto& ctx, View view, Generator& g) { random_multinomial(ctx, weights.in(), view, replacement, g); });
  return p.dim() == 1 ? y.view({samples}) : y;
}

Tensor dropout_mask(const char* op, const Shape& sizes, const TensorOptions& options, double keep) {
  return filled(op, make(op, sizes, options), {}, false,
                [=](auto& ctx, View y, Generator& g) { random_dropout(ctx, y, keep, g); });
}

Tensor& Tensor::uniform_(double from, double to, std::optional<Generator> generator, Site at) {
  tape::Op op("uniform_", at);
  check_uniform("uniform_", dtype(), from, to);
  return refilled("uniform_", "UniformBackward0", *this, generator, uniform_of(from, to));
}

Tensor& Tensor::normal_(double mean, double std, std::optional<Generator> generator, Site at) {
  tape::Op op("normal_", at);
  check_floating("normal_", dtype());
  check_std("normal_", std);
  return refilled("normal_", "NormalBackward0", *this, generator, normal_of(mean, std));
}

Tensor& Tensor::random_(int64_t low, int64_t high, std::optional<Generator> generator, Site at) {
  tape::Op op("random_", at);
  const uint64_t range = check_integers("random_", dtype(), low, high);
  return refilled("random_", "RandomBackward0", *this, generator, integers_of(low, range));
}

Tensor& Tensor::random_(std::optional<Generator> generator, Site at) {
  tape::Op op("random_", at);
  return refilled("random_", "RandomBackward2", *this, generator,
                  [](auto& ctx, View y, Generator& g) { random_full_range(ctx, y, g); });
}

Tensor& Tensor::bernoulli_(double p, std::optional<Generator> generator, Site at) {
  tape::Op op("bernoulli_", at);
  check_probability("bernoulli_", p);
  return refilled("bernoulli_", "BernoulliBackward2", *this, generator, bernoulli_of(p));
}

Tensor& Tensor::exponential_(double lambda, std::optional<Generator> generator, Site at) {
  tape::Op op("exponential_", at);
  check_floating("exponential_", dtype());
  TANTU_CHECK(lambda > 0, ValueError, "exponential_: expects lambda > 0.0, but found lambda={}", lambda);
  return refilled("exponential_", "ExponentialBackward0", *this, generator,
                  [=](auto& ctx, View y, Generator& g) { random_exponential(ctx, y, lambda, g); });
}

}  // namespace tantu
