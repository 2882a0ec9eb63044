#pragma once

#include <tantu/autograd/node.h>
#include <tantu/core/tensor.h>
#include <tantu/tests/ops/array.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

/// The op table: one row per public operation, data only. `op_table_test.cpp` runs every row over devices × dtypes ×
/// sizes × layouts × seeds: forward against the float64 reference, dtype and shape of the result, inputs unchanged,
/// guard bytes, poisoned memory, NaN and inf, gradients (order 1 and 2) and error texts.
///
/// A row is added in rows_FAMILY.cpp:
///
///     const Rows rows({
///         {.name = "sum",
///          .cases = {{.inputs = {real({kN, 3})},
///                     .call = [](const Args& a) { return sum(a[0], 0); },
///                     .reference = [](const Refs& r) { return reduce(r[0], {0}, false, total); }}},
///          .dtypes = kAllTypes, .result = sum_type, .growth = kSummed, .gradient = 2,
///          .errors = {{"dim outside", [](Device d) { sum(zeros({2}, {.device = d}), 5); }, "Dimension out of
///          range"}}},
///     });
namespace tantu::optest {

/// Sizes the driver fills in: kN runs over {0, 1, 2, 31, 32, 33, 1023, 1025, 7}, kS over {0, 1, 5, 33}.
inline constexpr int64_t kN = -1001, kS = -1002;

enum class Kind {
  Real,      ///< uniform in [low, high]; whole numbers for integer dtypes
  OffKinks,  ///< the same, at least 0.05 away from multiples of 0.25, and inputs of one case at least 0.025 apart
  Distinct,  ///< no two elements closer than (high - low) / (2 numel): for maxima, sorting
  Index,     ///< int64 in [0, high)
  Mask,      ///< bool
};

struct Input {
  Shape shape;
  double low = -3, high = 3;
  Kind kind = Kind::Real;
};
/// Values in [low, high], which gradients are taken of where the row has gradients.
inline Input real(const Shape& shape, double low = -3, double high = 3) {
  return {shape, low, high};
}
inline Input off_kinks(const Shape& shape, double low = -3, double high = 3) {
  return {shape, low, high, Kind::OffKinks};
}
inline Input distinct(const Shape& shape, double low = -3, double high = 3) {
  return {shape, low, high, Kind::Distinct};
}
/// int64 positions below `below`, which may be kN or kS.
inline Input index(const Shape& shape, int64_t below) {
  return {shape, 0, static_cast<double>(below), Kind::Index};
}
inline Input mask(const Shape& shape) {
  return {shape, 0, 1, Kind::Mask};
}

/// What a call is given.
struct Args {
  TensorList x;
  DType dtype = kFloat32;
  Device device;
  int64_t n = 0, s = 0;  ///< the values of kN and kS
  const Tensor& operator[](size_t i) const { return x[i]; }
  TensorOptions options() const { return {dtype, device}; }
};
/// What a reference is given: the same inputs as float64, after rounding to the dtype.
struct Refs {
  std::vector<Array> x;
  DType dtype = kFloat32;
  int64_t n = 0, s = 0;
  const Array& operator[](size_t i) const { return x[i]; }
};

/// One result or several.
struct Results : TensorList {
  Results(Tensor y) : TensorList{std::move(y)} {}
  Results(std::pair<Tensor, Tensor> y) : TensorList{std::move(y.first), std::move(y.second)} {}
  Results(TensorList y) : TensorList(std::move(y)) {}
};
struct Arrays : std::vector<Array> {
  Arrays(Array y) : std::vector<Array>{std::move(y)} {}
  Arrays(std::vector<Array> y) : std::vector<Array>(std::move(y)) {}
};

/// One way to call the operation. It has a `reference`, or a `property` where there is no number to compare (random
/// ops, `empty`): what is wrong with the results, or "".
struct Case {
  std::vector<Input> inputs = {};
  std::function<Results(const Args&)> call = {};
  std::function<Arrays(const Refs&)> reference = {};
  std::function<std::string(const Args&, const TensorList&)> property = {};
  /// The same operation written into a[0], if it exists: must give what `call` gives, cast to a[0]'s dtype.
  std::function<Tensor(const Args&)> inplace = {};
  const char* note = "";  ///< shown on failure
};

/// How errors grow on the way to a result. `tolerance` turns it into a number.
enum class Growth {
  Exact,     ///< the elements are moved, counted or compared: bit equal
  Rounded,   ///< one fused function: the half types round once
  Summed,    ///< many terms are added
  Composed,  ///< several operations in a row, each rounding to the dtype
};
inline constexpr Growth kExact = Growth::Exact, kRounded = Growth::Rounded, kSummed = Growth::Summed,
                        kComposed = Growth::Composed;
/// Allowed |got - want| / max(1, |want|); `terms` is how many elements went into one of the result.
double tolerance(DType dtype, Growth growth, double terms);

struct ErrorCase {
  const char* note;
  std::function<void(Device)> call;
  std::string text;  ///< must be part of the message
};

inline const std::vector<DType> kFloatTypes{kFloat64, kFloat32, kFloat16, kBFloat16};
inline const std::vector<DType> kNumberTypes{kFloat64, kFloat32, kFloat16, kBFloat16, kInt64, kInt32, kUInt8};
inline const std::vector<DType> kAllTypes{kFloat64, kFloat32, kFloat16, kBFloat16, kInt64, kInt32, kUInt8, kBool};

/// The dtype of a result, given that of the inputs.
inline DType same_type(DType t) {
  return t;
}
inline DType float_type(DType t) {
  return is_floating(t) ? t : kFloat32;
}
inline DType sum_type(DType t) {
  return is_floating(t) ? t : kInt64;
}
inline DType bool_type(DType) {
  return kBool;
}
inline DType index_type(DType) {
  return kInt64;
}

struct Row {
  const char* name;  ///< as in the public header
  std::vector<Case> cases = {};
  std::vector<DType> dtypes = kFloatTypes;
  std::vector<DType (*)(DType)> result = {same_type};  ///< one per result, or one for all
  Growth growth = kRounded;
  int gradient = 0;   ///< 0, 1 (gradcheck) or 2 (also gradgradcheck)
  bool scan = false;  ///< a result has as many elements as the input, but all those before it go into each
  std::vector<ErrorCase> errors = {};
  const char* no_specials = nullptr;  ///< why NaN and inf are not fed (each row that says so is printed)
  const char* no_layouts = nullptr;   ///< why only contiguous inputs are fed
  bool draws = false;                 ///< each device draws its own numbers: the exact gradient is taken there
};

/// Adds rows to the table when the program starts.
struct Rows {
  explicit Rows(std::vector<Row> rows);
};
const std::vector<Row>& table();

/// Seeds of the random inputs: three, or as many as TANTU_TEST_SEEDS says.
int seed_count();
/// Devices every row runs on: those named in TANTU_TEST_DEVICES ("cpu,vgpu:0"), else the CPU.
std::vector<Device> devices_under_test();

}  // namespace tantu::optest
