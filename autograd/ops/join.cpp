#include <tantu/autograd/ops/join.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/copy.h>

namespace tantu {

namespace {

DType common_type(const TensorList& tensors) {
  DType with_dims = kBool, without = kBool;
  bool any = false;
  for (const Tensor& t : tensors) {
    DType& type = t.dim() > 0 ? with_dims : without;
    type = promote_types(type, t.dtype());
    any |= t.dim() > 0;
  }
  return any ? with_dims : without;
}

void check_devices(const char* op, const TensorList& tensors) {
  for (const Tensor& t : tensors) tape::common_device(op, {{"tensors[0]", &tensors[0]}, {"tensor", &t}});
}

// Copies x into elements [start, start + length) of y's dimension `dim`, which x may lack.
void place(const char* op, const Tensor& x, Tensor& y, int dim, int64_t start, int64_t length) {
  if (x.numel() == 0) return;
  View part = y.out();
  part.data = static_cast<char*>(part.data) + start * part.strides[dim] * y.element_size();
  part.sizes[dim] = length;
  if (x.sizes().size() < part.sizes.size()) {
    part.sizes.erase(dim);
    part.strides.erase(dim);
  }
  on_device(y.device(), op, [&](auto& ctx) { copy(ctx, x.in(), part); });
}

bool is_skipped(const Tensor& t) {
  return t.dim() == 1 && t.numel() == 0;
}

// The shape of the joined tensor; fills `starts` with each tensor's place.
Shape joined_shape(const TensorList& tensors, int64_t dim, int& d, std::vector<int64_t>& starts) {
  const Tensor* first = &tensors[0];
  for (size_t i = 0; i < tensors.size(); ++i) {
    TANTU_CHECK(tensors[i].dim() > 0, ShapeError,
                "cat: zero-dimensional tensor (at position {}) cannot be concatenated", i);
    if (is_skipped(*first)) first = &tensors[i];
  }
  Shape sizes = first->sizes();
  d = is_skipped(*first) ? 0 : wrap_dim("cat", dim, sizes.size());  // nothing to join: any dim will do
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    starts.push_back(sizes[d]);
    if (is_skipped(t)) continue;
    TANTU_CHECK(t.dim() == sizes.size(), ShapeError,
                "cat: Tensors must have same number of dimensions: got {} and {} (tensor number {})", sizes.size(),
                t.dim(), i);
    for (int j = 0; j < sizes.size(); ++j)
      TANTU_CHECK(j == d || t.sizes()[j] == sizes[j], ShapeError,
                  "cat: Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for "
                  "tensor number {} in the "
                  "list.",
                  d, sizes[j], t.sizes()[j], i);
    TANTU_CHECK(!__builtin_add_overflow(sizes[d], t.sizes()[d], &sizes[d]), ShapeError, "cat: too many elements");
  }
  return sizes;
}

}  // namespace

Tensor cat(const TensorList& tensors, int64_t dim, Site at) {
  tape::Op op("cat", at);
  TANTU_CHECK(!tensors.empty(), ValueError, "cat: expected a non-empty list of Tensors");
  check_devices("cat", tensors);
  int d = 0;
  std::vector<int64_t> starts;
  const Shape sizes = joined_shape(tensors, dim, d, starts);
  Tensor y = make_tensor("cat", sizes, common_type(tensors), tensors[0].device());
  for (size_t i = 0; i < tensors.size(); ++i)
    place("cat", tensors[i], y, d, starts[i], is_skipped(tensors[i]) ? 0 : tensors[i].sizes()[d]);
  if (tape::wants_any(tensors)) {
    std::vector<Shape> shapes;
    for (const Tensor& t : tensors) shapes.push_back(t.sizes());
    tape::record("CatBackward0", {&y}, tensors, {}, [d, shapes, starts](tape::Backward& b) {
      const Tensor g = b.grad();
      TensorList result(shapes.size());
      for (size_t i = 0; i < shapes.size(); ++i) {
        if (!b.needs(static_cast<int>(i))) continue;
        if (shapes[i] == Shape{0}) result[i] = zeros({0}, {.dtype = g.dtype(), .device = g.device()});
        else result[i] = narrow(g, d, starts[i], shapes[i][d]);
      }
      return result;
    });
  }
  return y;
}

Tensor stack(const TensorList& tensors, int64_t dim, Site at) {
  tape::Op op("stack", at);
  TANTU_CHECK(!tensors.empty(), ValueError, "stack: expects a non-empty TensorList");
  check_devices("stack", tensors);
  Shape sizes = tensors[0].sizes();
  for (size_t i = 1; i < tensors.size(); ++i)
    TANTU_CHECK(tensors[i].sizes() == sizes, ShapeError,
                "stack: expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}", sizes,
                tensors[i].sizes(), i);
  const int d = wrap_dim("stack", dim, sizes.size() + 1);
  sizes.insert(d, static_cast<int64_t>(tensors.size()));
  Tensor y = make_tensor("stack", sizes, common_type(tensors), tensors[0].device());
  for (size_t i = 0; i < tensors.size(); ++i) place("stack", tensors[i], y, d, static_cast<int64_t>(i), 1);
  if (tape::wants_any(tensors))
    tape::record("StackBackward0", {&y}, tensors, {}, [d, count = tensors.size()](tape::Backward& b) {
      const Tensor g = b.grad();
      TensorList result(count);
      for (size_t i = 0; i < count; ++i)
        if (b.needs(static_cast<int>(i))) result[i] = select(g, d, static_cast<int64_t>(i));
      return result;
    });
  return y;
}

}  // namespace tantu
