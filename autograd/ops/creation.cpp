#include <tantu/autograd/ops/creation.h>

#include <tantu/autograd/tape.h>
#include <tantu/kernels/fill.h>

#include <cmath>

namespace tantu {

namespace {

Tensor with_grad(Tensor t, const TensorOptions& options) {
  if (options.requires_grad) t.requires_grad_();
  return t;
}

Tensor filled(const char* op, const Shape& sizes, Scalar value, DType dtype, const TensorOptions& options) {
  value.checked(op, dtype);
  Tensor y = make_tensor(op, sizes, dtype, options.device);
  on_device(y.device(), op, [&](auto& ctx) { fill(ctx, y.out(), value); });
  return with_grad(y, options);
}

// The values of nested braces in row-major order; checks that the rows agree.
void flatten(const NestedList& list, int depth, Shape& sizes, std::vector<Scalar>& values) {
  if (!list.is_list()) {
    TANTU_CHECK(depth == sizes.size(), ShapeError,
                "tensor: expected a list at depth {} as in the first row, but got a number", depth);
    values.push_back(list.scalar());
    return;
  }
  TANTU_CHECK(depth < sizes.size(), ShapeError,
              "tensor: expected a number at depth {} as in the first row, but got a list", depth);
  TANTU_CHECK(static_cast<int64_t>(list.items().size()) == sizes[depth], ShapeError,
              "tensor: expected sequence of length {} at dim {} (got {})", sizes[depth], depth, list.items().size());
  for (const NestedList& item : list.items()) flatten(item, depth + 1, sizes, values);
}

template <class T>
T scalar_as(Scalar s) {
  if constexpr (std::is_same_v<T, bool>) return s.to_double() != 0;
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(s.to_int64());
  else return static_cast<T>(s.to_double());
}
template <>
float16 scalar_as<float16>(Scalar s) {
  return float16(static_cast<float>(s.to_double()));
}
template <>
bfloat16 scalar_as<bfloat16>(Scalar s) {
  return bfloat16(static_cast<float>(s.to_double()));
}

// ceil((end - start) / step) without rounding on the way; exact below 2^53.
double integer_count(int64_t start, int64_t end, int64_t step) {
  using Unsigned = uint64_t;
  const Unsigned span = step > 0 ? static_cast<Unsigned>(end) - static_cast<Unsigned>(start)
                                 : static_cast<Unsigned>(start) - static_cast<Unsigned>(end);
  const Unsigned by = step > 0 ? static_cast<Unsigned>(step) : -static_cast<Unsigned>(step);
  return static_cast<double>(span / by + (span % by != 0));
}

// A CPU tensor whose element i is `value(i)`, moved to the options' device.
template <class F>
Tensor generated(const char* op, const Shape& sizes, DType dtype, const TensorOptions& options, F&& value) {
  Tensor y = make_tensor(op, sizes, dtype, kCPU);
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    T* data = y.data_ptr<T>();
    for (int64_t i = 0; i < y.numel(); ++i) data[i] = scalar_as<T>(value(i));
  });
  return with_grad(options.device.is_cpu() ? y : y.to(options.device), options);
}

// A number of a list, as an element of `dtype`: PyTorch lets it become infinite there, but not wrap.
Scalar element(Scalar s, DType dtype) {
  return is_integral(dtype) ? s.checked("tensor", dtype) : s;
}

// Counted from the nearer end, so that the last value is `last` itself, and rounded as PyTorch's loop rounds: in T (the
// half types in float, integers in double), each product and sum once.
template <class T>
void fill_linspace(T* data, Scalar first, Scalar last, int64_t steps) {
  using S = std::conditional_t<std::is_integral_v<T>, double, std::conditional_t<sizeof(T) == 2, float, T>>;
  const S start = static_cast<S>(scalar_as<T>(first)), end = static_cast<S>(scalar_as<T>(last));
  const S step = steps > 1 ? (end - start) / static_cast<S>(steps - 1) : S(0);
  for (int64_t i = 0; i < steps; ++i)
    data[i] = static_cast<T>(i < steps / 2 || steps == 1 ? std::fma(step, static_cast<S>(i), start)
                                                         : std::fma(step, static_cast<S>(i + 1 - steps), end));
}

}  // namespace

Tensor tensor(const NestedList& values, const TensorOptions& options, Site at) {
  tape::Op op("tensor", at);
  Shape sizes;
  for (const NestedList* level = &values; level->is_list(); level = &level->items().front()) {
    sizes.push_back(static_cast<int64_t>(level->items().size()));
    if (level->items().empty()) break;
  }
  std::vector<Scalar> flat;
  in_host_memory("tensor", [&] { flatten(values, 0, sizes, flat); });
  DType promoted = flat.empty() ? kFloat32 : kBool;
  for (const Scalar& s : flat) promoted = promote_types(promoted, s.dtype());
  const DType dtype = options.dtype.value_or(promoted);
  return generated("tensor", sizes, dtype, options,
                   [&](int64_t i) { return element(flat[static_cast<size_t>(i)], dtype); });
}

template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options, Site at) {
  tape::Op op("tensor", at);
  const DType dtype = options.dtype.value_or(std::is_floating_point_v<T> ? kFloat32 : dtype_of<T>);
  return generated("tensor", {static_cast<int64_t>(values.size())}, dtype, options,
                   [&](int64_t i) { return element(Scalar(static_cast<T>(values[static_cast<size_t>(i)])), dtype); });
}
template Tensor tensor(const std::vector<float>&, const TensorOptions&, Site);
template Tensor tensor(const std::vector<double>&, const TensorOptions&, Site);
template Tensor tensor(const std::vector<int64_t>&, const TensorOptions&, Site);
template Tensor tensor(const std::vector<int32_t>&, const TensorOptions&, Site);
template Tensor tensor(const std::vector<uint8_t>&, const TensorOptions&, Site);
template Tensor tensor(const std::vector<bool>&, const TensorOptions&, Site);

Tensor from_blob(void* data, const Shape& sizes, DType dtype, Site at) {
  return from_blob(data, sizes, contiguous_strides(sizes), nullptr, dtype, at);
}

Tensor from_blob(void* data, const Shape& sizes, const Strides& strides, void (*deleter)(void*), DType dtype, Site at) {
  tape::Op op("from_blob", at);
  const int64_t n = checked_numel("from_blob", sizes);
  TANTU_CHECK(strides.size() == sizes.size(), ShapeError, "from_blob: {} sizes but {} strides", sizes.size(),
              strides.size());
  TANTU_CHECK(data || n == 0, ValueError, "from_blob: data is null, but sizes {} have {} elements", sizes, n);
  int64_t extent = n == 0 ? 0 : 1;
  for (int i = 0; i < sizes.size(); ++i) {
    TANTU_CHECK(strides[i] >= 0, ShapeError, "from_blob: strides must not be negative, but got {}", strides);
    if (n > 0) extent += (sizes[i] - 1) * strides[i];
  }
  return make_view(make_ref<Storage>(data, extent * item_size(dtype), kCPU, deleter, data), dtype, sizes, strides, 0);
}

Tensor empty(const Shape& sizes, const TensorOptions& options, Site at) {
  tape::Op op("empty", at);
  return with_grad(make_tensor("empty", sizes, options.dtype.value_or(kFloat32), options.device), options);
}

Tensor empty_like(const Tensor& x, const TensorOptions& options, Site at) {
  tape::Op op("empty_like", at);
  return with_grad(make_tensor("empty_like", x.sizes(), options.dtype.value_or(x.dtype()), x.device()), options);
}

Tensor zeros(const Shape& sizes, const TensorOptions& options, Site at) {
  tape::Op op("zeros", at);
  return filled("zeros", sizes, 0, options.dtype.value_or(kFloat32), options);
}

Tensor zeros_like(const Tensor& x, Site at) {
  tape::Op op("zeros_like", at);
  return filled("zeros_like", x.sizes(), 0, x.dtype(), x.options());
}

Tensor ones(const Shape& sizes, const TensorOptions& options, Site at) {
  tape::Op op("ones", at);
  return filled("ones", sizes, 1, options.dtype.value_or(kFloat32), options);
}

Tensor ones_like(const Tensor& x, Site at) {
  tape::Op op("ones_like", at);
  return filled("ones_like", x.sizes(), 1, x.dtype(), x.options());
}

Tensor full(const Shape& sizes, Scalar value, const TensorOptions& options, Site at) {
  tape::Op op("full", at);
  return filled("full", sizes, value, options.dtype.value_or(value.dtype()), options);
}

Tensor full_like(const Tensor& x, Scalar value, Site at) {
  tape::Op op("full_like", at);
  return filled("full_like", x.sizes(), value, x.dtype(), x.options());
}

Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options, Site at) {
  tape::Op op("arange", at);
  const double s = start.to_double(), e = end.to_double(), d = step.to_double();
  TANTU_CHECK(d != 0 && std::isfinite(d), ValueError, "arange: step must be nonzero, but got {}", d);
  TANTU_CHECK(std::isfinite(s) && std::isfinite(e), ValueError, "arange: unsupported range: {} -> {}", s, e);
  TANTU_CHECK((d > 0 && e >= s) || (d < 0 && e <= s), ValueError,
              "arange: upper bound and lower bound inconsistent with step sign ({} -> {} by {})", s, e, d);
  const bool integers = !start.is_floating() && !end.is_floating() && !step.is_floating();
  const int64_t first = start.to_int64(), by = step.to_int64();
  const double count = integers ? integer_count(first, end.to_int64(), by) : std::ceil((e - s) / d);
  TANTU_CHECK(count < 0x1p59, ShapeError, "arange: {} elements are too many", count);
  return generated(
      "arange", {static_cast<int64_t>(count)}, options.dtype.value_or(integers ? kInt64 : kFloat32), options,
      [&](int64_t i) { return integers ? Scalar(first + i * by) : Scalar(s + static_cast<double>(i) * d); });
}

Tensor arange(Scalar end, const TensorOptions& options, Site at) {
  return arange(end.is_floating() ? Scalar(0.0) : Scalar(0), end, 1, options, at);
}

Tensor linspace(double start, double end, int64_t steps, const TensorOptions& options, Site at) {
  tape::Op op("linspace", at);
  TANTU_CHECK(steps >= 0, ValueError, "linspace: number of steps must be non-negative, but got {}", steps);
  const DType dtype = options.dtype.value_or(kFloat32);
  TANTU_CHECK(dtype != kBool, DTypeError, "linspace: not implemented for bool");
  const Scalar first = Scalar(start).checked("linspace", dtype), last = Scalar(end).checked("linspace", dtype);
  Tensor y = make_tensor("linspace", {steps}, dtype, kCPU);
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    if constexpr (!std::is_same_v<T, bool>) fill_linspace(y.data_ptr<T>(), first, last, steps);
  });
  return with_grad(options.device.is_cpu() ? y : y.to(options.device), options);
}

Tensor eye(int64_t n, std::optional<int64_t> m, const TensorOptions& options, Site at) {
  tape::Op op("eye", at);
  const int64_t columns = m.value_or(n);
  TANTU_CHECK(n >= 0 && columns >= 0, ValueError, "eye: n and m must not be negative, but got {} and {}", n, columns);
  return generated("eye", {n, columns}, options.dtype.value_or(kFloat32), options,
                   [&](int64_t i) { return Scalar(i / columns == i % columns ? 1 : 0); });
}

Tensor& Tensor::fill_(const Operand& value, Site at) {
  tape::Op op("fill_", at);
  tape::check_inplace("fill_", *this, true);
  TANTU_CHECK(!value.is_tensor() || value.tensor().dim() == 0, ShapeError,
              "fill_: fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
              value.tensor().dim());
  const Scalar s = (value.is_tensor() ? value.tensor().to(dtype()).item_scalar(at) : value.scalar());
  s.checked("fill_", dtype());
  on_device(device(), "fill_", [&](auto& ctx) { fill(ctx, out(), s); });
  if (tape::wants(*this))
    tape::record_inplace("FillBackward0", *this, {*this}, {},
                         [](tape::Backward& b) { return TensorList{zeros_like(b.grad())}; });
  else tape::written(*this);
  return *this;
}

Tensor& Tensor::zero_(Site at) {
  return fill_(0, at);
}

}  // namespace tantu
