#pragma once

#include <tantu/tests/ops/samples.h>

namespace tantu::optest {

/// TANTU_TEST_DIGEST=FILE: appends a line with the bits of what a case has computed. Two runs that may not differ write
/// equal files. Does nothing without it.
void digest(const Row& row, const Case& c, const Setting& at, const char* aspect, const TensorList& results);

}  // namespace tantu::optest
