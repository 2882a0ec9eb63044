#include <tantu/autograd/ops/linalg.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/matmul.h>

namespace tantu {

namespace {

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  tape::common_device(op, {{"a", &a}, {"b", &b}});
  TANTU_CHECK(a.dtype() == b.dtype(), DTypeError, "{}: expected both operands to have the same dtype, but got {} and {}", op,
              a.dtype(), b.dtype());
  TANTU_CHECK(a.dtype() != kBool, DTypeError, "{}: not implemented for bool", op);
}

// (B, M, K)·(B, K, N) → (B, M, N), recorded as one operation. B of one side may be 1.
Tensor batched(const char* op, const Tensor& a, const Tensor& b) {
  const int64_t batch = std::max(a.sizes()[0], b.sizes()[0]);
  Tensor y = make_tensor(op, {a.sizes()[0] == 0 || b.sizes()[0] == 0 ? 0 : batch, a.sizes()[1], b.sizes()[2]}, a.dtype(), a.device());
  const auto spread = [&](const Tensor& t) {
    ConstView v = t.in();
    if (v.sizes[0] != batch) v.strides[0] = 0;
    v.sizes[0] = batch;
    return v;
  };
  if (y.numel() > 0) on_device(a.device(), op, [&](auto& ctx) { matmul(ctx, spread(a), spread(b), y.out(), 1, 0); });
  if (tape::wants(a, b))
    tape::record("BmmBackward0", {&y}, {a, b}, {tape::Saved(a), tape::Saved(b)}, [](tape::Backward& back) {
      const Tensor g = back.grad(), a = back.saved(0), b = back.saved(1);
      TensorList result(2);
      if (back.needs(0)) result[0] = sum_to_size(batched("matmul", g, b.transpose(1, 2)), a.sizes());
      if (back.needs(1)) result[1] = sum_to_size(batched("matmul", a.transpose(1, 2), g), b.sizes());
      return result;
    });
  return y;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("matmul", at);
  check_operands("matmul", a, b);
  const int ra = a.sizes().size(), rb = b.sizes().size();
  TANTU_CHECK(ra > 0 && rb > 0, ShapeError, "matmul: both arguments need to be at least 1D, but they are {}D and {}D", ra, rb);
  const Tensor x = ra == 1 ? a.unsqueeze(0) : a, y = rb == 1 ? b.unsqueeze(1) : b;
  const int64_t M = x.size(-2), K = x.size(-1), N = y.size(-1);
  TANTU_CHECK(y.size(-2) == K, ShapeError, "matmul: mat1 and mat2 shapes cannot be multiplied ({} and {})", a.sizes(), b.sizes());
  Shape lead_x = x.sizes(), lead_y = y.sizes();
  for (int i = 0; i < 2; ++i) {
    lead_x.pop_back();
    lead_y.pop_back();
  }
  const Shape lead = broadcast_shapes("matmul", lead_x, lead_y);
  Shape out = lead;
  if (ra > 1) out.push_back(M);
  if (rb > 1) out.push_back(N);
  const int64_t batch = numel(lead);
  if (lead_y.empty() || numel(lead_y) == 1) {  // one right-hand matrix: the leading dimensions are more rows
    if (lead_x == lead) return batched("matmul", reshape(x, {1, batch * M, K}), reshape(y, {1, K, N})).view(out);
  }
  const auto three = [&](const Tensor& t, const Shape& have) {
    Shape whole = lead;
    whole.push_back(t.size(-2));
    whole.push_back(t.size(-1));
    if (numel(have) == 1 && batch != 1) return reshape(t, {1, t.size(-2), t.size(-1)});
    return reshape(expand(t, whole), {batch, t.size(-2), t.size(-1)});
  };
  return batched("matmul", three(x, lead_x), three(y, lead_y)).view(out);
}

Tensor Tensor::matmul(const Tensor& other, Site at) const { return tantu::matmul(*this, other, at); }

}  // namespace tantu
