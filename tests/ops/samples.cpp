#include <tantu/tests/ops/samples.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

namespace tantu::optest {

namespace {

using Random = std::mt19937_64;

int64_t resolve(int64_t size, const Setting& at) {
  return size == kN ? at.n : size == kS ? at.s : size;
}

Shape resolve(const Shape& shape, const Setting& at) {
  Shape out = shape;
  for (int64_t& size : out) size = resolve(size, at);
  return out;
}

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

double whole(Random& random, double low, double high, DType t) {
  if (t == kBool) return static_cast<double>(random() & 1);
  if (t == kUInt8) low = std::max(low, 0.0);
  const auto first = static_cast<int64_t>(std::ceil(low)),
             last = std::max(first, static_cast<int64_t>(std::floor(high)));
  return static_cast<double>(std::uniform_int_distribution<int64_t>(first, last)(random));
}

// Off every multiple of 1/4, in a band of its own per input: two inputs of one case never meet.
double off_kinks(Random& random, double low, double high, size_t input) {
  const double cell = std::floor(uniform(random, low, high) / 0.25);
  const double from = input % 3 == 0 ? 0.2 : input % 3 == 1 ? 0.45 : 0.7;
  return 0.25 * (cell + uniform(random, from, from + 0.1));
}

void fill_distinct(Random& random, Array& a, double low, double high, DType t) {
  std::vector<double> order(a.data.size());
  std::iota(order.begin(), order.end(), 0.0);
  std::shuffle(order.begin(), order.end(), random);
  const double step = (high - low) / std::max<double>(1, static_cast<double>(a.numel()));
  for (size_t i = 0; i < a.data.size(); ++i)
    a.data[i] = is_integral(t) ? order[i] : low + step * (order[i] + uniform(random, 0.25, 0.75));
}

Array values(Random& random, const Input& input, size_t which, const Setting& at) {
  Array a(resolve(input.shape, at));
  const double below = static_cast<double>(resolve(static_cast<int64_t>(input.high), at));
  if (input.kind == Kind::Distinct) {
    fill_distinct(random, a, input.low, input.high, at.dtype);
  } else {
    for (double& v : a.data) {
      if (input.kind == Kind::Index) v = whole(random, 0, below - 1, kInt64);
      else if (input.kind == Kind::Mask) v = static_cast<double>(random() & 1);
      else if (is_integral(at.dtype)) v = whole(random, input.low, input.high, at.dtype);
      else if (input.kind == Kind::OffKinks) v = off_kinks(random, input.low, input.high, which);
      else v = uniform(random, input.low, input.high);
    }
  }
  if (at.specials && is_floating(at.dtype) && differentiable(input)) {
    constexpr double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
    for (double& v : a.data)
      if (random() % 3 == 0) v = special[random() % 5];
  }
  return a;
}

DType dtype_of_input(const Input& input, DType t) {
  return input.kind == Kind::Index ? kInt64 : input.kind == Kind::Mask ? kBool : t;
}

template <class T>
T cast(double v) {
  if constexpr (std::is_same_v<T, bool>) return v != 0;
  else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) return T(static_cast<float>(v));
  else return static_cast<T>(v);
}

double rounded(double v, DType t) {
  return visit_dtype(t, [v]<class T>(Tag<T>) -> double {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) return static_cast<float>(cast<T>(v));
    else return static_cast<double>(cast<T>(v));
  });
}

void expand_values(Array& a) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.sizes[d] < 2) continue;
    const Array from = a;
    int64_t i = 0;
    for_each_index(a.sizes, [&](const Dims& at) {
      Dims first = at;
      first[d] = 0;
      a[i++] = from.at(first);
    });
    return;
  }
}

struct Geometry {
  Strides strides;
  int64_t offset = 0, elements = 0;
};

Geometry geometry(const Shape& sizes, Layout layout) {
  Geometry g{contiguous_strides(sizes), 0, numel(sizes)};
  const int rank = sizes.size();
  if (layout == Layout::Transposed && rank == 1) {
    g.strides[0] = 2;
    g.elements *= 2;
  } else if (layout == Layout::Transposed) {
    int64_t step = 1;
    for (int d = 0; d < rank; ++d) {
      g.strides[d] = step;
      step *= std::max<int64_t>(1, sizes[d]);
    }
  } else if (layout == Layout::Expanded) {
    int first = 0;
    while (first < rank && sizes[first] < 2) ++first;
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; --d) {
      g.strides[d] = d == first ? 0 : step;
      if (d != first) step *= std::max<int64_t>(1, sizes[d]);
    }
  } else if (layout == Layout::Offset) {
    g.offset = 1;
    g.elements += 2;
  }
  return g;
}

}  // namespace

const char* name(Layout layout) {
  constexpr const char* names[] = {"contiguous", "transposed", "offset by one", "expanded"};
  return names[static_cast<int>(layout)];
}

bool small_sizes() {
  static const bool small = [] {
    const char* text = std::getenv("TANTU_TEST_SIZES");
    TANTU_CHECK(!text || std::strcmp(text, "small") == 0, ValueError, "TANTU_TEST_SIZES=\"{}\": expected small", text);
    return text != nullptr;
  }();
  return small;
}

std::vector<Layout> layouts() {
  if (small_sizes()) return {Layout::Contiguous, Layout::Transposed};
  return {Layout::Contiguous, Layout::Transposed, Layout::Offset, Layout::Expanded};
}

std::string describe(const Setting& at) {
  return fmt::format("{} n={} s={} {}{} seed {} on {}", at.dtype, at.n, at.s, name(at.layout),
                     at.specials ? " with NaN and inf" : "", at.seed, at.device);
}

bool differentiable(const Input& input) {
  return input.kind != Kind::Index && input.kind != Kind::Mask;
}

std::vector<std::pair<int64_t, int64_t>> sizes_of(const Case& c) {
  bool has_n = false, has_s = false;
  for (const Input& input : c.inputs)
    for (int64_t size : input.shape) {
      has_n |= size == kN;
      has_s |= size == kS;
    }
  const bool small = small_sizes();
  const std::vector<int64_t> all_n =
      small ? std::vector<int64_t>{2, 33} : std::vector<int64_t>{0, 1, 2, 31, 32, 33, 1023, 1025, 7};
  const std::vector<int64_t> all_s = small ? std::vector<int64_t>{5} : std::vector<int64_t>{5, 0, 1, 33};
  std::vector<std::pair<int64_t, int64_t>> pairs;
  if (has_n)
    for (size_t i = 0; i < all_n.size(); ++i) pairs.emplace_back(all_n[i], has_s ? all_s[i % all_s.size()] : 0);
  if (has_s)
    for (int64_t s : all_s) pairs.emplace_back(has_n ? 7 : 0, s);
  if (pairs.empty()) pairs.emplace_back(0, 0);
  return pairs;
}

Tensor lay_out(Array& a, DType dtype, Device device, Layout layout) {
  if (layout == Layout::Expanded) expand_values(a);
  const Geometry g = geometry(a.sizes, layout);
  const int64_t elements = std::max<int64_t>(g.elements, 1);
  Tensor buffer = make_tensor("test input", {elements}, dtype, kCPU);
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    T* data = buffer.data_ptr<T>();
    std::fill_n(data, elements, cast<T>(1));
    int64_t i = 0;
    for_each_index(a.sizes, [&](const Dims& at) {
      int64_t place = g.offset;
      for (int d = 0; d < at.size(); ++d) place += at[d] * g.strides[d];
      data[place] = cast<T>(a[i++]);
    });
  });
  buffer = buffer.to(device);
  for (double& v : a.data) v = rounded(v, dtype);
  return make_view(buffer.impl().storage, dtype, a.sizes, g.strides, g.offset);
}

Drawn draw(const Row& row, const Case& c, const Setting& at) {
  const std::string key =
      fmt::format("{} {} {} {} {} {} {}", row.name, &c - row.cases.data(), at.dtype, at.n, at.s, at.seed, at.specials);
  Random random(std::hash<std::string>{}(key));
  Drawn drawn;
  drawn.args.dtype = drawn.refs.dtype = at.dtype;
  drawn.args.device = at.device;
  drawn.args.n = drawn.refs.n = at.n;
  drawn.args.s = drawn.refs.s = at.s;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Input& input = c.inputs[i];
    Array a = values(random, input, i, at);
    const bool ties = input.kind == Kind::Distinct && at.layout == Layout::Expanded;
    drawn.args.x.push_back(
        lay_out(a, dtype_of_input(input, at.dtype), at.device, ties ? Layout::Contiguous : at.layout));
    drawn.refs.x.push_back(std::move(a));
  }
  return drawn;
}

std::vector<uint8_t> storage_bytes(const Tensor& t) {
  const Ref<Storage>& storage = t.impl().storage;
  const Tensor all = make_view(storage, kUInt8, {storage->bytes()}, {1}, 0).cpu();
  const auto* data = static_cast<const uint8_t*>(all.data_ptr());
  return std::vector<uint8_t>(data, data + all.numel());
}

}  // namespace tantu::optest
