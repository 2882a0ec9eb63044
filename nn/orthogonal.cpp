#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/core/thread_pool.h>
#include <tantu/nn/init.h>

#include <algorithm>
#include <cmath>

namespace tantu::nn::init {

namespace {

double dot(const double* a, const double* b, int64_t n) {
  double lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lanes[l] = std::fma(a[i + l], b[i + l], lanes[l]);
  for (; i < n; ++i) lanes[i % 8] = std::fma(a[i], b[i], lanes[i % 8]);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// x = (I - 2 v vT) x for each of the vectors [begin, end) of length n that lie `stride` apart; v is of unit length.
void reflect(const double* v, int64_t n, double* vectors, int64_t stride, int64_t begin, int64_t end) {
  parallel_for(begin, end, std::max<int64_t>(1, 32768 / n), [=](int64_t from, int64_t to) {
    for (int64_t j = from; j < to; ++j) {
      double* x = vectors + j * stride;
      const double twice = 2 * dot(v, x, n);
      for (int64_t i = 0; i < n; ++i) x[i] = std::fma(-twice, v[i], x[i]);
    }
  });
}

// Row k of `a` (count, length >= count) is column k of M. On return the rows are the columns of the Q of M = Q R whose
// R has a positive diagonal: the one such Q there is. Householder's reflections (1958).
void orthonormalize(double* a, int64_t count, int64_t length) {
  std::vector<double> signs(static_cast<size_t>(count), 1.0);
  for (int64_t k = 0; k < count; ++k) {
    double* v = a + k * length + k;
    const int64_t n = length - k;
    const double norm = std::sqrt(dot(v, v, n)), diagonal = v[0] > 0 ? -norm : norm;
    signs[static_cast<size_t>(k)] = diagonal < 0 ? -1 : 1;
    v[0] -= diagonal;
    const double size = std::sqrt(dot(v, v, n));
    for (int64_t i = 0; i < n; ++i) v[i] = size > 0 ? v[i] / size : 0;
    reflect(v, n, a + k, length, k + 1, count);
  }
  std::vector<double> v(static_cast<size_t>(length));
  for (int64_t k = count - 1; k >= 0; --k) {
    double* row = a + k * length;
    std::copy(row + k, row + length, v.begin());
    std::fill(row, row + length, 0.0);
    row[k] = signs[static_cast<size_t>(k)];
    reflect(v.data(), length - k, a + k, length, k, count);
  }
}

}  // namespace

Tensor orthogonal_(Tensor t, double gain, std::optional<Generator> generator, Site at) {
  tape::Op op("init.orthogonal_", at);
  TANTU_CHECK(t.dim() >= 2, ValueError, "orthogonal_: only tensors with 2 or more dimensions are supported, but got {}",
              t.sizes());
  if (t.numel() == 0) return t;
  NoGradGuard no_grad;
  const int64_t rows = t.size(0), cols = t.numel() / rows;
  const Tensor flat = randn({rows, cols}, t.options(), std::move(generator)).to(kCPU, kFloat64);
  const bool wide = rows < cols;
  Tensor q = (wide ? flat : flat.t()).contiguous().clone();
  orthonormalize(q.data_ptr<double>(), q.size(0), q.size(1));
  q = (wide ? q : q.t()).contiguous().mul_(gain);
  return t.copy_(q.view(t.sizes()).to(t.device()));
}

}  // namespace tantu::nn::init
