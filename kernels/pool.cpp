#include <tantu/kernels/pool.h>

#include <tantu/core/half.h>
#include <tantu/core/thread_pool.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tantu {

namespace {

// f(plane) for all planes, cut over the threads.
template <class F>
void for_planes(int64_t planes, int64_t elements, F f) {
  parallel_for(0, planes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) f(plane);
               });
}

template <class T>
void max_forward(const ConstView& x, const View& y, const View& indices, const PoolRule& rule) {
  const int64_t H = x.sizes[1], W = x.sizes[2], P = y.sizes[1], Q = y.sizes[2];
  for_planes(y.sizes[0], H * W, [&](int64_t plane) {
    const T* in = x.as<T>() + plane * H * W;
    for (int64_t p = 0; p < P; ++p)
      for (int64_t q = 0; q < Q; ++q) {
        const PoolWindow down(rule, 0, p, H, P), across(rule, 1, q, W, Q);
        int64_t best = down.first * W + across.first;
        acc_t<T> largest = static_cast<acc_t<T>>(in[best]);
        for (int64_t h = down.first; h < down.last; h += down.step)
          for (int64_t w = across.first; w < across.last; w += across.step) {
            const auto value = static_cast<acc_t<T>>(in[h * W + w]);
            if (!(value > largest) && !(std::isnan(value) && !std::isnan(largest))) continue;
            largest = value;
            best = h * W + w;
          }
        y.as<T>()[(plane * P + p) * Q + q] = in[best];
        indices.as<int64_t>()[(plane * P + p) * Q + q] = best;
      }
  });
}

template <class T>
void max_backward(const ConstView& g, const ConstView& indices, const View& dx) {
  const int64_t size = dx.sizes[1] * dx.sizes[2], outputs = g.sizes[1] * g.sizes[2];
  for_planes(dx.sizes[0], size, [&](int64_t plane) {
    std::vector<acc_t<T>> sums(static_cast<size_t>(size));
    for (int64_t i = plane * outputs; i < (plane + 1) * outputs; ++i)
      sums[static_cast<size_t>(indices.as<int64_t>()[i])] += static_cast<acc_t<T>>(g.as<T>()[i]);
    for (int64_t i = 0; i < size; ++i) dx.as<T>()[plane * size + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
  });
}

template <class T>
void avg_forward(const ConstView& x, const View& y, const PoolRule& rule) {
  const int64_t H = x.sizes[1], W = x.sizes[2], P = y.sizes[1], Q = y.sizes[2];
  for_planes(y.sizes[0], H * W, [&](int64_t plane) {
    const T* in = x.as<T>() + plane * H * W;
    for (int64_t p = 0; p < P; ++p)
      for (int64_t q = 0; q < Q; ++q) {
        const PoolWindow down(rule, 0, p, H, P), across(rule, 1, q, W, Q);
        acc_t<T> sum = 0;
        for (int64_t h = down.first; h < down.last; ++h)
          for (int64_t w = across.first; w < across.last; ++w) sum += static_cast<acc_t<T>>(in[h * W + w]);
        y.as<T>()[(plane * P + p) * Q + q] =
            static_cast<T>(sum / static_cast<acc_t<T>>(pool_divisor(rule, down, across)));
      }
  });
}

template <class T>
void avg_backward(const ConstView& g, const View& dx, const PoolRule& rule) {
  const int64_t H = dx.sizes[1], W = dx.sizes[2], P = g.sizes[1], Q = g.sizes[2];
  for_planes(dx.sizes[0], H * W, [&](int64_t plane) {
    std::vector<acc_t<T>> sums(static_cast<size_t>(H * W));
    for (int64_t p = 0; p < P; ++p)
      for (int64_t q = 0; q < Q; ++q) {
        const PoolWindow down(rule, 0, p, H, P), across(rule, 1, q, W, Q);
        const acc_t<T> share = static_cast<acc_t<T>>(g.as<T>()[(plane * P + p) * Q + q]) /
                               static_cast<acc_t<T>>(pool_divisor(rule, down, across));
        for (int64_t h = down.first; h < down.last; ++h)
          for (int64_t w = across.first; w < across.last; ++w) sums[static_cast<size_t>(h * W + w)] += share;
      }
    for (int64_t i = 0; i < H * W; ++i) dx.as<T>()[plane * H * W + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
  });
}

}  // namespace

void max_pool_forward(CpuContext&, ConstView x, View y, View indices, const PoolRule& rule) {
  if (y.numel() > 0) visit_floating(y.dtype, [&]<class T>(Tag<T>) { max_forward<T>(x, y, indices, rule); });
}

void max_pool_backward(CpuContext&, ConstView g, ConstView indices, View dx, const PoolRule&) {
  if (dx.numel() > 0) visit_floating(dx.dtype, [&]<class T>(Tag<T>) { max_backward<T>(g, indices, dx); });
}

void avg_pool_forward(CpuContext&, ConstView x, View y, const PoolRule& rule) {
  if (y.numel() > 0) visit_floating(y.dtype, [&]<class T>(Tag<T>) { avg_forward<T>(x, y, rule); });
}

void avg_pool_backward(CpuContext&, ConstView g, View dx, const PoolRule& rule) {
  if (dx.numel() > 0) visit_floating(dx.dtype, [&]<class T>(Tag<T>) { avg_backward<T>(g, dx, rule); });
}

}  // namespace tantu
