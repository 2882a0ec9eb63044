#include <tantu/kernels/conv.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/copy.h>
#include <tantu/kernels/cpu/float_copy.h>
#include <tantu/kernels/cpu/gemm.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace tantu {

namespace {

// The outputs [first, last) along one dimension whose tap `r` falls inside of the input.
struct Inside {
  int64_t first, last;
  Inside(int64_t r, int64_t stride, int64_t padding, int64_t dilation, int64_t in, int64_t out) {
    const int64_t shift = r * dilation - padding;  // input = output * stride + shift
    first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    last = in - shift <= 0 ? 0 : (in - shift + stride - 1) / stride;
    last = std::min(last, out);
    first = std::min(first, last);
  }
};

// One row of the patch matrix, tap (r, s) of a plane (H, W) → (P, Q): row by row, f(input, output, first, last) where
// the outputs [first, last) of `output` read `input` in steps of the stride; the others of the row lie on the padding.
template <class Plane, class Row, class F>
void for_tap(const ConvSizes& c, int64_t r, int64_t s, Plane* plane, Row* out, F f) {
  const ConvRule& rule = c.rule;
  const Inside across(s, rule.stride[1], rule.padding[1], rule.dilation[1], c.W, c.Q);
  for (int64_t p = 0; p < c.P; ++p) {
    const int64_t h = p * rule.stride[0] - rule.padding[0] + r * rule.dilation[0];
    const bool inside = h >= 0 && h < c.H;
    const int64_t first = inside ? across.first : 0, last = inside ? across.last : 0;
    const int64_t w = first * rule.stride[1] - rule.padding[1] + s * rule.dilation[1];
    f(inside && last > first ? plane + h * c.W + w : plane, out + p * c.Q, first, last);
  }
}

// x (channels, H, W) → (patch, positions), rows [begin, end)
template <class T>
void unfold(const ConvSizes& c, const T* x, T* patches, int64_t begin, int64_t end) {
  const int64_t step = c.rule.stride[1];
  for (int64_t row = begin; row < end; ++row) {
    const int64_t s = row % c.S, r = row / c.S % c.R, channel = row / (c.R * c.S);
    for_tap(c, r, s, x + channel * c.H * c.W, patches + row * c.positions,
            [&](const T* in, T* out, int64_t first, int64_t last) {
              std::fill(out, out + first, T(0));
              if (step == 1) std::copy(in, in + (last - first), out + first);
              else
                for (int64_t q = first; q < last; ++q) out[q] = in[(q - first) * step];
              std::fill(out + last, out + c.Q, T(0));
            });
  }
}

// The adjoint: (patch, positions) added to x, channels [begin, end)
template <class T>
void fold(const ConvSizes& c, const T* patches, T* x, int64_t begin, int64_t end) {
  const int64_t step = c.rule.stride[1];
  for (int64_t row = begin * c.R * c.S; row < end * c.R * c.S; ++row) {
    const int64_t s = row % c.S, r = row / c.S % c.R, channel = row / (c.R * c.S);
    for_tap(c, r, s, x + channel * c.H * c.W, patches + row * c.positions,
            [&](T* in, const T* out, int64_t first, int64_t last) {
              for (int64_t q = first; q < last; ++q) in[(q - first) * step] += out[q];
            });
  }
}

// The planes of an image, each filled with its bias or 0.
template <class T>
void start(T* planes, int64_t count, int64_t size, const T* bias) {
  for (int64_t c = 0; c < count; ++c) std::fill_n(planes + c * size, size, bias ? bias[c] : T(0));
}

constexpr int64_t kEnoughParts = 16, kRowGrain = 4;

// f(image, group, patch buffer) for all. Enough of them: one each for a thread. Else one after the other, each cut over
// the threads from within.
template <class T, class F>
void for_parts(const ConvSizes& c, bool needs_patches, F f) {
  const int64_t parts = c.N * c.rule.groups;
  const size_t size = needs_patches ? static_cast<size_t>(c.patch * c.positions) : 0;
  const auto some = [&](int64_t begin, int64_t end) {
    std::vector<T> patches(size);
    for (int64_t i = begin; i < end; ++i) f(i / c.rule.groups, i % c.rule.groups, patches.data());
  };
  if (parts < kEnoughParts) return some(0, parts);
  const int64_t work = std::max<int64_t>(1, c.patch * c.positions * c.filters);
  parallel_for(0, parts, std::max<int64_t>(1, 65536 / work), some);
}

template <class T>
void forward(const ConvSizes& c, const T* x, const T* w, const T* bias, T* y) {
  const bool plain = is_product(c);
  const int64_t K = c.patch, M = c.filters, N = c.positions;
  for_parts<T>(c, !plain, [&](int64_t n, int64_t group, T* patches) {
    const T* image = x + (n * c.C + group * c.channels) * c.H * c.W;
    if (!plain)
      parallel_for(0, K, kRowGrain, [&](int64_t begin, int64_t end) { unfold(c, image, patches, begin, end); });
    T* out = y + (n * c.O + group * M) * N;
    if (bias) start(out, M, N, bias + group * M);
    cpu::gemm<T>(M, N, K, T(1), w + group * M * K, K, 1, plain ? image : patches, N, 1, T(bias ? 1 : 0), out, N);
  });
}

template <class T>
void backward_input(const ConvSizes& c, const T* g, const T* w, const T* bias, T* dx) {
  const bool plain = is_product(c);
  const int64_t K = c.patch, M = c.filters, N = c.positions;
  for_parts<T>(c, !plain, [&](int64_t n, int64_t group, T* patches) {
    T* image = dx + (n * c.C + group * c.channels) * c.H * c.W;
    start(image, c.channels, c.H * c.W, bias ? bias + group * c.channels : nullptr);
    cpu::gemm<T>(K, N, M, T(1), w + group * M * K, 1, K, g + (n * c.O + group * M) * N, N, 1, T(plain ? 1 : 0),
                 plain ? image : patches, N);
    if (!plain)
      parallel_for(0, c.channels, 1, [&](int64_t begin, int64_t end) { fold(c, patches, image, begin, end); });
  });
}

// The images add up in their order, so that the bits do not depend on the threads.
template <class T>
void backward_weight(const ConvSizes& c, const T* g, const T* x, T* dw) {
  const bool plain = is_product(c);
  const int64_t K = c.patch, M = c.filters, N = c.positions;
  std::fill(dw, dw + c.O * K, T(0));
  const auto some = [&](int64_t begin, int64_t end) {
    std::vector<T> patches(plain ? 0 : static_cast<size_t>(K * N));
    for (int64_t group = begin; group < end; ++group)
      for (int64_t n = 0; n < c.N; ++n) {
        const T* image = x + (n * c.C + group * c.channels) * c.H * c.W;
        if (!plain)
          parallel_for(0, K, kRowGrain, [&](int64_t from, int64_t to) { unfold(c, image, patches.data(), from, to); });
        cpu::gemm<T>(M, K, N, T(1), g + (n * c.O + group * M) * N, N, 1, plain ? image : patches.data(), 1, N, T(1),
                     dw + group * M * K, K);
      }
  };
  if (c.rule.groups < kEnoughParts) some(0, c.rule.groups);
  else parallel_for(0, c.rule.groups, 1, some);
}

// Runs a side in the type it computes in.
template <class F>
void in_compute_type(CpuContext& ctx, const ConstView& a, const ConstView& b, const ConstView& bias, const View& y,
                     F f) {
  if (y.numel() == 0) return;
  if (y.dtype == kFloat64) return f(a.as<double>(), b.as<double>(), bias.as<double>(), y.as<double>());
  if (y.dtype == kFloat32) return f(a.as<float>(), b.as<float>(), bias.as<float>(), y.as<float>());
  const cpu::FloatCopy fa(ctx, a), fb(ctx, b);
  const auto fbias = bias.data ? std::make_unique<cpu::FloatCopy>(ctx, bias) : nullptr;
  cpu::FloatCopy fy(y.sizes);
  f(fa.data(), fb.data(), fbias ? std::as_const(*fbias).data() : nullptr, fy.data());
  copy(ctx, fy.view(), y);
}

}  // namespace

void conv_forward(CpuContext& ctx, ConstView x, ConstView w, ConstView bias, View y, const ConvRule& rule) {
  const ConvSizes c(x.sizes, w.sizes, y.sizes, rule);
  in_compute_type(ctx, x, w, bias, y, [&]<class T>(const T* a, const T* b, const T* bias_data, T* out) {
    forward(c, a, b, bias_data, out);
  });
}

void conv_backward_input(CpuContext& ctx, ConstView g, ConstView w, ConstView bias, View dx, const ConvRule& rule) {
  const ConvSizes c(dx.sizes, w.sizes, g.sizes, rule);
  in_compute_type(ctx, g, w, bias, dx, [&]<class T>(const T* a, const T* b, const T* bias_data, T* out) {
    backward_input(c, a, b, bias_data, out);
  });
}

void conv_backward_weight(CpuContext& ctx, ConstView g, ConstView x, View dw, const ConvRule& rule) {
  const ConvSizes c(x.sizes, dw.sizes, g.sizes, rule);
  in_compute_type(ctx, g, x, ConstView(), dw,
                  [&]<class T>(const T* a, const T* b, const T*, T* out) { backward_weight(c, a, b, out); });
}

}  // namespace tantu
