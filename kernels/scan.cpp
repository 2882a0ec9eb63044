#include <tantu/kernels/scan.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/axis_loops.h>
#include <tantu/kernels/cpu/strided.h>

namespace tantu {

namespace {

constexpr int64_t kWidth = 128;
constexpr int64_t kGrain = 32768;

// In is how elements are read and written, A what they are added in.
template <class In, class A>
void add_up(A& total, In x) {
  if constexpr (std::is_integral_v<A>) total = static_cast<A>(static_cast<uint64_t>(total) + static_cast<uint64_t>(x));
  else total += static_cast<A>(x);
}

template <class In, class A>
void scan_lines(const cpu::AxisPlan& plan, const ConstView& x, const View& y, bool reverse) {
  const cpu::LineSource<In> from(x);
  const cpu::LineTarget<In> to(y);
  const int64_t n = plan.axis.size, inner = plan.lines.inner().size;
  const int64_t first = reverse ? n - 1 : 0, step = reverse ? -1 : 1;
  if (plan.axis.size > 1 && inner >= 8 && std::abs(plan.lines.inner().x) <= std::abs(plan.axis.x)) {
    const int64_t tiles = (inner + kWidth - 1) / kWidth, work = n * std::min(inner, kWidth);
    parallel_for(0, plan.lines.outer_numel() * tiles, std::max<int64_t>(1, kGrain / work), [&](int64_t b, int64_t e) {
      alignas(64) In in[kWidth], out[kWidth];
      alignas(64) A total[kWidth];
      for (int64_t t = b; t < e; ++t) {
        const cpu::Cursor at(plan.lines, plan.lines.count - 1, t / tiles);
        const cpu::Loop& side = plan.lines.inner();
        const int64_t skip = t % tiles * kWidth, width = std::min(kWidth, inner - skip);
        std::fill_n(total, width, A(0));
        for (int64_t i = 0, k = first; i < n; ++i, k += step) {
          const int64_t xo = at.x + skip * side.x + k * plan.axis.x, yo = at.y + skip * side.y + k * plan.axis.y;
          const In* line = from.get(xo, side.x, width, in);
          In* result = to.at(yo, side.y, out);
#pragma GCC ivdep
          for (int64_t j = 0; j < width; ++j) {
            add_up(total[j], line[j]);
            result[j] = static_cast<In>(total[j]);
          }
          to.put(result, yo, side.y, width, out);
        }
      }
    });
    return;
  }
  parallel_for(0, plan.lines.numel, std::max<int64_t>(1, kGrain / n), [&](int64_t b, int64_t e) {
    const bool direct = from.in_place && to.in_place && plan.axis.x == 1 && plan.axis.y == 1;
    std::vector<In> buffer(direct ? 0 : static_cast<size_t>(2 * n));
    In *in = buffer.data(), *out = in + (direct ? 0 : n);
    cpu::Cursor at(plan.lines, plan.lines.count, b);
    for (int64_t r = b; r < e; ++r, at.next()) {
      const In* line = from.get(at.x, plan.axis.x, n, in);
      In* result = to.at(at.y, plan.axis.y, out);
      A total = 0;
      for (int64_t i = 0, k = first; i < n; ++i, k += step) {
        add_up(total, line[k]);
        result[k] = static_cast<In>(total);
      }
      to.put(result, at.y, plan.axis.y, n, out);
    }
  });
}

ConstView part_of(const ConstView& v, int first, int count, const void* data) {
  ConstView part = v;
  part.data = data;
  part.sizes = Shape();
  part.strides = Strides();
  for (int d = first; d < first + count; ++d) {
    part.sizes.push_back(v.sizes[d]);
    part.strides.push_back(v.strides[d]);
  }
  return part;
}

template <class T>
void prod_backward(const ConstView& g, const ConstView& x, const View& dx, int reduced) {
  const int kept = x.rank() - reduced;
  const DType compute = dtype_of<T>;
  const ConstView rows[] = {part_of(dx, kept, reduced, dx.data), part_of(x, kept, reduced, x.data)};
  const ConstView places[] = {part_of(dx, 0, kept, dx.data), part_of(x, 0, kept, x.data), g};
  const cpu::Walk shape(rows, 2);
  const int64_t n = shape.numel, results = numel(g.sizes);
  const auto offset = [&](const ConstView& v, int64_t r) {
    int64_t at = 0;
    for (int d = v.rank() - 1; d >= 0; --d) {
      at += r % v.sizes[d] * v.strides[d];
      r /= v.sizes[d];
    }
    return at * item_size(v.dtype);
  };
  if (n == 0 || results == 0) return;
  const cpu::LoadLine load = cpu::load_line<T>(g.dtype);
  parallel_for(0, results, std::max<int64_t>(1, kGrain / n), [&](int64_t b, int64_t e) {
    std::vector<T> value(static_cast<size_t>(n)), before(static_cast<size_t>(n));
    cpu::Walk row = shape;
    for (int64_t r = b; r < e; ++r) {
      row.operands[0].data = shape.operands[0].data + offset(places[0], r);
      row.operands[1].data = shape.operands[1].data + offset(places[1], r);
      T gradient;
      load(static_cast<const char*>(g.data) + offset(places[2], r), 1, 1, &gradient);
      cpu::load(row, 1, 0, n, compute, value.data());
      T product = gradient;
      for (size_t i = 0; i < value.size(); ++i) {
        before[i] = product;
        product *= value[i];
      }
      product = 1;
      for (size_t i = value.size(); i-- > 0;) {
        before[i] *= product;
        product *= value[i];
      }
      cpu::store(row, 0, 0, n, compute, before.data());
    }
  });
}

}  // namespace

void cumsum(CpuContext&, ConstView x, View y, int axis, bool reverse) {
  const cpu::AxisPlan plan(x, y, axis);
  if (plan.numel() == 0) return;
  if (is_integral(y.dtype)) scan_lines<int64_t, int64_t>(plan, x, y, reverse);
  else if (y.dtype == kFloat64) scan_lines<double, double>(plan, x, y, reverse);
  else scan_lines<float, double>(plan, x, y, reverse);
}

void prod_backward_last(CpuContext&, ConstView g, ConstView x, View dx, int reduced) {
  if (x.dtype == kFloat64) prod_backward<double>(g, x, dx, reduced);
  else prod_backward<float>(g, x, dx, reduced);
}

}  // namespace tantu
