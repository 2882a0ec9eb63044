#include <tantu/tests/catch.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/pointwise_tape.h>
#include <tantu/kernels/pointwise_rows.h>
#include <tantu/tests/ops/compare.h>
#include <tantu/tests/ops/row_defaults.h>

#include <random>

// Every row's text means the same for tensors as for numbers: forward and derivatives.
using namespace tantu;
using namespace tantu::pointwise;

namespace {

Tensor draw(const RowInfo& of, DType dtype, std::mt19937& random) {
  std::uniform_real_distribution<double> value(of.low, of.high);
  std::vector<double> v(37);
  for (double& x : v) x = takes_floats(of.rule) ? value(random) : std::trunc(value(random));
  v[0] = v[1] = of.low;  // ties between operands
  return tensor(v, {.dtype = dtype});
}

template <Row row>
void check_row() {
  const RowInfo& of = info(row);
  const Params& params = row_defaults[static_cast<int>(row)];
  std::mt19937 random(static_cast<unsigned>(row));
  const DType dtype = takes_floats(of.rule) ? kFloat64 : kInt64;
  const Tensor a = draw(of, dtype, random), b = draw(of, dtype, random), c = draw(of, dtype, random),
               g = draw(of, dtype, random);
  const Operand operands[] = {a, b, c};
  NoGradGuard no_grad;
  const Tensor y = apply(row, operands, params, Site::here());
  const Tensor text = RowOf<row>::template forward<Tensor>(g, a, b, c, y, params.values);
  INFO(of.row);
  CHECK(optest::difference(y, text, 1e-14) == "");
  if (of.rule == kToBool || of.rule == kIntegers) return;
  for (int which = 0; which < of.arity; ++which) {
    const Tensor fused = derivative(row, which, {{g, a, b, c, y}, {}}, params);
    if (of.gradient[which] != kComputed) {
      CHECK(optest::difference(of.gradient[which] == kZero ? zeros_like(g) : g, fused, 0) == "");
      continue;
    }
    const Tensor composed = derivative_expression(row, which, {g, a, b, c, y}, params);
    INFO("derivative " << which);
    CHECK(optest::difference(fused, composed, 1e-13) == "");
  }
}

template <int... I>
void check_all(std::integer_sequence<int, I...>) {
  (check_row<static_cast<Row>(I)>(), ...);
}

}  // namespace

TEST_CASE("the text of every row gives the same as a kernel and as tensor operations") {
  check_all(std::make_integer_sequence<int, kRows>{});
}
