#pragma once

#include <tantu/core/tensor.h>

#include <iosfwd>
#include <string>

namespace tantu::data {

/// Reads an IDX file, plain or gzipped, as Y. LeCun's MNIST page describes it: bytes 0, 0, type, rank; the sizes as
/// 32-bit big-endian numbers; then the elements, big-endian, in row-major order. Types: 08 uint8, 09 int8 and 0B int16
/// (both become int32), 0C int32, 0D float32, 0E float64.
///
/// FormatError, naming the file and the byte where it went wrong, for a file that cannot be read or is not exactly
/// this: wrong magic or type, rank 0 or above 12, sizes that overflow, data too short or too long, a damaged gzip
/// stream or anything after it. No more memory is taken than the file can fill, and a gzip stream is unpacked no
/// further than one byte past its due.
Tensor read_idx(const std::string& path, Site at = Site::here());
/// The same from a seekable stream, from its present place to its end; `name` stands in the errors.
Tensor read_idx(std::istream& in, const std::string& name, Site at = Site::here());

}  // namespace tantu::data
