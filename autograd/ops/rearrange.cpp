#include <tantu/autograd/ops/rearrange.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/copy.h>

namespace tantu {

namespace {

// One dimension rolled, outside of the tape.
Tensor rolled(const Tensor& x, int dim, int64_t shift) {
  const int64_t n = x.sizes()[dim];
  if (n == 0) return x;
  const int64_t s = (shift % n + n) % n;
  return s == 0 ? x : cat({narrow(x, dim, n - s, s), narrow(x, dim, 0, n - s)}, dim);
}

Tensor triangle(const char* op, const char* grad_name, const Tensor& x, int64_t diagonal, bool lower) {
  TANTU_CHECK(x.dim() >= 2, ShapeError, "{}: input tensor must have at least 2 dimensions, but got {}", op, x.sizes());
  Tensor y;
  {
    NoGradGuard no_grad;
    const TensorOptions options{.device = x.device()};
    const Tensor rows = arange(x.size(-2), options).unsqueeze(1), columns = arange(x.size(-1), options);
    const int64_t k = std::clamp(diagonal, -x.size(-2) - 1, x.size(-1) + 1);
    const Tensor kept = lower ? columns <= rows + k : columns >= rows + k;
    y = where(kept, x, zeros({}, {.dtype = x.dtype(), .device = x.device()}));
  }
  if (tape::wants(x))
    tape::record(grad_name, {&y}, {x}, {}, [diagonal, lower](tape::Backward& b) {
      return TensorList{lower ? tril(b.grad(), diagonal) : triu(b.grad(), diagonal)};
    });
  return y;
}

}  // namespace

Tensor repeat(const Tensor& x, const Dims& counts, Site at) {
  tape::Op op("repeat", at);
  const int rank = counts.size(), lead = rank - x.sizes().size();
  TANTU_CHECK(lead >= 0, ShapeError,
              "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor "
              "(counts {}, tensor {})",
              counts, x.sizes());
  // Each dimension that is repeated becomes two, (count, size), of which the first is expanded.
  std::vector<int64_t> before, after;
  Shape out;
  for (int d = 0; d < rank; ++d) {
    const int64_t size = d < lead ? 1 : x.sizes()[d - lead];
    TANTU_CHECK(counts[d] >= 0, ShapeError, "repeat: Trying to create tensor with negative dimension {}: counts {}",
                counts[d] * size, counts);
    int64_t total = 0;
    TANTU_CHECK(!__builtin_mul_overflow(size, counts[d], &total), ShapeError,
                "repeat: counts {} of {} are too many elements", counts, x.sizes());
    out.push_back(total);
    if (counts[d] != 1) {
      before.push_back(1);
      after.push_back(counts[d]);
    }
    if (counts[d] == 1 || size != 1) {
      before.push_back(size);
      after.push_back(size);
    }
  }
  checked_numel("repeat", out);
  if (before.size() <= static_cast<size_t>(kMaxDims))
    return view(clone(expand(view(reshape(x, x.sizes()), before), after)), out);
  Tensor y = x;
  for (int d = 0; d < lead; ++d) y = y.unsqueeze(0);
  for (int d = 0; d < rank; ++d)
    y = counts[d] == 0   ? narrow(y, d, 0, 0)
        : counts[d] == 1 ? y
                         : cat(TensorList(static_cast<size_t>(counts[d]), y), d);
  return y;
}

Tensor flip(const Tensor& x, const Dims& dims, Site at) {
  tape::Op op("flip", at);
  bool flipped[kMaxDims] = {};
  for (int64_t dim : dims) {
    const int d = wrap_dim("flip", dim, x.sizes().size());
    TANTU_CHECK(!flipped[d], ValueError, "flip: dim {} appears multiple times in the list of dims", d);
    flipped[d] = true;
  }
  Tensor y = make_tensor("flip", x.sizes(), x.dtype(), x.device());
  if (y.numel() > 0) {
    ConstView from = x.in();
    int64_t offset = 0;
    for (int d = 0; d < from.rank(); ++d) {
      if (!flipped[d]) continue;
      offset += (from.sizes[d] - 1) * from.strides[d];
      from.strides[d] = -from.strides[d];
    }
    from.data = from.as<char>() + offset * x.element_size();
    on_device(x.device(), "flip", [&](auto& ctx) { copy(ctx, from, y.out()); });
  }
  if (tape::wants(x))
    tape::record("FlipBackward0", {&y}, {x}, {},
                 [dims](tape::Backward& b) { return TensorList{flip(b.grad(), dims)}; });
  return y;
}

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims, Site at) {
  tape::Op op("roll", at);
  TANTU_CHECK(!shifts.empty(), ValueError, "roll: `shifts` required");
  if (dims.empty() && shifts.size() == 1) return view(roll(flatten(x), shifts, {0}), x.sizes());
  TANTU_CHECK(dims.size() == shifts.size(), ShapeError, "roll: shifts and dimensions must align. shifts: {}, dims:{}",
              shifts.size(), dims.size());
  TANTU_CHECK(x.dim() > 0, IndexError, "roll: Dimension specified as {} but tensor has no dimensions", dims[0]);
  Tensor y = x.detach();
  {
    NoGradGuard no_grad;
    for (int i = 0; i < dims.size(); ++i) y = rolled(y, wrap_dim("roll", dims[i], x.sizes().size()), shifts[i]);
    if (y.impl().storage.get() == x.impl().storage.get()) y = clone(y);
  }
  if (tape::wants(x)) {
    Dims back = shifts;
    for (int i = 0; i < back.size(); ++i) {
      const int64_t n = x.size(dims[i]);
      back[i] = n == 0 ? 0 : -(shifts[i] % n);
    }
    tape::record("RollBackward0", {&y}, {x}, {},
                 [back, dims](tape::Backward& b) { return TensorList{roll(b.grad(), back, dims)}; });
  }
  return y;
}

Tensor tril(const Tensor& x, int64_t diagonal, Site at) {
  tape::Op op("tril", at);
  return triangle("tril", "TrilBackward0", x, diagonal, true);
}

Tensor triu(const Tensor& x, int64_t diagonal, Site at) {
  tape::Op op("triu", at);
  return triangle("triu", "TriuBackward0", x, diagonal, false);
}

Tensor Tensor::repeat(const Dims& counts, Site at) const {
  return tantu::repeat(*this, counts, at);
}
Tensor Tensor::flip(const Dims& dims, Site at) const {
  return tantu::flip(*this, dims, at);
}
Tensor Tensor::tril(int64_t diagonal, Site at) const {
  return tantu::tril(*this, diagonal, at);
}
Tensor Tensor::triu(int64_t diagonal, Site at) const {
  return tantu::triu(*this, diagonal, at);
}

}  // namespace tantu
