#pragma once

#include <tantu/autograd/ops.h>
#include <tantu/tests/catch.h>

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

/// Reading tests/golden/rng.json and comparing tensors with it in bits.
namespace tantu::golden {

inline nlohmann::json read(const std::string& file) {
  const char* folder = std::getenv("TANTU_GOLDEN_DIR");
  std::ifstream in((folder && *folder ? std::string(folder) : std::string(TANTU_GOLDEN_DEFAULT)) + "/" + file);
  if (!in) throw std::runtime_error("golden file " + file + " is missing");
  return nlohmann::json::parse(in);
}

inline const nlohmann::json& rng() {
  static const nlohmann::json file = read("rng.json");
  return file;
}

inline double number(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const std::string text = value;
  return text == "nan" ? std::nan("") : text == "inf" ? INFINITY : -INFINITY;
}

/// What a call gave: one tensor under the name "", or a layer's parameters by name.
using Tensors = std::map<std::string, Tensor>;

/// How many elements of `t` differ in bits from the recorded {shape, dtype, data}; -1 if the shape or dtype does.
inline int64_t differing(const Tensor& t, const nlohmann::json& record) {
  if (name(t.dtype()) != record.at("dtype").get<std::string>()) return -1;
  if (!(t.sizes() == Dims(record.at("shape").get<std::vector<int64_t>>()))) return -1;
  int64_t count = 0;
  const nlohmann::json& data = record.at("data");
  if (static_cast<int64_t>(data.size()) != t.numel()) return -1;
  if (t.dtype() == kInt64 || t.dtype() == kInt32 || t.dtype() == kUInt8) {
    const auto values = t.to_vector<int64_t>();
    for (size_t i = 0; i < values.size(); ++i) count += values[i] != data[i].get<int64_t>();
    return count;
  }
  const auto values = t.to_vector<double>();  // exact for every floating type
  for (size_t i = 0; i < values.size(); ++i) {
    const double want = t.dtype() == kFloat64 ? number(data[i]) : static_cast<float>(number(data[i]));
    count += std::bit_cast<uint64_t>(values[i]) != std::bit_cast<uint64_t>(want);
  }
  return count;
}

/// The same over all tensors of an entry. An entry without exactly these parameters counts as -1.
inline int64_t differing(const Tensors& tensors, const nlohmann::json& entry) {
  if (tensors.size() == 1 && tensors.begin()->first.empty()) return differing(tensors.begin()->second, entry);
  int64_t count = 0, found = 0;
  for (const auto& [key, record] : entry.items()) {
    if (key == "seed" || key == "next_u32_after") continue;
    const auto it = tensors.find(key);
    const int64_t different = it == tensors.end() ? -1 : differing(it->second, record);
    if (different < 0) return -1;
    count += different;
    ++found;
  }
  return found == static_cast<int64_t>(tensors.size()) ? count : -1;
}

}  // namespace tantu::golden
