#include <tantu/autograd/ops/rearrange.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

namespace tantu {

namespace {

// Pads of dimension `rank - 1 - i` are pads[2 i] and pads[2 i + 1].
int64_t pad_before(const std::vector<int64_t>& pads, int rank, int d) {
  const size_t i = 2 * static_cast<size_t>(rank - 1 - d);
  return i < pads.size() ? pads[i] : 0;
}
int64_t pad_after(const std::vector<int64_t>& pads, int rank, int d) {
  const size_t i = 2 * static_cast<size_t>(rank - 1 - d) + 1;
  return i < pads.size() ? pads[i] : 0;
}

Shape padded_shape(const Tensor& x, const std::vector<int64_t>& pads) {
  const int rank = x.sizes().size();
  TANTU_CHECK(pads.size() % 2 == 0, ShapeError, "pad: Padding length must be divisible by 2, but got {}", pads.size());
  TANTU_CHECK(pads.size() <= 2 * static_cast<size_t>(rank), ShapeError,
              "pad: Padding length should be less than or equal to two times the input dimension but got padding "
              "length {} and input of "
              "dimension {}",
              pads.size(), rank);
  Shape out;
  for (int d = 0; d < rank; ++d) {
    const int64_t n = x.sizes()[d], before = pad_before(pads, rank, d), after = pad_after(pads, rank, d);
    int64_t total = 0;
    TANTU_CHECK(
        !__builtin_add_overflow(n, before, &total) && !__builtin_add_overflow(total, after, &total) && total >= 0 &&
            before >= -n && after >= -n,
        ShapeError,
        "pad: The input size {}, plus negative padding {} and {} resulted in a negative output size, at dimension {}",
        n, before, after, d);
    out.push_back(total);
  }
  return out;
}

// The part of x that stays, or the place in y where it goes.
Tensor inside(Tensor t, const std::vector<int64_t>& pads, int sign) {
  const int rank = t.sizes().size();
  for (int d = 0; d < rank; ++d) {
    const int64_t before = std::max<int64_t>(0, sign * pad_before(pads, rank, d)),
                  after = std::max<int64_t>(0, sign * pad_after(pads, rank, d));
    if (before + after > 0) t = narrow(t, d, before, t.sizes()[d] - before - after);
  }
  return t;
}

Tensor pad_constant(const Tensor& x, const std::vector<int64_t>& pads, double value) {
  const Shape sizes = padded_shape(x, pads);
  checked_numel("pad", sizes);
  Tensor y = full(sizes, Scalar(value).checked("pad", x.dtype()), {.dtype = x.dtype(), .device = x.device()});
  {
    NoGradGuard no_grad;
    inside(y, pads, 1).copy_(inside(x, pads, -1));
  }
  if (tape::wants(x))
    tape::record("ConstantPadNdBackward0", {&y}, {x}, {}, [pads](tape::Backward& b) {
      std::vector<int64_t> back = pads;
      for (int64_t& p : back) p = -p;
      return TensorList{pad_constant(b.grad(), back, 0)};
    });
  return y;
}

// Where position i of the padded dimension, counted from x's first element, comes from; [low, high) is left by the
// cuts.
int64_t source_of(std::string_view mode, int64_t i, int64_t n, int64_t low, int64_t high) {
  if (mode == "replicate") return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == "circular") return i < low ? i + (high - low) : i >= high ? i - (high - low) : i;
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

// For each position of padded dimension d, where it comes from; shaped to broadcast with those of other dimensions.
Tensor sources(const Tensor& x, int d, int64_t before, int64_t after, std::string_view mode) {
  const int64_t n = x.sizes()[d];
  TANTU_CHECK(n > 0, ShapeError, "pad: Expected non-zero size in dimension {} for {} padding, but got {}", d, mode,
              x.sizes());
  TANTU_CHECK(mode != "reflect" || (before < n && after < n), ShapeError,
              "pad: Padding size should be less than the corresponding input dimension, but got: padding ({}, {}) at "
              "dimension {} of input {}",
              before, after, d, x.sizes());
  const int64_t low = std::max<int64_t>(0, -before), high = std::min(n, n + after);
  TANTU_CHECK(mode != "circular" || (before <= high - low && after <= high - low), ShapeError,
              "pad: Padding value causes wrapping around more than once: ({}, {}) at dimension {} of input {}", before,
              after, d, x.sizes());
  TANTU_CHECK(mode == "circular" || before + n + after > 0, ShapeError,
              "pad: input {} is too small: {} padding ({}, {}) leaves size 0 in dimension {}", x.sizes(), mode, before,
              after, d);
  std::vector<int64_t> from;
  in_host_memory("pad", [&] {
    for (int64_t i = -before; i < n + after; ++i) from.push_back(source_of(mode, i, n, low, high));
  });
  Shape shape = Dims::filled(x.sizes().size() - d, 1);
  shape[0] = static_cast<int64_t>(from.size());
  return tensor(from, {.device = x.device()}).view(shape);
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<int64_t>& pads, std::string_view mode, double value, Site at) {
  tape::Op op("pad", at);
  if (mode == "constant") return pad_constant(x, pads, value);
  TANTU_CHECK(mode == "reflect" || mode == "replicate" || mode == "circular", ValueError,
              "pad: Unrecognised padding mode {} (there are constant, reflect, replicate and circular)", mode);
  padded_shape(x, pads);
  const int64_t padded = static_cast<int64_t>(pads.size() / 2);
  TANTU_CHECK(
      padded >= 1 && padded <= 3 && (x.dim() == padded + 1 || x.dim() == padded + 2), ShapeError,
      "pad: Padding size {} is not supported for {}D input tensor in mode {} (dimensions before the padded ones: "
      "one or two, batch and channels)",
      pads.size(), x.dim(), mode);
  TANTU_CHECK(value == 0, ValueError, "pad: Padding mode \"{}\" doesn't take in value argument", mode);
  // One indexing from the first padded dimension on: gradients of repeated elements are added up once.
  const int rank = x.sizes().size(), first = rank - static_cast<int>(padded);
  IndexList indices{Ellipsis};
  for (int d = first; d < rank; ++d)
    indices.push_back(sources(x, d, pad_before(pads, rank, d), pad_after(pads, rank, d), mode));
  return index(x, indices);
}

}  // namespace tantu
