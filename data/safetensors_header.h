#pragma once

#include <tantu/core/tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The JSON header of a safetensors file.
namespace tantu::data::detail {

inline constexpr uint64_t kHeaderLimit = 100'000'000;

struct HeaderEntry {
  std::string name;
  std::string dtype_name;
  std::optional<DType> dtype;  ///< absent for a dtype of the format that tantu does not have
  Shape shape;
  uint64_t begin = 0, end = 0;  ///< bytes from the end of the header
};

/// The format's order of dtypes, in which files lay out their tensors (from last to first).
int dtype_rank(DType t);

/// The header, padded with spaces to a multiple of 8 bytes; the tensors lie one after another in this order.
std::string write_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                         const std::map<std::string, std::string>& metadata);

/// The entries, in the order of their bytes. FormatError, naming the file and the entry, unless the text is one JSON
/// object of the format's shape without duplicate keys, and the entries cover `data_bytes` without gap or overlap.
std::vector<HeaderEntry> read_header(const std::string& path, const std::string& text, uint64_t data_bytes,
                                     std::map<std::string, std::string>& metadata);

}  // namespace tantu::data::detail
