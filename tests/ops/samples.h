#pragma once

#include <tantu/tests/ops/op_table.h>

#include <cstdint>
#include <string>
#include <vector>

/// How the driver draws the inputs of a case and lays them out in memory.
namespace tantu::optest {

enum class Layout { Contiguous, Transposed, Offset, Expanded };
const char* name(Layout layout);

/// TANTU_TEST_SIZES=small: few sizes and two layouts, for lanes that look for something else than wrong numbers.
bool small_sizes();
/// The layouts that every case is run with.
std::vector<Layout> layouts();

/// One concrete run of a case.
struct Setting {
  Device device;
  DType dtype = kFloat64;
  int64_t n = 0, s = 0;
  Layout layout = Layout::Contiguous;
  int seed = 0;
  bool specials = false;  ///< NaN, inf, -inf, 0 and -0 among the values
};
/// "float32 n=33 s=5 transposed seed 2 on cpu".
std::string describe(const Setting& setting);

/// The (kN, kS) pairs a case is run with: one pair for a case that has neither.
std::vector<std::pair<int64_t, int64_t>> sizes_of(const Case& c);

struct Drawn {
  Args args;
  Refs refs;
};
/// Fresh random inputs: the same for the same row, case and setting.
Drawn draw(const Row& row, const Case& c, const Setting& setting);
/// `values` as a tensor of the layout; those an expanded tensor cannot hold are replaced in `values`.
Tensor lay_out(Array& values, DType dtype, Device device, Layout layout);
/// Whether a gradient is taken of this input.
bool differentiable(const Input& input);
/// All bytes of a tensor's storage, those outside of the tensor too.
std::vector<uint8_t> storage_bytes(const Tensor& t);

}  // namespace tantu::optest
