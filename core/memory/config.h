#pragma once

#include <tantu/core/export.h>

#include <string>

namespace tantu::memory {

/// How device memory is managed: TANTU_ALLOC_CONF, "key:value" pairs with commas between them.
struct Config {
  bool caching = true;  ///< caching: on or off. Off: every block straight from the driver, and back when it is freed
};

/// FormatError naming the key or the place for anything that is not understood: unknown and doubled keys, bad values,
/// more than 4096 bytes. Keys are lower case, blanks are skipped, booleans are true, false, on, off, 1 or 0 in any
/// case.
TANTU_API Config parse_config(const std::string& text);
/// What TANTU_ALLOC_CONF says, read once.
TANTU_API const Config& config();

}  // namespace tantu::memory
