#include <tantu/bench/row.h>

#include <tantu/autograd/grad_mode.h>
#include <tantu/autograd/ops.h>

#include <cmath>
#include <limits>

namespace bench {

using namespace tantu;

double max_error(const Row& row, int64_t n) {
  NoGradGuard no_grad;
  manual_seed(20261130);
  const std::vector<Tensor> in = row.inputs(n, kFloat32);
  std::vector<Tensor> wide;
  for (const Tensor& t : in) wide.push_back(is_floating(t.dtype()) ? t.to(kFloat64) : t);
  const std::vector<double> got = row.call(in).to_vector<double>(), want = row.call(wide).to_vector<double>();
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (got[i] == want[i]) continue;
    const double error = std::fabs(got[i] - want[i]) / std::max(1.0, std::fabs(want[i]));
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

double tolerance(const Row& row, int64_t) {
  return 16 * row.growth * static_cast<double>(std::numeric_limits<float>::epsilon());
}

}  // namespace bench
