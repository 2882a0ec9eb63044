#include <tantu/autograd/ops/linalg.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/copy.h>
#include <tantu/kernels/matmul.h>

#include <utility>

namespace tantu {

namespace {

void check_operands(const char* op, const Tensor& a, const Tensor& b, const Tensor& c = {}) {
  tape::common_device(op, {{"a", &a}, {"b", &b}, {"input", &c}});
  for (const Tensor* t : {&b, &c})
    TANTU_CHECK(!t->defined() || a.dtype() == t->dtype(), DTypeError,
                "{}: expected all operands to have the same dtype, but got {} and {}", op, a.dtype(), t->dtype());
  TANTU_CHECK(a.dtype() != kBool, DTypeError, "{}: not implemented for bool", op);
}

void check_rank(const char* op, const char* argument, const Tensor& t, int rank) {
  constexpr const char* kinds[] = {"a scalar", "a vector", "a matrix", "a 3-D tensor"};
  TANTU_CHECK(t.dim() == rank, ShapeError, "{}: {} must be {}, but it has shape {}", op, argument, kinds[rank],
              t.sizes());
}

std::string sizes_text(const Tensor& t) {
  return fmt::format("{}x{}", t.size(-2), t.size(-1));
}

// A matrix or a batch of them, and whether its last two dimensions are swapped.
struct Factor {
  Tensor t;
  bool swapped = false;

  Factor transposed() const { return {t, !swapped}; }
  int64_t batch() const { return t.dim() == 3 ? t.sizes()[0] : 1; }
  int64_t rows() const { return t.size(swapped ? -1 : -2); }
  int64_t columns() const { return t.size(swapped ? -2 : -1); }
  ConstView view(int64_t batch_size) const {
    ConstView v = t.in();
    const Strides s = v.strides;
    const int r = s.size();
    v.strides = {r == 3 && batch() == batch_size ? s[0] : 0, s[swapped ? r - 1 : r - 2], s[swapped ? r - 2 : r - 1]};
    v.sizes = {batch_size, rows(), columns()};
    return v;
  }
};

struct Scale {
  double beta = 0, alpha = 1;
};

Tensor scaled(const Tensor& g, double factor) {
  return factor == 1 ? g : g * factor;
}

// beta * input + alpha * a b, recorded as one operation; matrices (rank 2) or batches (rank 3, one side's batch may be
// 1). As in PyTorch, integers take the whole part of alpha and beta, and matrices with alpha = 0 are not read.
Tensor product(const char* op, const char* grad_name, Factor a, Factor b, const Tensor& input = {}, Scale scale = {}) {
  const int64_t batch = a.batch() == 1 ? b.batch() : a.batch();
  const bool is_batch = a.t.dim() == 3 || b.t.dim() == 3;
  const Shape out = is_batch ? Shape{batch, a.rows(), b.columns()} : Shape{a.rows(), b.columns()};
  Tensor y = make_tensor(op, out, a.t.dtype(), a.t.device());
  if (y.numel() > 0)
    on_device(y.device(), op, [&](auto& ctx) {
      if (scale.beta != 0) copy(ctx, input.in().broadcast_to(out), y.out());
      View view = y.out();
      view.sizes = {batch, a.rows(), b.columns()};
      view.strides = contiguous_strides(view.sizes);
      ConstView left = a.view(batch), right = b.view(batch);
      if (scale.alpha == 0 && !is_batch) left.sizes[2] = right.sizes[1] = 0;
      matmul(ctx, left, right, view, scale.alpha, scale.beta);
    });
  if (tape::wants(a.t, b.t, input))
    tape::record(grad_name, {&y}, {a.t, b.t, input}, {tape::Saved(a.t), tape::Saved(b.t)},
                 [op, grad_name, scale, a_swapped = a.swapped, b_swapped = b.swapped,
                  input_sizes = input.defined() ? input.sizes() : Shape()](tape::Backward& back) {
                   const Tensor g = back.grad();
                   TensorList result(3);
                   const Tensor sa = back.saved(0), sb = back.saved(1);
                   const Factor y{g}, a{sa, a_swapped}, b{sb, b_swapped};
                   // The gradient `left · right` of a factor, turned round if the factor itself went in turned.
                   const auto towards = [&](Factor of, Factor left, Factor right) {
                     if (of.swapped) left = std::exchange(right, left.transposed()).transposed();
                     return sum_to_size(product(op, grad_name, left, right, {}, {0, scale.alpha}), of.t.sizes());
                   };
                   if (back.needs(0)) result[0] = towards(a, y, b.transposed());
                   if (back.needs(1)) result[1] = towards(b, a.transposed(), y);
                   if (back.needs(2)) result[2] = sum_to_size(scaled(g, scale.beta), input_sizes);
                   return result;
                 });
  return y;
}

Tensor add_product(const char* op, const char* grad_name, const Tensor& input, const Tensor& a, const Tensor& b,
                   int rank, Scalar beta, Scalar alpha) {
  check_operands(op, a, b, input);
  check_rank(op, rank == 2 ? "mat1" : "batch1", a, rank);
  check_rank(op, rank == 2 ? "mat2" : "batch2", b, rank);
  TANTU_CHECK(a.size(-1) == b.size(-2) && (rank == 2 || a.size(0) == b.size(0)), ShapeError,
              "{}: mat1 and mat2 shapes cannot be multiplied ({} and {})", op, a.sizes(), b.sizes());
  Shape out = a.sizes();
  out[rank - 1] = b.size(-1);
  TANTU_CHECK(broadcast_shapes(op, input.sizes(), out) == out, ShapeError,
              "{}: input of shape {} does not broadcast to the product's shape {}", op, input.sizes(), out);
  return product(op, grad_name, {a}, {b}, input, {beta.to_double(), alpha.to_double()});
}

Shape without_last(Shape sizes) {
  sizes.pop_back();
  return sizes;
}

// (…, k) as (rows, k).
Tensor as_rows(const Tensor& x) {
  if (x.dim() == 2) return x;
  return reshape(x, {numel(without_last(x.sizes())), x.size(-1)});
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("mm", at);
  check_operands("mm", a, b);
  check_rank("mm", "self", a, 2);
  check_rank("mm", "mat2", b, 2);
  TANTU_CHECK(a.size(1) == b.size(0), ShapeError, "mm: mat1 and mat2 shapes cannot be multiplied ({} and {})",
              sizes_text(a), sizes_text(b));
  return product("mm", "MmBackward0", {a}, {b});
}

Tensor bmm(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("bmm", at);
  check_operands("bmm", a, b);
  check_rank("bmm", "batch1", a, 3);
  check_rank("bmm", "batch2", b, 3);
  TANTU_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), ShapeError,
              "bmm: Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}]",
              a.size(0), a.size(2), b.size(0), b.size(1));
  return product("bmm", "BmmBackward0", {a}, {b});
}

Tensor mv(const Tensor& a, const Tensor& v, Site at) {
  tape::Op op("mv", at);
  check_operands("mv", a, v);
  check_rank("mv", "self", a, 2);
  check_rank("mv", "vec", v, 1);
  TANTU_CHECK(a.size(1) == v.size(0), ShapeError, "mv: size mismatch, got input ({}), vec ({})", sizes_text(a),
              v.size(0));
  return product("mv", "MvBackward0", {a}, {v.unsqueeze(1)}).squeeze(1);
}

Tensor dot(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("dot", at);
  check_operands("dot", a, b);
  TANTU_CHECK(a.dim() == 1 && b.dim() == 1, ShapeError, "dot: 1D tensors expected, but got {}D and {}D tensors",
              a.dim(), b.dim());
  TANTU_CHECK(a.numel() == b.numel(), ShapeError,
              "dot: inconsistent tensor size, expected tensors to have the same number of elements, but got {} and {}",
              a.numel(), b.numel());
  return product("dot", "DotBackward0", {a.unsqueeze(0)}, {b.unsqueeze(1)}).view({});
}

Tensor outer(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("outer", at);
  check_rank("outer", "self", a, 1);
  check_rank("outer", "vec2", b, 1);
  checked_numel("outer", {a.numel(), b.numel()});
  return mul(a.unsqueeze(1), b);
}

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha, Site at) {
  tape::Op op("addmm", at);
  return add_product("addmm", "AddmmBackward0", input, a, b, 2, beta, alpha);
}

Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha, Site at) {
  tape::Op op("baddbmm", at);
  return add_product("baddbmm", "BaddbmmBackward0", input, a, b, 3, beta, alpha);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Site at) {
  tape::Op op("linear", at);
  check_operands("linear", x, weight, bias);
  TANTU_CHECK(x.dim() > 0 && (weight.dim() == 1 || weight.dim() == 2), ShapeError,
              "linear: input must have at least 1 dimension and weight 1 or 2, but their shapes are {} and {}",
              x.sizes(), weight.sizes());
  TANTU_CHECK(x.size(-1) == weight.size(-1), ShapeError,
              "linear: mat1 and mat2 shapes cannot be multiplied: the last dimension of the input {} must be the last "
              "of the weight {}",
              x.sizes(), weight.sizes());
  const bool one = weight.dim() == 1;
  const int64_t features = one ? 1 : weight.size(0);
  Shape out = without_last(x.sizes());
  if (!one) out.push_back(features);
  TANTU_CHECK(!bias.defined() || broadcast_shapes("linear", out, bias.sizes()) == out, ShapeError,
              "linear: bias of shape {} does not fit an output of shape {}", bias.sizes(), out);
  if (bias.defined() && bias.dim() > 1) return add(linear(x, weight), bias);
  const Tensor w = one ? weight.unsqueeze(0) : weight;
  const Tensor y = product("linear", bias.defined() ? "AddmmBackward0" : "MmBackward0", {as_rows(x)}, {w, true}, bias,
                           {bias.defined() ? 1.0 : 0.0, 1});
  return x.dim() == 2 && !one ? y : y.view(out);
}

Tensor matmul(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("matmul", at);
  check_operands("matmul", a, b);
  const int64_t ra = a.dim(), rb = b.dim();
  TANTU_CHECK(ra > 0 && rb > 0, ShapeError, "matmul: both arguments need to be at least 1D, but they are {}D and {}D",
              ra, rb);
  const Tensor x = ra == 1 ? a.unsqueeze(0) : a, y = rb == 1 ? b.unsqueeze(1) : b;
  const int64_t rows = x.size(-2), columns = y.size(-1);
  TANTU_CHECK(x.size(-1) == y.size(-2), ShapeError, "matmul: mat1 and mat2 shapes cannot be multiplied ({} and {})",
              x.dim() == 2 && y.dim() == 2 ? sizes_text(x) : x.sizes().to_string(),
              x.dim() == 2 && y.dim() == 2 ? sizes_text(y) : y.sizes().to_string());
  if (ra == 2 && rb == 2) return product("matmul", "MmBackward0", {a}, {b});
  const Shape lead_x = without_last(without_last(x.sizes())), lead_y = without_last(without_last(y.sizes()));
  const Shape lead = broadcast_shapes("matmul", lead_x, lead_y);
  Shape out = lead;
  if (ra > 1) out.push_back(rows);
  if (rb > 1) out.push_back(columns);
  if (numel(lead_y) == 1 && lead_x == lead)  // one right-hand matrix: the leading dimensions are more rows
    return product("matmul", "MmBackward0", {as_rows(x)}, {reshape(y, {y.size(-2), columns})}).view(out);
  const int64_t batch = numel(lead);
  const auto as_batch = [&](const Tensor& t, const Shape& have) {
    Shape whole = lead;
    whole.push_back(t.size(-2));
    whole.push_back(t.size(-1));
    if (numel(have) == 1) return reshape(t, {1, t.size(-2), t.size(-1)});
    return reshape(expand(t, whole), {batch, t.size(-2), t.size(-1)});
  };
  return product("matmul", "BmmBackward0", {as_batch(x, lead_x)}, {as_batch(y, lead_y)}).view(out);
}

Tensor Tensor::matmul(const Tensor& other, Site at) const {
  return tantu::matmul(*this, other, at);
}
Tensor Tensor::mm(const Tensor& other, Site at) const {
  return tantu::mm(*this, other, at);
}
Tensor Tensor::bmm(const Tensor& other, Site at) const {
  return tantu::bmm(*this, other, at);
}
Tensor Tensor::dot(const Tensor& other, Site at) const {
  return tantu::dot(*this, other, at);
}

}  // namespace tantu
