#pragma once

#include <tantu/core/tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One measurement: an operation, how to make its inputs, and what it moves and computes. Sizes are what the op calls
/// n.
struct Row {
  std::string name;            ///< the public operation
  std::vector<int64_t> sizes;  ///< small enough for the cache, and streaming
  std::function<std::vector<tantu::Tensor>(int64_t n, const tantu::TensorOptions&)> inputs;  ///< random, never zeros
  std::function<tantu::Tensor(const std::vector<tantu::Tensor>&)> call;
  std::function<double(int64_t n)> bytes;  ///< each input read once, each output written once
  std::function<double(int64_t n)> flops;
  double growth = 1;  ///< how rounding grows with n: the tolerance is growth * eps * a constant
  tantu::DType dtype = tantu::kFloat32;
  std::vector<int64_t> gpu_sizes = {};  ///< sizes on a GPU of silicon, where the rule of `sizes_on` does not fit
  /// The result jumps where rounding tips an input over (floor_divide): at large sizes one element in 100,000 may
  /// differ.
  bool jumps = false;
};

std::vector<Row> rows();
std::vector<Row> pointwise_rows();
/// Kernels that no single operation runs alone: an optimiser's step, gradients.
std::vector<Row> kernel_rows();
/// What only a GPU has: ceilings (copies by the driver, across the bus), and products by library and dtype.
std::vector<Row> gpu_rows(tantu::Device device);

/// "f32", "bf16".
std::string short_name(tantu::DType dtype);
/// "add/f32/4Ki/cpu/hot"; on a virtual GPU the last word is "emulation": no such time is a measurement.
std::string name_of(const Row& row, int64_t n, tantu::Device device);
/// The sizes of a row on a device. A GPU of silicon gets the smallest of the row, and the largest doubled until it
/// moves 512 MiB: many times its cache. A virtual one gets the smallest.
std::vector<int64_t> sizes_on(const Row& row, tantu::Device device);

/// The largest error of the row at its smallest size, on `device`, against the same call in float64 on the CPU:
/// relative to the element, or to the root mean square of all where that is larger. Throws what the call throws.
double max_error(const Row& row, tantu::Device device);
/// What `max_error` may be.
double tolerance(const Row& row);
/// The error at the size that is timed, of `in` on their GPU, against the same call in float64 there: too much for the
/// CPU. Relative to the largest element, since sums of n products round with n.
double error_at_size(const Row& row, const std::vector<tantu::Tensor>& in);

}  // namespace bench
