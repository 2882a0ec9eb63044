#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/pointwise_tape.h>
#include <tantu/kernels/pointwise_rows.h>

#include <array>
#include <utility>

// The derivatives of the rows as tensor expressions, for create_graph: the text of kernels/pointwise.def with V =
// Tensor.
namespace tantu::pointwise {

namespace {

using Expression = Tensor (*)(const Tensor (&o)[5], const double* p);

template <Row row, int which>
Tensor expression(const Tensor (&o)[5], const double* p) {
  if constexpr (which == 0) return RowOf<row>::template da<Tensor>(o[0], o[1], o[2], o[3], o[4], p);
  else if constexpr (which == 1) return RowOf<row>::template db<Tensor>(o[0], o[1], o[2], o[3], o[4], p);
  else return RowOf<row>::template dc<Tensor>(o[0], o[1], o[2], o[3], o[4], p);
}

struct Entry {
  Expression of[3] = {};
};

template <Row row, int which>
constexpr void add_expression(Entry& e) {
  if constexpr (RowOf<row>::gradient[which] == kComputed) e.of[which] = expression<row, which>;
}

template <Row row>
constexpr Entry entry() {
  Entry e;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (add_expression<row, I>(e), ...);
  }
  (std::make_integer_sequence<int, RowOf<row>::arity>{});
  return e;
}

template <int... I>
constexpr std::array<Entry, kRows> make_table(std::integer_sequence<int, I...>) {
  return {entry<static_cast<Row>(I)>()...};
}

}  // namespace

Tensor derivative_expression(Row row, int which, const Tensor (&operands)[5], const Params& params) {
  static constexpr auto table = make_table(std::make_integer_sequence<int, kRows>{});
  return table[static_cast<size_t>(row)].of[which](operands, params.values);
}

}  // namespace tantu::pointwise
