#pragma once

#include <tantu/core/allocator.h>

#include <string>

namespace tantu::optest {

/// While alive, host memory is handed out between guard bytes and filled with 0xff (NaN in every floating type), so
/// that a write past either end and an element that was never written both show.
class GuardedMemory {
 public:
  GuardedMemory();
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// What was overwritten since the last call, in blocks alive or freed; "" if nothing.
  std::string damage();
};

}  // namespace tantu::optest
