#include <tantu/kernels/reduce.h>

#include <tantu/kernels/cpu/extremes.h>
#include <tantu/kernels/cpu/reduce_loops.h>

#include <limits>

namespace tantu {

namespace {

template <class A>
constexpr A lowest() {
  if constexpr (std::is_floating_point_v<A>) return -std::numeric_limits<A>::infinity();
  else return std::numeric_limits<A>::min();
}
template <class A>
constexpr A highest() {
  if constexpr (std::is_floating_point_v<A>) return std::numeric_limits<A>::infinity();
  else return std::numeric_limits<A>::max();
}

template <class A>
struct OfElements {
  using In = A;
  using Acc = A;
  A map(A x) const { return x; }
  A finish(A a) const { return a; }
};

template <class A>
struct Prod : OfElements<A> {
  A identity() const { return 1; }
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  }
};

template <class A>
struct Max : OfElements<A> {
  A identity() const { return lowest<A>(); }
  static A join(A a, A b) { return cpu::nan_max(a, b); }
};

template <class A>
struct Min : OfElements<A> {
  A identity() const { return highest<A>(); }
  static A join(A a, A b) { return cpu::nan_min(a, b); }
};

struct Any : OfElements<uint8_t> {
  uint8_t map(uint8_t x) const { return x != 0; }
  uint8_t identity() const { return 0; }
  static uint8_t join(uint8_t a, uint8_t b) { return a | b; }
};

struct All : OfElements<uint8_t> {
  uint8_t map(uint8_t x) const { return x != 0; }
  uint8_t identity() const { return 1; }
  static uint8_t join(uint8_t a, uint8_t b) { return a & b; }
};

template <class A>
void numbers(ConstView x, View y, int reduced, Reduce what) {
  switch (what) {
    case Reduce::Prod: return cpu::reduce_with(Prod<A>(), x, y, reduced);
    case Reduce::Max: return cpu::reduce_with(Max<A>(), x, y, reduced);
    default: return cpu::reduce_with(Min<A>(), x, y, reduced);
  }
}

}  // namespace

void reduce_last(CpuContext&, ConstView x, View y, int reduced, Reduce what) {
  if (what == Reduce::Any) cpu::reduce_with(Any(), x, y, reduced);
  else if (what == Reduce::All) cpu::reduce_with(All(), x, y, reduced);
  else if (is_integral(x.dtype) && is_integral(y.dtype)) numbers<int64_t>(x, y, reduced, what);
  else if (x.dtype == kFloat64 || y.dtype == kFloat64) numbers<double>(x, y, reduced, what);
  else numbers<float>(x, y, reduced, what);
}

}  // namespace tantu
