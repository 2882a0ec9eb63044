#pragma once

#include <tantu/core/tensor.h>

#include <map>
#include <string>

namespace tantu::data {

/// What a safetensors file holds.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes named tensors in the safetensors format, which Python reads too: an 8-byte header length, a JSON header, the
/// elements in row-major order, little-endian. The file appears whole or not at all: it is written beside its place,
/// synced and renamed. FormatError for a header over 100 MB; Error naming the file when it cannot be written. Format:
/// https://github.com/huggingface/safetensors, README, "Format".
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {}, Site at = Site::here());

/// Reads a safetensors file to CPU tensors. Nothing in it is believed: FormatError names the file and what is wrong
/// before any tensor is allocated. DTypeError for a valid file with a dtype that tantu does not have.
Safetensors load_safetensors(const std::string& path, Site at = Site::here());

}  // namespace tantu::data
