#include <tantu/tests/ops/op_table.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tantu::optest {

namespace {

std::vector<Row>& mutable_table() {
  static std::vector<Row> rows;
  return rows;
}

double epsilon(DType t) {
  return t == kFloat64 ? 0x1p-52 : t == kFloat16 ? 0x1p-10 : t == kBFloat16 ? 0x1p-7 : 0x1p-23;
}

}  // namespace

Rows::Rows(std::vector<Row> rows) {
  for (Row& row : rows) mutable_table().push_back(std::move(row));
}

const std::vector<Row>& table() {
  static const bool sorted = [] {
    std::stable_sort(mutable_table().begin(), mutable_table().end(),
                     [](const Row& a, const Row& b) { return std::string_view(a.name) < std::string_view(b.name); });
    return true;
  }();
  (void)sorted;
  return mutable_table();
}

// Sums: partial sums of n terms grow as √n and each addition rounds, so a plain sum errs by up to about n / 8 units.
double tolerance(DType dtype, Growth growth, double terms) {
  if (growth == Growth::Exact || is_integral(dtype)) return 0;
  const double computed = epsilon(dtype == kFloat64 ? kFloat64 : kFloat32);  // the half types compute in float32
  const double once = is_half(dtype) ? epsilon(dtype) / 2 : 0;               // and round once, by half a unit
  switch (growth) {
    case Growth::Exact: return 0;
    case Growth::Rounded: return once + 8 * computed;
    case Growth::Summed: return once + (8 + 4 * std::sqrt(terms) + terms / 8) * computed;
    case Growth::Composed:
      return (is_half(dtype) ? (4 + std::sqrt(terms)) * epsilon(dtype) : 0) +
             (32 + 8 * std::sqrt(terms) + terms / 4) * computed;
  }
  return 0;
}

int seed_count() {
  const char* text = std::getenv("TANTU_TEST_SEEDS");
  return text && *text ? std::max(1, std::atoi(text)) : 3;
}

std::vector<Device> devices_under_test() {
  const char* text = std::getenv("TANTU_TEST_DEVICES");
  if (!text || !*text) return {kCPU};
  std::vector<Device> devices;
  const std::string list = text;
  for (size_t start = 0; start < list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    devices.emplace_back(list.substr(start, end - start));
    start = end + 1;
  }
  return devices;
}

}  // namespace tantu::optest
