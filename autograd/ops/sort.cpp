#include <tantu/autograd/ops/sort.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/reduce_common.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/sort.h>

#include <limits>

namespace tantu {

namespace {

struct Lines {
  int dim;
  int64_t length;
  Lines(const char* op, const Tensor& x, int64_t d)
      : dim(wrap_dim(op, d, x.sizes().size())), length(x.dim() == 0 ? 1 : x.sizes()[dim]) {}
};

// Fresh values and indices with `count` places along the lines of x, or with that dimension dropped, filled by
// `kernel(ctx, x, values, indices)`.
template <class Kernel>
std::pair<Tensor, Tensor> ordered(const char* op, const Tensor& x, const Lines& lines, int64_t count, bool drop,
                                  const Kernel& kernel) {
  Shape sizes = x.sizes();
  if (!sizes.empty() && drop) sizes.erase(lines.dim);
  else if (!sizes.empty()) sizes[lines.dim] = count;
  Tensor values = make_tensor(op, sizes, x.dtype(), x.device()), indices = make_tensor(op, sizes, kInt64, x.device());
  const auto places = [&](Tensor& t) {
    if (!drop) return with_last(t, lines.dim).out();
    View v = t.out();
    v.sizes.push_back(1);
    v.strides.push_back(1);
    return v;
  };
  if (values.numel() > 0)
    on_device(x.device(), op,
              [&](auto& ctx) { kernel(ctx, with_last(x, lines.dim).in(), places(values), places(indices)); });
  return {values, indices};
}

void record_selection(const char* grad_name, const Tensor& x, int dim, std::pair<Tensor, Tensor>& result,
                      bool keepdim) {
  if (!tape::wants(x)) return;
  tape::record(grad_name, {&result.first}, {x}, {tape::Saved(result.second)},
               [dim, sizes = x.sizes(), keepdim](tape::Backward& b) {
                 return TensorList{selected_backward(b.grad(), b.saved(0), dim, sizes, keepdim)};
               });
}

void refuse_bool(const char* op, const Tensor& x) {
  TANTU_CHECK(x.dtype() != kBool, DTypeError, "{}: not implemented for bool", op);
}

std::pair<Tensor, Tensor> kth(const char* op, const char* grad_name, const Tensor& x, const Lines& lines, int64_t k,
                              bool nan_first, bool keepdim) {
  refuse_bool(op, x);
  auto result = ordered(op, x, lines, 1, !keepdim, [&](auto& ctx, ConstView from, View value, View index) {
    kth_last(ctx, from, value, index, k, nan_first);
  });
  record_selection(grad_name, x, lines.dim, result, keepdim);
  return result;
}

}  // namespace

std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending, Site at) {
  tape::Op op("sort", at);
  const Lines lines("sort", x, dim);
  auto result = ordered(
      "sort", x, lines, lines.length, false,
      [&](auto& ctx, ConstView from, View values, View indices) { sort_last(ctx, from, values, indices, descending); });
  record_selection("SortBackward0", x, lines.dim, result, true);
  return result;
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending, Site at) {
  tape::Op op("argsort", at);
  NoGradGuard no_grad;
  return sort(x, dim, descending).second;
}

std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool, Site at) {
  tape::Op op("topk", at);
  refuse_bool("topk", x);
  const Lines lines("topk", x, dim);
  TANTU_CHECK(k >= 0 && k <= lines.length, IndexError, "topk: selected index k out of range: k = {} of {} elements", k,
              lines.length);
  if (x.dim() == 0 && k == 0) return topk(x.reshape({1}), 0);
  auto result = ordered("topk", x, lines, k, false, [&](auto& ctx, ConstView from, View values, View indices) {
    topk_last(ctx, from, values, indices, largest);
  });
  record_selection("TopkBackward0", x, lines.dim, result, true);
  return result;
}

std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim, Site at) {
  tape::Op op("kthvalue", at);
  const Lines lines("kthvalue", x, dim);
  TANTU_CHECK(lines.length > 0, IndexError, "kthvalue: Expected reduction dim {} to have non-zero size.", lines.dim);
  TANTU_CHECK(k >= 1 && k <= lines.length, IndexError,
              "kthvalue: selected number k out of range for dimension {}: k = {} of {}", lines.dim, k, lines.length);
  return kth("kthvalue", "KthvalueBackward0", x, lines, k - 1, false, keepdim);
}

Tensor median(const Tensor& x, Site at) {
  tape::Op op("median", at);
  const int64_t n = x.numel();
  if (n == 0) {
    TANTU_CHECK(is_floating(x.dtype()), ShapeError, "median: has no value for an empty {} tensor", x.dtype());
    return full({}, std::numeric_limits<double>::quiet_NaN(), x.options());
  }
  Tensor y;
  {
    NoGradGuard no_grad;
    const Tensor line = x.reshape({-1});
    y = kth("median", "", line, Lines("median", line, 0), (n - 1) / 2, true, false).first;
  }
  if (tape::wants(x))
    tape::record("MedianBackward0", {&y}, {x}, {tape::Saved(x), tape::Saved::output(y)}, [](tape::Backward& b) {
      const Tensor x = b.saved(0), y = b.saved(1);
      const Tensor equal = logical_or(x == y, logical_and(isnan(x), isnan(y))).to(x.dtype());
      return TensorList{equal * (b.grad() / sum(equal))};
    });
  return y;
}

std::pair<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim, Site at) {
  tape::Op op("median", at);
  const Lines lines("median", x, dim);
  TANTU_CHECK(lines.length > 0, IndexError, "median: Expected reduction dim {} to have non-zero size.", lines.dim);
  return kth("median", "MedianBackward1", x, lines, (lines.length - 1) / 2, true, keepdim);
}

std::pair<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending, Site at) const {
  return tantu::sort(*this, dim, descending, at);
}
std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted, Site at) const {
  return tantu::topk(*this, k, dim, largest, sorted, at);
}

}  // namespace tantu
