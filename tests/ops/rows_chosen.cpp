#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <algorithm>
#include <cmath>

// The functions that choose among rows of kernels/pointwise.def.
namespace tantu::optest {

namespace {

const Rows rows({
    {.name = "pow",
     .cases = {{.inputs = {real({kN}, 0.1, 3)},
                .call = [](const Args& a) { return pow(a[0], 2.5); },
                .reference = [](const Refs& r) { return map(r[0], [](double x) { return std::pow(x, 2.5); }); },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return pow_(y, 2.5);
                    },
                .note = "number"},
               {.inputs = {real({kN}, 0.1, 3), real({kN}, -2, 2)},
                .call = [](const Args& a) { return pow(a[0], a[1]); },
                .reference =
                    [](const Refs& r) { return map(r[0], r[1], [](double x, double y) { return std::pow(x, y); }); },
                .note = "tensor"}},
     .growth = kRounded,
     .gradient = 2},
    {.name = "gelu",
     .cases = {{.inputs = {real({kN}, -3, 3)},
                .call = [](const Args& a) { return gelu(a[0]); },
                .reference =
                    [](const Refs& r) {
                      return map(r[0], [](double x) { return x * 0.5 * std::erfc(-x * M_SQRT1_2); });
                    }},
               {.inputs = {real({kN}, -3, 3)},
                .call = [](const Args& a) { return gelu(a[0], "tanh"); },
                .reference =
                    [](const Refs& r) {
                      return map(r[0], [](double x) {
                        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
                      });
                    },
                .note = "tanh"}},
     .growth = kRounded,
     .gradient = 2,
     .errors = {{"word", [](Device d) { gelu(zeros({2}, {.device = d}), "fast"); }, "gelu: "}}},
    {.name = "relu6",
     .cases = {{.inputs = {off_kinks({kN}, -3, 9)},
                .call = [](const Args& a) { return relu6(a[0]); },
                .reference =
                    [](const Refs& r) {
                      return map(r[0], [](double x) { return std::isnan(x) ? x : std::min(std::max(x, 0.0), 6.0); });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return relu6_(y);
                    }}},
     .growth = kExact,
     .gradient = 1},
    {.name = "set_data",
     .cases = {{.inputs = {real({kN}, -3, 3)},
                .call =
                    [](const Args& a) {
                      Tensor y = zeros({1});
                      set_data(y, a[0]);
                      return y;
                    },
                .reference = [](const Refs& r) { return map(r[0], [](double x) { return x; }); }}},
     .growth = kExact,
     .errors = {{"dtype",
                 [](Device d) {
                   Tensor t = zeros({2}, {.device = d, .requires_grad = true});
                   set_data(t, zeros({2}, {.dtype = kInt64, .device = d}));
                 },
                 "set_data: a tensor that requires a gradient cannot become int64"}}},
});

}  // namespace

}  // namespace tantu::optest
