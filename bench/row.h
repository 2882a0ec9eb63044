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
  std::function<std::vector<tantu::Tensor>(int64_t n, tantu::DType dtype)> inputs;  ///< random, never zeros
  std::function<tantu::Tensor(const std::vector<tantu::Tensor>&)> call;
  std::function<double(int64_t n)> bytes;  ///< each input read once, each output written once (float32)
  std::function<double(int64_t n)> flops;
  double growth = 1;  ///< how rounding grows with n: the tolerance is growth * eps * a constant
};

std::vector<Row> rows();
std::vector<Row> pointwise_rows();

/// The largest relative error of the row at size n in float32 against the same call in float64; throws what the call
/// throws.
double max_error(const Row& row, int64_t n);
/// What `max_error` may be.
double tolerance(const Row& row, int64_t n);

}  // namespace bench
