#include <tantu/kernels/vector_norm.h>

#include <tantu/kernels/cpu/extremes.h>
#include <tantu/kernels/cpu/reduce_loops.h>

#include <cmath>
#include <limits>

namespace tantu {

namespace {

template <class T>
struct Norm {
  using In = T;
  using Acc = double;
  double identity() const { return 0; }
  static double join(double a, double b) { return a + b; }
  double finish(double a) const { return a; }
};

template <class T>
struct NormZero : Norm<T> {
  double map(T x) const { return x != T(0) ? 1.0 : 0.0; }
};
template <class T>
struct NormOne : Norm<T> {
  double map(T x) const { return std::fabs(static_cast<double>(x)); }
};
template <class T>
struct NormTwo : Norm<T> {
  double map(T x) const { return static_cast<double>(x) * static_cast<double>(x); }
  double finish(double a) const { return std::sqrt(a); }
};
template <class T>
struct NormP : Norm<T> {
  double p;
  double map(T x) const { return std::pow(std::fabs(static_cast<double>(x)), p); }
  double finish(double a) const { return std::pow(a, 1 / p); }
};
template <class T>
struct NormInf {
  using In = T;
  using Acc = T;
  T identity() const { return 0; }
  T map(T x) const { return std::fabs(x); }
  static T join(T a, T b) { return cpu::nan_max(a, b); }
  T finish(T a) const { return a; }
};
template <class T>
struct NormMinusInf : NormInf<T> {
  T identity() const { return std::numeric_limits<T>::infinity(); }
  static T join(T a, T b) { return cpu::nan_min(a, b); }
};

template <class T>
void norm(ConstView x, View y, int reduced, double p) {
  if (p == 0) cpu::reduce_with(NormZero<T>(), x, y, reduced);
  else if (p == 1) cpu::reduce_with(NormOne<T>(), x, y, reduced);
  else if (p == 2) cpu::reduce_with(NormTwo<T>(), x, y, reduced);
  else if (std::isinf(p) && p > 0) cpu::reduce_with(NormInf<T>(), x, y, reduced);
  else if (std::isinf(p)) cpu::reduce_with(NormMinusInf<T>(), x, y, reduced);
  else cpu::reduce_with(NormP<T>{{}, p}, x, y, reduced);
}

}  // namespace

void vector_norm_last(CpuContext&, ConstView x, View y, int reduced, double p) {
  if (x.dtype == kFloat64) norm<double>(x, y, reduced, p);
  else norm<float>(x, y, reduced, p);
}

}  // namespace tantu
