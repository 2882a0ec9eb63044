#include <tantu/autograd/ops/pointwise_tape.h>
#include <tantu/tests/gpu/pointwise_common.h>
#include <tantu/tests/ops/row_defaults.h>

// The packed and the strided kernels of a row give the same bits; operands of every shape meet as they should.
using namespace tantu;
using namespace tantu::gputest;
using namespace tantu::pointwise;

namespace {

Tensor run(Row row, const Tensor (&x)[3]) {
  const Operand operands[] = {x[0], x[1], x[2]};
  return apply(row, operands, row_defaults[static_cast<int>(row)], Site::here());
}

}  // namespace

TEST_CASE("a row has the same bits by packs and one element at a time") {
  NoGradGuard no_grad;
  for (const Device& gpu : gpu_devices())
    for (int r = 0; r < kRows; ++r) {
      const Row row = static_cast<Row>(r);
      const RowInfo& of = info(row);
      if (!takes_floats(of.rule)) continue;
      for (const DType dtype : kFloatingDtypes) {
        INFO(of.row << " " << name(dtype) << " on " << gpu.to_string());
        Tensor packed[5], strided[5];
        for (int k = 0; k < 5; ++k) {
          Tensor x = draw({1029}, dtype, of.low, of.high, static_cast<unsigned>(k));
          x[5].fill_(std::numeric_limits<double>::quiet_NaN());
          x[6 + k].fill_(std::numeric_limits<double>::infinity());
          packed[k] = placed(x, gpu, 0);
          strided[k] = placed(x, gpu, 1);
        }
        CHECK(bit_difference(run(row, {packed[1], packed[2], packed[3]}),
                             run(row, {strided[1], strided[2], strided[3]})) == "");
        for (int which = 0; which < of.arity; ++which) {
          if (of.gradient[which] != kComputed) continue;
          const Params& params = row_defaults[r];
          const auto d = [&](const Tensor(&x)[5]) {
            return derivative(row, which, {{x[0], x[1], x[2], x[3], x[4]}, {}}, params);
          };
          CHECK(bit_difference(d(packed), d(strided)) == "");
        }
      }
    }
}

TEST_CASE("operands of every shape meet in packs as they do one by one") {
  NoGradGuard no_grad;
  struct Pair {
    Shape a, b;
  };
  const Pair pairs[] = {{{24, 64}, {64}},
                        {{24, 64}, {24, 1}},
                        {{24, 64}, {}},
                        {{24, 63}, {63}},
                        {{5, 1, 32}, {7, 32}},
                        {{1, 16}, {9, 1}},
                        {{3, 4, 8}, {4, 1}},
                        {{2, 3, 16}, {1, 3, 1}},
                        {{8}, {8}},
                        {{1}, {1}},
                        {{0, 8}, {8}},
                        {{7}, {7}},
                        {{16, 1}, {1, 24}},
                        {{2, 1, 3, 1, 8}, {5, 1, 4, 1}}};
  for (const Device& gpu : gpu_devices())
    for (const DType dtype : kFloatingDtypes)
      for (const Pair& p : pairs) {
        const Tensor a = draw(p.a, dtype, -3, 3, 1), b = draw(p.b, dtype, -3, 3, 2),
                     mask = draw(p.b, kUInt8, 0, 2, 3).to(kBool);
        const Tensor ga = a.to(gpu), gb = b.to(gpu), gmask = mask.to(gpu);
        INFO(name(dtype) << " " << a.sizes().size() << " " << a.numel() << " with " << b.numel());
        CHECK(bit_difference(ga * gb, a * b) == "");
        CHECK(bit_difference(gb - ga, b - a) == "");
        CHECK(bit_difference(ga < gb, a < b) == "");
        CHECK(bit_difference(where(gmask, ga, gb), where(mask, a, b)) == "");
        CHECK(bit_difference(ga * 0.5, a * 0.5) == "");
        Tensor into = ga.clone();
        into.add_(into);
        CHECK(bit_difference(into, a + a) == "");
      }
}

TEST_CASE("a transposed operand and one with holes meet a dense one") {
  NoGradGuard no_grad;
  for (const Device& gpu : gpu_devices())
    for (const DType dtype : {kFloat32, kFloat16, kInt64, kBool}) {
      const Tensor a = draw({48, 80}, dtype, 0, 3, 1), b = draw({80, 48}, dtype, 0, 3, 2),
                   c = draw({48, 160}, dtype, 0, 3, 3);
      const Tensor ga = a.to(gpu), gb = b.to(gpu), gc = c.to(gpu);
      CHECK(bit_difference(ga * gb.t(), a * b.t()) == "");
      CHECK(bit_difference(ga.t() * gb, a.t() * b) == "");
      CHECK(bit_difference(ga * gc.slice(1, 0, {}, 2), a * c.slice(1, 0, {}, 2)) == "");
      CHECK(bit_difference(ga * gc.narrow(1, 40, 80), a * c.narrow(1, 40, 80)) == "");
      CHECK(bit_difference(ga + gb.t().to(kInt32), a + b.t().to(kInt32)) == "");
    }
}
