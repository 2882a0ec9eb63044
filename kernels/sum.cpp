#include <tantu/kernels/sum.h>

#include <tantu/kernels/cpu/reduce_loops.h>

namespace tantu {

namespace {

template <class A>
struct Sum {
  using In = A;
  using Acc = A;
  A identity() const { return 0; }
  A map(A x) const { return x; }
  static A join(A a, A b) {
    // Integers wrap around, as PyTorch's do.
    if constexpr (std::is_integral_v<A>) return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
  A finish(A a) const { return a; }
};

}  // namespace

void sum_last(CpuContext&, ConstView x, View y, int reduced) {
  if (is_integral(y.dtype)) cpu::reduce_with(Sum<int64_t>(), x, y, reduced);
  else if (y.dtype == kFloat64) cpu::reduce_with(Sum<double>(), x, y, reduced);
  else cpu::reduce_with(Sum<float>(), x, y, reduced);
}

}  // namespace tantu
