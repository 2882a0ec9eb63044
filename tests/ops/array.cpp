#include <tantu/tests/ops/array.h>

namespace tantu::optest {

int64_t Array::offset(const Dims& index) const {
  const int lead = index.size() - sizes.size();
  int64_t at = 0;
  for (int d = 0; d < sizes.size(); ++d) at = at * sizes[d] + (sizes[d] == 1 ? 0 : index[d + lead]);
  return at;
}

void for_each_index(const Shape& shape, const std::function<void(const Dims&)>& f) {
  const int64_t n = numel(shape);
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(index);
    for (int d = shape.size() - 1; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
  }
}

Array map(const Array& a, const std::function<double(double)>& f) {
  Array y = a;
  for (double& v : y.data) v = f(v);
  return y;
}

Array map(const Array& a, const Array& b, const std::function<double(double, double)>& f) {
  Array y(broadcast_shapes("reference", a.sizes, b.sizes));
  int64_t i = 0;
  for_each_index(y.sizes, [&](const Dims& at) { y[i++] = f(a.at(at), b.at(at)); });
  return y;
}

Array map(const Array& a, const Array& b, const Array& c, const std::function<double(double, double, double)>& f) {
  Array y(broadcast_shapes("reference", broadcast_shapes("reference", a.sizes, b.sizes), c.sizes));
  int64_t i = 0;
  for_each_index(y.sizes, [&](const Dims& at) { y[i++] = f(a.at(at), b.at(at), c.at(at)); });
  return y;
}

Array reduce(const Array& x, const Dims& dims, bool keepdim,
             const std::function<double(const std::vector<double>&)>& f) {
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), dims.empty());
  for (int64_t d : dims) reduced[static_cast<size_t>(d < 0 ? d + x.rank() : d)] = true;
  Shape kept, result;
  for (int d = 0; d < x.rank(); ++d) {
    const bool gone = reduced[static_cast<size_t>(d)];
    kept.push_back(gone ? 1 : x.sizes[d]);
    if (!gone || keepdim) result.push_back(kept[d]);
  }
  Array places(kept);
  std::vector<std::vector<double>> groups(places.data.size());
  for (int64_t i = 0; i < places.numel(); ++i) places[i] = static_cast<double>(i);
  int64_t i = 0;
  for_each_index(x.sizes, [&](const Dims& at) { groups[static_cast<size_t>(places.at(at))].push_back(x[i++]); });
  Array y(result);
  for (size_t group = 0; group < groups.size(); ++group) y.data[group] = f(groups[group]);
  return y;
}

Array along(const Array& x, int dim, const std::function<std::vector<double>(const std::vector<double>&)>& f) {
  Array y = x;
  if (x.rank() == 0) {
    y.data = f(x.data);
    return y;
  }
  const int d = dim < 0 ? dim + x.rank() : dim;
  int64_t inner = 1, outer = 1;
  const int64_t n = x.sizes[d];
  for (int i = 0; i < x.rank(); ++i) (i < d ? outer : i > d ? inner : outer) *= i == d ? 1 : x.sizes[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<double> row;
      for (int64_t k = 0; k < n; ++k) row.push_back(x[(o * n + k) * inner + i]);
      row = f(row);
      for (int64_t k = 0; k < n; ++k) y[(o * n + k) * inner + i] = row[static_cast<size_t>(k)];
    }
  return y;
}

Array to_array(const Tensor& t) {
  Array a;
  a.sizes = t.sizes();
  a.data = t.to_vector<double>();
  return a;
}

}  // namespace tantu::optest
